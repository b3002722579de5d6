// The login. Comes back to the page that was asked for (?next=/camera/dock).
import {login, onOtherLogin, takeLogin} from './api.js';
import {el, setText} from './dom.js';
import {navigate} from './navigate.js';

// Only addresses of this application: "//other.example/" would lead away. What is no address leads to the first page.
function target(url) {
  const next = urlOf(url.searchParams.get('next') ?? '/');
  return next.origin === location.origin && next.pathname !== '/login' ? next.pathname + next.search : '/';
}

function urlOf(text) {
  try {
    return new URL(text, location.origin);
  } catch {
    return new URL('/', location.origin);
  }
}

export function show(main, url) {
  main.className = 'login';
  const user = el('input', {
    name: 'user',
    autocomplete: 'username',
    required: true,
    autocapitalize: 'off',
    spellcheck: 'false',
  });
  const password = el('input', {name: 'password', type: 'password', autocomplete: 'current-password', required: true});
  const button = el('button', {class: 'button primary', type: 'submit'}, 'Log in');
  const error = el('p', {class: 'error', role: 'alert'});
  const form = el(
    'form',
    {class: 'card', onsubmit: submit},
    el('h1', {}, 'Log in'),
    el('label', {}, 'User', user),
    el('label', {}, 'Password', password),
    error,
    button,
  );
  if (url.searchParams.get('token') === 'unknown')
    setText(error, 'The token in the address is not known. Get a new address, or log in.');
  if (url.searchParams.has('ended')) setText(error, 'Your session has ended. Log in again.');
  main.append(form);
  user.focus();

  function goOn() {
    window.dispatchEvent(new Event('sessionbegan'));
    navigate(target(url), {replace: true});
  }

  // Another tab's login holds for this one. Where its session cannot be loaded, the form stays.
  const close = onOtherLogin(() => takeLogin().then(goOn, () => {}));

  async function submit(event) {
    event.preventDefault();
    if (button.getAttribute('aria-disabled')) return;
    button.setAttribute('aria-disabled', 'true'); // disabled it would lose the focus
    setText(error, '');
    try {
      await login(user.value, password.value);
      goOn();
    } catch (failure) {
      setText(error, failure.message);
      password.select();
    } finally {
      button.removeAttribute('aria-disabled');
    }
  }

  return {title: 'Log in', close};
}
