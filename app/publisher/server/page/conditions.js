// How the condition of a camera is shown: a word, why, and since when.
import {rigBegan, rigNow} from './api.js';
import {duration, since} from './format.js';
import {troublesOf, withoutAddresses} from './troubles.js';

const words = {
  starting: 'Starting',
  waiting: 'Offline',
  failed: 'Failed',
  disabled: 'Switched off',
  ended: 'Ended',
  unreachable: 'Node unreachable',
  unknown: 'Not known', // as the rig does not answer
};
const looks = {
  running: 'good',
  starting: 'busy',
  waiting: 'warn',
  failed: 'bad',
  disabled: 'off',
  ended: 'off',
  unreachable: 'bad',
  unknown: 'off',
};

export const wordOf = (state) => words[state] ?? (state === 'running' ? 'Live' : state);
export const lookOf = (state) => looks[state] ?? 'warn';

// Returns {look, word, troubles} for a camera of the status.
export function conditionOf(camera, rate) {
  const troubles = troublesOf(camera, rate);
  if (troubles.length) return {look: 'warn', word: 'Live, with trouble', troubles};
  return {look: lookOf(camera.state), word: wordOf(camera.state), troubles};
}

// "12 live · 2 with trouble · 1 offline": each of `cameras`, [[name, camera]], is counted once.
export function summaryOf(cameras, rates = {}) {
  const counts = new Map([['live', 0]]);
  for (const [name, camera] of cameras) {
    const {word, troubles} = conditionOf(camera, rates[name]);
    const kind = troubles.length ? 'with trouble' : word.toLowerCase();
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const order = (kind) => ['live', 'with trouble'].indexOf(kind) + 1 || 3;
  return [...counts]
    .sort(([a], [b]) => order(a) - order(b))
    .map(([kind, n]) => `${n} ${kind}`)
    .join(' · ');
}

// By which cameras are sorted where not all fit on the screen.
export function urgencyOf(camera, rate) {
  if (['failed', 'waiting', 'unreachable'].includes(camera.state)) return 0;
  return troublesOf(camera, rate).length ? 1 : 2;
}

// A rig that begins finds a camera as it is, and cannot know since when it has been so.
const beginning = 30000; // ms, in which each camera is tried
export function sinceWhen({state, since_utc, frames}) {
  if (!since_utc) return '';
  const isFound = state !== 'running' && frames?.encoded === 0 && Date.parse(since_utc) - rigBegan() < beginning;
  return isFound ? `since the rig began, ${duration((rigNow() - rigBegan()) / 1000)} ago` : since(since_utc, rigNow());
}

// {look, title, text, when} of a player's condition; `title` is empty where the frame speaks for itself.
export function describe(condition) {
  const {phase, state, reason, since_utc} = condition;
  switch (phase) {
    case 'lost': {
      const wait = Math.max(0, (condition.retryAt - Date.now()) / 1000);
      if (reason) return {look: 'bad', title: 'No live video', text: reason};
      if (condition.isBlocked)
        return {
          look: 'bad',
          title: 'No live video',
          text: 'neither a WebSocket nor HTTP brings it here: a proxy in between has to pass on Upgrade and Host',
        };
      return {
        look: 'bad',
        title: 'No connection to campipe',
        text: wait > 0.5 ? `trying again in ${duration(wait)}` : 'trying again',
        when: since(since_utc, Date.now()),
      };
    }
    case 'away':
      return {
        look: lookOf(state),
        title: wordOf(state),
        text: withoutAddresses(reason ?? ''),
        when: sinceWhen(condition),
      };
    case 'unplayable':
      return {look: 'bad', title: 'Cannot be played', text: reason};
    case 'stalled':
      return {look: 'warn', title: 'No new frame', text: `for ${duration(condition.silence / 1000)}`};
    case 'connecting':
      return {
        look: 'busy',
        title: state === 'starting' ? 'Starting' : 'Waiting for the first frame',
        text: withoutAddresses(reason ?? ''),
      };
    default:
      return {look: 'good', title: '', text: ''};
  }
}
