// How the condition of a camera is shown: a word, why, and since when.
import {rigNow} from '/static/api.js';
import {duration, since} from '/static/format.js';

const words = {
  starting: 'Starting',
  waiting: 'Offline',
  failed: 'Failed',
  disabled: 'Switched off',
  ended: 'Ended',
  unreachable: 'Node unreachable',
};
const looks = {
  running: 'good',
  starting: 'busy',
  waiting: 'warn',
  failed: 'bad',
  disabled: 'off',
  ended: 'off',
  unreachable: 'bad',
};

// "3 live · 1 offline · 1 failed": how many cameras are in which state, live ones first.
export function summaryOf(cameras) {
  const counts = new Map([['Live', 0]]);
  for (const {state} of cameras) counts.set(wordOf(state), (counts.get(wordOf(state)) ?? 0) + 1);
  return [...counts].map(([word, n]) => `${n} ${word.toLowerCase()}`).join(' · ');
}

export const wordOf = (state) => words[state] ?? (state === 'running' ? 'Live' : state);
export const lookOf = (state) => looks[state] ?? 'warn';

// {look, title, text} of a player's condition; `title` is empty where the frame speaks for itself.
export function describe(condition) {
  const {phase, state, reason, since_utc} = condition;
  switch (phase) {
    case 'lost': {
      const wait = Math.max(0, (condition.retryAt - Date.now()) / 1000);
      return {
        look: 'bad',
        title: 'No connection to campipe',
        text: `${since(since_utc, Date.now())} · ${wait > 0.5 ? `trying again in ${duration(wait)}` : 'trying again'}`,
      };
    }
    case 'away':
      return {
        look: lookOf(state),
        title: wordOf(state),
        text: [reason, since_utc && since(since_utc, rigNow())].filter(Boolean).join(' · '),
      };
    case 'unplayable':
      return {look: 'bad', title: 'Cannot be played', text: reason};
    case 'stalled':
      return {look: 'warn', title: 'No new frame', text: `for ${duration(condition.silence / 1000)}`};
    case 'connecting':
      return {
        look: 'busy',
        title: state === 'starting' ? 'Starting' : 'Waiting for the first frame',
        text: reason ?? '',
      };
    default:
      return {look: 'good', title: '', text: ''};
  }
}
