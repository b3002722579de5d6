// Finds what is wrong with a camera that still sends frames. The API has the words for most of it.
import {rigNow} from './api.js';
import {duration, milliseconds, sinceTime} from './format.js';

const oldAfter = 3000; // ms from capture to the screen; a live camera takes less than one second
const damageShownFor = 30000; // ms: packets are lost in bursts

// 0: nothing was measured, since no frame came. The least that is measured is a microsecond.
export const measured = (ms) => (ms > 0 ? ms : undefined);

// A reason often begins with a long address, which hides what follows where there is little room.
export const withoutAddresses = (reason) =>
  reason
    .replace(/\s*(['"])[a-z]+:\/\/[^'"]*\1/g, '')
    .replace(/\s*\b[a-z]+:\/\/[^\s,;]*[^\s,;:.]/g, '')
    .replace(/^[:;,\s]+|[:;,\s]+$/g, '');

const age = (ms) => (ms < 120000 ? `${Math.round(ms / 1000)} s` : duration(ms / 1000));

// The rig says how far it is behind with the newest frame, also while none comes out. The latency has the way to the rig,
// too.
function lateness(camera, heldMs) {
  const {latency_ms: latency, stages_ms: stages, source_health: health, behind_s: behind} = camera;
  const lag = health?.lag_ms ?? 0;
  const rigMs = Math.max(measured(latency?.p50) ?? 0, (behind ?? 0) * 1000 - lag);
  const ms = rigMs + heldMs;
  if (ms > oldAfter) {
    const title = `${age(ms)} behind`;
    const transit = stages?.transit?.p50 ?? 0;
    if (transit > ms / 2) {
      const text = `${milliseconds(transit)} of it before the rig: check the network, and the camera's clock`;
      return [{title, text}];
    }
    if (heldMs > ms / 2) {
      const text = `${milliseconds(heldMs)} of it in this browser: its network or machine is too slow`;
      return [{title, text}];
    }
    const isSaid = / \d+ s behind/.test(camera.overloaded ?? '');
    return isSaid ? [] : [{title, text: 'the rig is too slow for it: reduce its load'}];
  }
  if (!(lag > oldAfter)) return [];
  const text = 'the network stalls, or this machine is too slow; try rtsp_transport: tcp, or a smaller frame size';
  return [{title: `Frames arrive ${age(lag)} late`, text}];
}

function damage(rate) {
  if (!(rigNow() - rate?.damagedAt < damageShownFor)) return [];
  return [{title: 'Damaged video', text: 'packets of the camera are damaged or lost; try rtsp_transport: tcp'}];
}

const withTime = (title, utc) => [title, utc && sinceTime(utc, rigNow())].filter(Boolean).join(' ');

// Looks at a camera's own stream, where `output` is empty, or at an additional one.
function outputTroubles(output, {state, reason, recording_paused: paused, recording_paused_since_utc: since, push}) {
  const of = output ? ` (output ${output})` : '';
  const found = [];
  if (output && state === 'failed') found.push({title: `Output ${output} failed`, text: reason || 'see the log'});
  else if (state === 'running' && reason) found.push({title: `Recording failed${of}`, text: reason});
  if (paused) {
    const title = withTime(`Recording paused${of}`, since);
    found.push({title, text: `${paused}; it goes on by itself once that is mended`});
  }
  for (const [target, {state: pushed, reason: why, cause, since_utc: failedSince}] of Object.entries(push ?? {})) {
    if (pushed !== 'failed') continue;
    const title = withTime(`Push failed${of}`, failedSince);
    found.push({title, text: `${why || cause || 'the log has the reason'}; it is tried again: ${target}`});
  }
  return found;
}

// [{title, text}], what concerns the video first. `rate`: of the rig's counters; `heldMs`: what this browser holds back.
export function troublesOf(camera, rate, heldMs = 0) {
  if (camera.state !== 'running') return []; // its state says why
  const found = [];
  if (camera.overloaded) {
    const text = camera.overloaded.replace(/^(worker \d+) is overloaded: /, '$1: ');
    found.push({title: withTime('Overloaded', camera.overloaded_since_utc), text});
  }
  if (camera.shed) {
    const text = `${camera.shed}, for cameras of a higher priority: reduce the load, or raise its priority`;
    found.push({title: withTime('Gives way', camera.shed_since_utc), text});
  }
  found.push(...lateness(camera, heldMs), ...damage(rate));
  for (const [output, of] of [['', camera], ...Object.entries(camera.outputs ?? {})])
    found.push(...outputTroubles(output, of));
  return found;
}
