// How much moves in a camera's frame, beside what its `sensitivity` takes for motion: a number and a bar for each of
// its streams that looks for motion.
import {el} from './dom.js';
import {percent} from './format.js';

// Both may be a thousandth of a per cent or all of the frame: each tenth of the bar's length is as much more again.
const least = 0.0001;
const most = 100;
export const placeOf = (value) =>
  (100 * Math.log(Math.min(Math.max(value, least), most) / least)) / Math.log(most / least);

function bar(motion) {
  const {score_percent: score, threshold_percent: threshold} = motion;
  const fill = el('i', {});
  fill.style.width = `${placeOf(score).toFixed(1)}%`;
  const mark = el('b', {title: `motion from ${percent(threshold)} on`});
  mark.style.left = `${placeOf(threshold).toFixed(1)}%`;
  return el(
    'div',
    {
      class: score >= threshold ? 'motion-bar moves' : 'motion-bar',
      role: 'meter',
      'aria-label': 'how much moves, of all that is watched, in per cent',
      'aria-valuemin': 0,
      'aria-valuemax': 100,
      'aria-valuenow': score,
    },
    fill,
    mark,
  );
}

function row(output, motion) {
  const {score_percent: score, threshold_percent: threshold, largest_percent: largest, events} = motion;
  const words = [
    `motion from ${percent(threshold)} on`,
    `most so far ${percent(largest)}`,
    events !== undefined && `${events} ${events === 1 ? 'event' : 'events'}`,
  ];
  return el(
    'div',
    {class: 'motion', 'data-key': output},
    el('p', {}, el('strong', {}, percent(score)), ` moves${output ? ` (output ${output})` : ''}`),
    bar(motion),
    el('p', {class: 'quiet'}, words.filter(Boolean).join('; ')),
  );
}

// One element for each stream in which motion is looked for; none while it has no frame.
export function motionOf(camera) {
  const outputs = Object.entries(camera.outputs ?? {}).map(([name, output]) => [name, output.motion]);
  return [['', camera.motion], ...outputs]
    .filter(([, motion]) => Number.isFinite(motion?.score_percent))
    .map(([name, motion]) => row(name, motion));
}
