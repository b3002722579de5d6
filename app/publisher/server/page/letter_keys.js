// Keys that are a letter, a digit or a mark alone: who dictates, or rests a hand on the keyboard, switches them off.
const place = 'letterKeys';
let on = true;
try {
  on = localStorage.getItem(place) !== 'off';
} catch {
  // Storage is forbidden: they are on until the page is left.
}

export const letterKeysOn = () => on;

export function setLetterKeys(wanted) {
  on = wanted;
  try {
    localStorage.setItem(place, on ? 'on' : 'off');
  } catch {
    // As above.
  }
}
