// Goes to another address of this application without loading it anew; main.js shows the page.
export function navigate(address, {replace = false} = {}) {
  const url = new URL(address, location.href);
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  window.dispatchEvent(new Event('navigated'));
}
