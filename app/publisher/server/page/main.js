// The frame around all pages: which page an address means, the bar at the top, the keys that work everywhere.
import {currentSession, loadSession, logout, may, watchStatus} from '/static/api.js';
import {lookOf, summaryOf} from '/static/conditions.js';
import {setText} from '/static/dom.js';
import {duration, timeOf} from '/static/format.js';
import {navigate} from '/static/navigate.js';
import {followVersion, toggleFullscreen} from '/static/screen.js';

const pages = [
  [/^\/$/, () => import('/static/wall.js')],
  [/^\/login$/, () => import('/static/login.js')],
  [/^\/camera\/[^/]+$/, () => import('/static/camera.js')],
  [/^\/recordings$/, () => import('/static/recordings.js')],
  [/^\/system$/, () => import('/static/system.js')],
];

const byId = (id) => document.getElementById(id);
let page = null;
let shownPath = '';
let visit = 0;

const ours = (url) => url.origin === location.origin && pages.some(([path]) => path.test(url.pathname));

async function showPage() {
  const url = new URL(location.href);
  if (page?.go && shownPath === url.pathname) {
    page.go(url);
    return markPage(url);
  }
  const current = ++visit;
  const load = pages.find(([path]) => path.test(url.pathname))?.[1];
  const main = byId('main');
  try {
    const module = await load();
    if (current !== visit) return; // another page was asked for meanwhile
    page?.close();
    main.replaceChildren();
    shownPath = url.pathname;
    page = module.show(main, url);
    markPage(url);
  } catch (error) {
    if (current === visit) trouble(`This page could not be loaded: ${error.message}. Reload it.`);
  }
}

function markPage(url) {
  document.title = `${page.title} · campipe`;
  document.body.classList.toggle('login', url.pathname === '/login');
  for (const link of document.querySelectorAll('nav a')) {
    if (new URL(link.href).pathname === url.pathname) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function trouble(text) {
  const line = byId('trouble');
  line.hidden = !text;
  setText(line, text);
}

function toLogin() {
  if (location.pathname === '/login') return;
  navigate(`/login?next=${encodeURIComponent(location.pathname + location.search)}`, {replace: true});
}

function showUser() {
  const {user, cameras} = currentSession();
  document.querySelector('nav a[href="/recordings"]').hidden = !may('record', cameras?.[0]);
  byId('logout').hidden = !user;
  byId('logout').textContent = `Log out ${user}`;
}

function showStatus({status, error, since}) {
  const summary = byId('summary');
  if (error) {
    setText(summary, '');
    const ago = duration((Date.now() - since) / 1000);
    return trouble(`${error}, since ${timeOf(new Date(since))} (${ago}). Trying again.`);
  }
  followVersion(status.version);
  trouble(status.state === 'draining' ? 'campipe is being stopped.' : '');
  const cameras = Object.values(status.cameras ?? {});
  setText(summary, summaryOf(cameras));
  summary.classList.toggle(
    'warn',
    cameras.some(({state}) => ['warn', 'bad'].includes(lookOf(state))),
  );
}

let stopWatching = null;

// After a login, and at first.
function sessionBegan() {
  showUser();
  stopWatching ??= watchStatus(showStatus);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, dialog')) return;
  const actions = {
    f: toggleFullscreen,
    t: window.toggleTheme,
    '?': () => byId('keys').showModal(),
    w: () => navigate('/'),
    r: () => navigate('/recordings'),
    s: () => navigate('/system'),
  };
  if (document.body.classList.contains('login') || !Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

function click(event) {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const url = new URL(link.href);
  if (link.target || link.hasAttribute('download') || link.classList.contains('skip') || !ours(url)) return;
  event.preventDefault();
  // An enlarged camera's own tile leads back.
  navigate(link.matches('.tile.enlarged') ? '/' : url.href);
}

document.addEventListener('click', click);
document.addEventListener('keydown', key);
window.addEventListener('popstate', showPage);
window.addEventListener('navigated', showPage);
window.addEventListener('sessionbegan', sessionBegan);
window.addEventListener('loginneeded', toLogin);
byId('theme').addEventListener('click', window.toggleTheme);
byId('fullscreen').addEventListener('click', toggleFullscreen);
byId('fullscreen').hidden = !document.fullscreenEnabled;
byId('help').addEventListener('click', () => byId('keys').showModal());
byId('logout').addEventListener('click', async () => {
  await logout();
  location.assign('/login');
});

async function start() {
  try {
    if (location.pathname !== '/login') await loadSession();
  } catch (error) {
    if (error.status === 401) return; // toLogin() has shown that page
  }
  if (location.pathname !== '/login') sessionBegan();
  showPage();
}

start();
