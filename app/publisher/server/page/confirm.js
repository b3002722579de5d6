// Asks before what takes something away from others, or cannot be made up for. The focus is on Cancel.
import {el} from './dom.js';

// Whether `action`, a verb, is wanted.
export function confirmed(question, consequence, action) {
  const cancel = el('button', {value: '', autofocus: true}, 'Cancel');
  const go = el('button', {class: 'button primary', value: 'yes'}, action);
  const dialog = el(
    'dialog',
    {class: 'confirm', 'aria-labelledby': 'question'},
    el('h2', {id: 'question'}, question),
    el('p', {}, consequence),
    el('form', {method: 'dialog', class: 'actions'}, cancel, go),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
  });
}
