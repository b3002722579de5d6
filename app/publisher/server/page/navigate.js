// Goes to another address of this application without loading it anew; main.js shows the page.

// The wall for a monitor that nobody sits at (/?kiosk=1): it stays so, whatever is enlarged.
export const isKiosk = () => location.pathname === '/' && new URLSearchParams(location.search).get('kiosk') === '1';

export function navigate(address, {replace = false} = {}) {
  const url = new URL(address, location.href);
  if (url.pathname === '/' && isKiosk()) url.searchParams.set('kiosk', '1');
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  window.dispatchEvent(new Event('navigated'));
}
