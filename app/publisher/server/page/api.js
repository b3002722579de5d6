// The rig's API: requests, who is logged in, and the status that all pages share.
import {webSocketsPass} from './live_socket.js';
import {addressOf} from './root.js';
import {followStatus} from './status_stream.js';

const loggedOut = {user: '', permissions: [], cameras: null, csrf: ''};
let session = loggedOut;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(method, path, body, tries = 3) {
  if (method !== 'GET' && path !== 'login' && !session.csrf) await loadSession();
  const headers = {Accept: 'application/json'};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['X-CSRF-Token'] = session.csrf;
  let answer;
  try {
    answer = await fetch(addressOf(`/api/v1/${path}`), {
      method,
      headers,
      cache: 'no-store',
      credentials: 'same-origin',
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15000),
    });
  } catch (error) {
    throw new ApiError(
      0,
      error.name === 'TimeoutError' ? 'campipe does not answer in time' : 'campipe does not answer',
    );
  }
  const text = await answer.text();
  let json = {};
  try {
    json = text ? JSON.parse(text) : {};
  } catch {
    // it is not campipe's own answer
  }
  if (answer.ok) return json;
  // A second after the start of a rig, or of the process that answers, there is a status. What takes longer is shown.
  const pause = answer.status === 503 ? Number(answer.headers.get('Retry-After')) : 0;
  if (method === 'GET' && tries > 1 && pause > 0 && pause <= 2) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
    return request(method, path, body, tries - 1);
  }
  if (answer.status === 403 && method !== 'GET' && path !== 'login' && tries > 1 && (await hasAnotherToken()))
    return request(method, path, body, 1);
  if (answer.status === 401 && path !== 'login') window.dispatchEvent(new Event('loginneeded'));
  const isOfProxy = [502, 503, 504].includes(answer.status);
  const what = isOfProxy ? 'campipe does not answer the proxy in between, which says' : 'the answer was';
  throw new ApiError(answer.status, json.error ?? json.errors?.join('\n') ?? `${what} ${answer.status}`);
}

export const get = (path) => request('GET', path);
export const post = (path, body) => request('POST', path, body ?? {});

export const currentSession = () => session;

// The session may be another one than this page began with: another tab may have logged in, also as another user. What
// the page shows is then that one's no more.
export async function loadSession() {
  const {user} = session;
  session = await get('session');
  if (user && user !== session.user) window.dispatchEvent(new Event('userchanged'));
  return session;
}

// Reloads the session. True: the same user has another CSRF token, and the refused request may be sent again.
async function hasAnotherToken() {
  const {user, csrf} = session;
  await loadSession();
  return session.user === user && session.csrf !== csrf;
}

// By which the tabs of this browser tell one another of a login.
const openLogins = () => new BroadcastChannel('campipe login');

export async function login(user, password) {
  await post('login', {user, password});
  const logins = openLogins();
  logins.postMessage('');
  logins.close();
  return takeLogin();
}

// The session that this browser has now, whoever logged in.
export function takeLogin() {
  session = loggedOut; // of the user before
  return loadSession();
}

// Calls `heard` when another tab has logged in. Gives the function that ends it.
export function onOtherLogin(heard) {
  const logins = openLogins();
  logins.onmessage = heard;
  return () => logins.close();
}

export async function logout() {
  await post('logout');
  session = loggedOut;
}

// Whether the page should offer something: `permission` is "metrics", "view", "record" or "administer", of a camera, or of the rig
// as a whole. The server decides.
export function may(permission, camera) {
  if (!session.permissions.includes(permission)) return false;
  return !session.cameras || (camera !== undefined && session.cameras.includes(camera));
}

// Whether it is the rig as a whole: others are not shown processes' ids, folders and addresses.
export const administers = () => Boolean(session.administers);

// The rig's clock, by which a camera went away: a browser's own may be wrong by minutes.
let clockOffset = 0;
export const rigNow = () => Date.now() + clockOffset;
let began = NaN;
export const rigBegan = () => began; // by the same clock; NaN: not known yet

// [name, camera] of every camera, in the order of the rig's file. (An object's own order is not that: names like "2" come
// first there.)
export const camerasOf = (status) =>
  Object.entries(status?.cameras ?? {}).sort(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0));

