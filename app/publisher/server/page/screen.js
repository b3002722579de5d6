// What a wall of monitors needs: full screen, a screen that does not go to sleep meanwhile, and the page of the program
// that runs, not of the one that ran when it was opened.
let lock = null;
let isAsking = false; // for one

export async function toggleFullscreen() {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await document.documentElement.requestFullscreen();
}

const isWatched = () => document.fullscreenElement || document.body.classList.contains('kiosk');

// Browsers grant it only to pages that came by TLS or from this machine, and take it back from hidden ones.
async function keepAwake() {
  if (!isWatched()) {
    lock?.release();
    lock = null;
    return;
  }
  if (!navigator.wakeLock || document.hidden || isAsking || lock?.released === false) return;
  isAsking = true;
  try {
    lock = await navigator.wakeLock.request('screen');
  } catch (error) {
    console.info(`the screen may go to sleep: ${error.message}`);
  }
  isAsking = false;
  if (!isWatched()) keepAwake(); // it was given up meanwhile
}

document.addEventListener('visibilitychange', keepAwake);
document.addEventListener('fullscreenchange', keepAwake);

const idleAfter = 3000; // ms
let idleTimer = 0;

function showCursor() {
  document.body.classList.remove('idle');
  clearTimeout(idleTimer);
  idleTimer = setTimeout(() => document.body.classList.add('idle'), idleAfter);
}

// A wall that nobody sits at has frames alone on it: no bar, and no cursor that rests.
export function followKiosk(isKiosk) {
  document.body.classList.toggle('kiosk', isKiosk);
  keepAwake();
  if (isKiosk) {
    document.addEventListener('pointermove', showCursor);
    return showCursor();
  }
  document.removeEventListener('pointermove', showCursor);
  clearTimeout(idleTimer);
  document.body.classList.remove('idle');
}

let version = '';

// The version that answers now.
export function followVersion(now) {
  if (version && now && now !== version) location.reload();
  version ||= now ?? '';
}
