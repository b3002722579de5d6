// The frame around all pages: which page an address means, the bar at the top, the keys that work everywhere.
import {camerasOf, currentSession, loadSession, logout, may, watchStatus} from './api.js';
import {conditionOf, summaryOf} from './conditions.js';
import {setText} from './dom.js';
import {timeOf} from './format.js';
import {letterKeysOn, setLetterKeys} from './letter_keys.js';
import {isKiosk, navigate} from './navigate.js';
import {addressOf, currentPath, pathOf} from './root.js';
import {followKiosk, followVersion, toggleFullscreen} from './screen.js';

const pages = [
  [/^\/$/, () => import('./wall.js')],
  [/^\/login$/, () => import('./login.js')],
  [/^\/camera\/[^/]+$/, () => import('./camera.js')],
  [/^\/recordings$/, () => import('./recordings.js')],
  [/^\/system$/, () => import('./system.js')],
];

const byId = (id) => document.getElementById(id);
let page = null;
let shownPath = '';
let visit = 0;

// What each page asks the API for; the login is for everybody.
const needs = {'/': 'view', '/recordings': 'record', '/system': 'view'};
const isOffered = (path) => may(needs[path], currentSession().cameras?.[0]);

const ours = (url) => pages.some(([path]) => path.test(pathOf(url) ?? ''));

async function showPage() {
  const url = new URL(location.href);
  const path = currentPath();
  const current = ++visit;
  if (page?.go && shownPath === path) {
    trouble('page', '');
    page.go(url);
    return markPage();
  }
  const load = pages.find(([pattern]) => pattern.test(path))?.[1];
  if (!load) return trouble('page', 'There is no page at this address.');
  const main = byId('main');
  try {
    const module = await load();
    if (current !== visit) return; // another page was asked for meanwhile
    page?.close();
    page = null; // also where the next one cannot be shown
    main.replaceChildren();
    trouble('page', '');
    page = module.show(main, url);
    const isFirst = !shownPath;
    shownPath = path;
    markPage();
    if (!isFirst) focusPage(main);
  } catch (error) {
    if (current === visit) trouble('page', `This page could not be loaded: ${error.message}. Reload it.`);
  }
}

// What was focused is gone with the page before. A screen reader says the heading.
function focusPage(main) {
  if (main.contains(document.activeElement)) return;
  const heading = main.querySelector('h1');
  heading?.setAttribute('tabindex', '-1');
  (heading ?? main).focus();
}

function markPage() {
  followKiosk(isKiosk());
  document.title = `${page.title} · campipe`;
  document.body.classList.toggle('login', currentPath() === '/login');
  for (const link of document.querySelectorAll('nav a')) {
    if (pathOf(new URL(link.href)) === currentPath()) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

const troubles = {page: '', rig: ''}; // each stays until it is over

function trouble(of, text) {
  troubles[of] = text;
  const line = byId('trouble');
  line.hidden = !troubles.page && !troubles.rig;
  setText(line, [troubles.page, troubles.rig].filter(Boolean).join(' '));
}

let isLoggingOut = false;

function toLogin() {
  if (isLoggingOut || currentPath() === '/login') return;
  const ended = hasSession ? '&ended' : '';
  navigate(`/login?next=${encodeURIComponent(currentPath() + location.search)}${ended}`, {replace: true});
}

function showUser() {
  const {user} = currentSession();
  for (const link of document.querySelectorAll('nav a')) link.hidden = !isOffered(pathOf(new URL(link.href)));
  byId('logout').hidden = !user;
  byId('logout').textContent = `Log out ${user}`;
}

let hasSession = false;

async function loadUser() {
  await loadSession();
  hasSession = true;
  showUser();
}

function showStatus({status, rates, error, since}) {
  const summary = byId('summary');
  if (error) {
    setText(summary, '');
    // Without its duration, which a screen reader would say every two seconds.
    return trouble('rig', `${error}, since ${timeOf(new Date(since))}. Trying again.`);
  }
  followVersion(status.version);
  if (!hasSession) loadUser().catch(() => {}); // asked for again with the next status
  trouble('rig', status.state === 'draining' ? 'campipe is being stopped.' : '');
  const cameras = camerasOf(status);
  setText(summary, summaryOf(cameras, rates));
  summary.classList.toggle(
    'warn',
    cameras.some(([name, camera]) => ['warn', 'bad'].includes(conditionOf(camera, rates[name]).look)),
  );
}

let stopWatching = null;

// After a login, and at first.
function sessionBegan() {
  hasSession ||= currentSession().permissions.length > 0;
  showUser();
  stopWatching ??= watchStatus(showStatus);
}

const open = (path) => isOffered(path) && navigate(path);

function showKeys() {
  byId('letter-keys').checked = letterKeysOn();
  byId('keys').showModal();
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, dialog')) return;
  const leading = {
    '?': showKeys,
    w: () => open('/'),
    r: () => open('/recordings'),
    s: () => open('/system'),
  };
  const actions = {f: toggleFullscreen, t: window.toggleTheme, ...(isKiosk() ? {} : leading)};
  const mayAct = letterKeysOn() && !document.body.classList.contains('login');
  if (!mayAct || !Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

function click(event) {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.classList.contains('skip')) {
    event.preventDefault(); // the page's base would make another address of it
    byId('main').focus();
    return;
  }
  const url = new URL(link.href);
  if (link.target || link.hasAttribute('download') || !ours(url)) return;
  event.preventDefault();
  // An enlarged camera's own tile leads back.
  navigate(link.matches('.tile.enlarged') ? '/' : pathOf(url) + url.search + url.hash);
}

document.addEventListener('click', click);
document.addEventListener('keydown', key);
window.addEventListener('popstate', showPage);
window.addEventListener('navigated', showPage);
window.addEventListener('sessionbegan', sessionBegan);
window.addEventListener('loginneeded', toLogin);
window.addEventListener('userchanged', () => location.reload());
window.addEventListener('pageshow', () => (isLoggingOut = false)); // the browser may have kept the page
// Another tab may have logged out, or in as somebody else.
function lookAtUser() {
  if (hasSession && !document.hidden && currentPath() !== '/login') loadUser().catch(() => {}); // the status shows why
}
document.addEventListener('visibilitychange', lookAtUser);
window.addEventListener('statusended', lookAtUser);
byId('theme').addEventListener('click', window.toggleTheme);
byId('fullscreen').addEventListener('click', toggleFullscreen);
byId('fullscreen').hidden = !document.fullscreenEnabled;
byId('help').addEventListener('click', showKeys);
byId('letter-keys').addEventListener('change', ({target}) => setLetterKeys(target.checked));
byId('logout').addEventListener('click', async () => {
  isLoggingOut = true; // then other requests are refused, too
  try {
    await logout();
    location.assign(addressOf('/login'));
  } catch (error) {
    isLoggingOut = false;
    if (error.status === 401) toLogin();
    else trouble('page', `You are still logged in: ${error.message}.`);
  }
});

async function start() {
  try {
    if (currentPath() !== '/login') await loadSession();
  } catch (error) {
    if (error.status === 401) return; // toLogin() has shown that page
  }
  if (currentPath() !== '/login') sessionBegan();
  showPage();
}

start();
