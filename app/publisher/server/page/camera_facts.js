// What the page of one camera shows in words: facts, and addresses for other players.
import {dropCausesOf, dropsOf, rigNow} from './api.js';
import {conditionOf, sinceWhen} from './conditions.js';
import {el} from './dom.js';
import {bitrate, bytes, count, fps, milliseconds, since} from './format.js';
import {goesByHttp} from './live_socket.js';
import {rootHref} from './root.js';
import {measured, troublesOf} from './troubles.js';

const withDot = (look, text) => el('span', {class: 'with-dot'}, el('span', {class: `dot ${look}`}), text);

const asList = (rows) =>
  rows.flatMap(([name, value]) => [
    el('dt', {'data-key': name}, name),
    el('dd', {'data-key': `value of ${name}`}, value),
  ]);

function dropsText(camera) {
  const causes = dropCausesOf(camera).map(([cause, n]) => `${count(n)} ${cause}`);
  return causes.length ? `${count(dropsOf(camera))} (${causes.join(', ')})` : 'none';
}

function recordingText(camera) {
  if (camera.recording_paused) return `paused: ${camera.recording_paused}`;
  if (camera.recording_on) return camera.recording ? `on, ${camera.recording}` : 'on';
  if (!camera.records) return 'not configured';
  return camera.enabled === false ? 'off, as the camera is' : 'stopped';
}

// From capture where the camera says when that was, else from the arrival.
function latencyText({state, latency_ms: latency, stages_ms: stages}, behindMs) {
  if (state !== 'running' || !measured(latency?.p50)) return '';
  const transit = stages?.transit?.p50;
  const begin = Number.isFinite(transit) ? `from capture, ${milliseconds(transit)} of it to the rig` : 'from arrival';
  const rig = `median ${milliseconds(latency.p50)}, 95 % within ${milliseconds(latency.p95)} (${begin})`;
  return Number.isFinite(behindMs) ? `${rig}; and ${milliseconds(behindMs)} in this browser` : rig;
}

function groupText({name, phase_ms: phase, drift_ms: drift, skew_ms: skew}, {repeated}) {
  const apart = `frames of a set ${milliseconds(skew.p50)} apart, 99 % within ${milliseconds(skew.p99)}`;
  const own = `this camera ${milliseconds(Math.abs(phase))} ${phase < 0 ? 'ahead of' : 'behind'} its sets, drift ${milliseconds(drift)}`;
  return `${name}: ${apart}; ${own}; ${count(repeated ?? 0)} frames repeated`;
}

function placeText({node, worker, gpu, decoder, encoder}) {
  return [node && `node ${node}`, worker !== undefined && `worker ${worker}`, gpu, decoder && encoder && `${decoder} → ${encoder}`]
    .filter(Boolean)
    .join(', ');
}

function movedText({moved, moves}) {
  if (!moved) return '';
  const times = moves > 1 ? `${count(moves)} times, at last ` : '';
  return `${times}from worker ${moved.from} to ${moved.to}, ${since(moved.at_utc, rigNow())}: ${moved.reason}`;
}

// While the rig does not answer.
export const unknownFacts = () => asList([['State', withDot('off', 'not known, campipe does not answer')]]);

// `stats`: of this page's player.
export function factsOf(camera, rate, stats) {
  const stream = [camera.codec, camera.width && `${camera.width} × ${camera.height}`].filter(Boolean).join(', ');
  const {look, word} = conditionOf(camera, rate);
  const troubles = troublesOf(camera, rate, stats.behindMs);
  const words = troubles.map(({title, text}) => el('p', {}, `${title}: ${text}`));
  const rows = [
    ['State', withDot(troubles.length ? 'warn' : look, [word, sinceWhen(camera)].filter(Boolean).join(', '))],
    ['Trouble', words.length && el('div', {class: 'warn'}, ...words)],
    ['Why', camera.state !== 'running' && camera.reason],
    ['Source', camera.source],
    ['Stream', stream],
    ['Sent to here', goesByHttp() && 'over HTTP, as no WebSocket comes through'],
    ['Rate', rate && `${fps(rate.fps)}, ${bitrate(rate.bitrate)}`],
    ['Latency', latencyText(camera, stats.behindMs)],
    ['Dropped', dropsText(camera)],
    ['In step with', camera.group && groupText(camera.group, camera.frames ?? {})],
    ['Runs on', placeText(camera)],
    ['Moved', movedText(camera)],
    ['Queue', camera.ring && `${camera.ring.waiting} of at most ${camera.ring.slots} frames waiting`],
    ['Recording', recordingText(camera)],
    ['Sent so far', camera.bytes && bytes(camera.bytes)],
    ['Connected anew', camera.reconnects ? `${count(camera.reconnects)} times` : ''],
    ['Worker began anew', camera.worker_restarts ? `${count(camera.worker_restarts)} times` : ''],
  ];
  return asList(rows.filter(([, value]) => value));
}

// Browsers have a clipboard only for pages that came by TLS or from this machine. The older way may be refused, too: then
// the text is selected.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand('copy') ? 'Copied' : 'Press Ctrl+C';
  }
}

function copyButton(code) {
  const button = el('button', {class: 'button', type: 'button', 'aria-live': 'polite'}, 'Copy');
  button.addEventListener('click', async () => {
    button.textContent = await copy(code);
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 3000);
  });
  return button;
}

function item(label, address) {
  const code = el('code', {title: address}, address);
  return el('li', {}, el('small', {}, label), code, copyButton(code));
}

const isLoopback = (host) => /^(localhost|127\..*|\[?::1\]?)$/.test(host);

// Where the RTSP server is, as seen from this browser. Empty: it is off, or listens on loopback, and this browser is on
// another machine.
function rtspBase(status) {
  const [, host, port] = /^(.*):(\d+)$/.exec(status.rtsp?.address ?? '') ?? [];
  const isReached = !isLoopback(host ?? '') || isLoopback(location.hostname);
  return port && isReached ? `${status.rtsp.tls ? 'rtsps' : 'rtsp'}://${location.hostname}:${port}` : '';
}

// {key: changes with the items, items}
export function linksOf(name, camera, status) {
  const path = encodeURIComponent(name);
  const rtsp = rtspBase(status);
  const outputs = ['', ...Object.keys(camera.outputs ?? {})];
  const items = outputs.flatMap((output) => {
    const hasRtsp = rtsp && !camera.outputs?.[output]?.on_demand;
    const query = output ? `?output=${encodeURIComponent(output)}` : '';
    const of = output ? ` (output ${output})` : '';
    return [
      hasRtsp &&
        item(
          `RTSP${of}: VLC, mpv, ffplay, other recorders`,
          `${rtsp}/${path}${output ? `/${encodeURIComponent(output)}` : ''}`,
        ),
      item(`MPEG-TS${of}: mpv, ffplay, VLC`, `${rootHref}/cameras/${path}/stream.ts${query}`),
    ].filter(Boolean);
  });
  items.push(item('The newest frame', `${rootHref}/cameras/${path}/snapshot.jpg`));
  return {key: [rtsp, ...outputs].join('\n'), items};
}
