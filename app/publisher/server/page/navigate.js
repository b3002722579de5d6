// Goes to another address of this application without loading it anew; main.js shows the page.
import {addressOf, currentPath, pathOf} from './root.js';

// The wall for a monitor that nobody sits at (/?kiosk=1): it stays so, whatever is enlarged.
export const isKiosk = () => currentPath() === '/' && new URLSearchParams(location.search).get('kiosk') === '1';

// `address`: a path, and what may stand behind it.
export function navigate(address, {replace = false} = {}) {
  const url = new URL(addressOf(address), location.href);
  if (pathOf(url) === '/' && isKiosk()) url.searchParams.set('kiosk', '1');
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  window.dispatchEvent(new Event('navigated'));
}