const listeners = new Set();
const period = 2000;
const streamPause = 60000; // ms, where something in between keeps streams back
let timer = 0;
let asking = false;
let endStream = null; // while there is one
let isRefused = false; // the stream, from which nothing came
let streamFrom = 0; // by Date.now()
let latest = null; // {status, rates, previous}
let failedSince = 0;

// The newest request for a status was answered.
export const rigAnswers = () => latest !== null && !failedSince;

// Calls `listener` with {status, rates} at once, if there is one, and then about every two seconds while the page is
// seen; with {error, since} while the rig does not answer. Gives the function that ends it.
export function watchStatus(listener) {
  listeners.add(listener);
  if (latest) listener(latest);
  begin();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) rest();
  };
}

// A stream takes one of six connections that a browser has to a host, as live video over HTTP does; the pages of a wall
// of monitors may be in one browser.
const mayStream = () => Boolean(globalThis.EventSource) && webSocketsPass() && Date.now() >= streamFrom;

function begin() {
  if (endStream || timer || asking || listeners.size === 0 || document.hidden) return;
  if (!mayStream()) return ask();
  endStream = followStatus(
    (status) => notify(took(status)),
    (hadAny) => {
      endStream = null;
      isRefused = !hadAny;
      if (hadAny) window.dispatchEvent(new Event('statusended'));
      ask(); // which finds out what is wrong
    },
  );
}

function rest() {
  clearTimeout(timer);
  timer = 0;
  endStream?.();
  endStream = null;
}

function notify(message) {
  for (const listener of [...listeners]) listener(message);
}

// By which its counters count: that of its node, in a cluster.
const countedAt = (status, camera) => Date.parse(camera.time_utc ?? status.time_utc);

// What changed between two answers, for each second: the counters themselves only grow, as long as a camera's node is
// the same.
function ratesOf(status, latest) {
  const rates = {};
  if (!latest) return rates;
  const {status: previous, rates: last} = latest;
  for (const [name, camera] of Object.entries(status.cameras ?? {})) {
    const before = previous.cameras?.[name];
    if (!before || before.node !== camera.node) continue;
    if ([before, camera].some(({state}) => state === 'unreachable')) continue; // its counters are old
    const seconds = (countedAt(status, camera) - countedAt(previous, before)) / 1000;
    if (!(seconds > 1.5)) {
      if (last[name]) rates[name] = last[name]; // too short for a rate
      continue;
    }
    const frames = camera.frames?.encoded - before?.frames?.encoded;
    const bits = (camera.bytes - before?.bytes) * 8;
    const damaged = camera.source_health?.corrupt_packets > before.source_health?.corrupt_packets;
    const damagedAt = damaged ? countedAt(status, camera) : last[name]?.damagedAt;
    if (frames >= 0) rates[name] = {fps: frames / seconds, bitrate: Math.max(0, bits) / seconds, damagedAt};
  }
  return rates;
}

function took(status) {
  clockOffset = Date.parse(status.time_utc) - Date.now();
  began = Date.parse(status.time_utc) - 1000 * status.uptime_s;
  intentionalDrops = status.intentional_drops ?? [];
  latest = {status, rates: ratesOf(status, latest)};
  failedSince = 0;
  return latest;
}

async function ask() {
  asking = true;
  let message;
  let mayAskAgain = true;
  try {
    message = took(await get('status'));
    if (isRefused) streamFrom = Date.now() + streamPause;
  } catch (error) {
    failedSince ||= Date.now();
    message = {error: error.message, since: failedSince};
    mayAskAgain = error.status !== 401; // the page that comes after the login asks
  }
  asking = isRefused = false;
  if (!mayAskAgain) return;
  if (listeners.size > 0 && !document.hidden) {
    timer = setTimeout(() => {
      timer = 0;
      begin();
    }, period);
  }
  notify(message);
}

document.addEventListener('visibilitychange', () => {
  rest();
  begin();
});
globalThis.addEventListener?.('websocketfailed', () => {
  if (!endStream) return;
  rest();
  begin();
});

// Causes that the configuration asks for: what is dropped by them is not lost.
let intentionalDrops = [];

// Of every cause that lost frames: [cause, frames].
export const dropCausesOf = (camera) =>
  Object.entries(camera.frames?.dropped ?? {}).filter(([cause, frames]) => frames && !intentionalDrops.includes(cause));

export const dropsOf = (camera) => dropCausesOf(camera).reduce((sum, [, frames]) => sum + frames, 0);
