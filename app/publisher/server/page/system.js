// The rig behind the cameras: processes, GPUs, rings, and who watches.
import {administers, camerasOf, currentSession, dropsOf, get, rigNow, watchStatus} from './api.js';
import {clusterSection, obeyClusterControls} from './cluster.js';
import {conditionOf, sinceWhen} from './conditions.js';
import {el, patch} from './dom.js';
import {bitrate, bytes, count, duration, fps, milliseconds, since, zoneText} from './format.js';
import {graphSection} from './graph.js';
import {measured} from './troubles.js';

const cell = (content, kind = '') => el('td', kind ? {class: kind} : {}, content ?? '–');
const number = (content) => cell(content, 'number-cell');

// columns: "Name", or "#Name" for numbers, "?Name" for what small screens leave out
function table(columns, rows) {
  const kinds = columns.map((column) => ({'#': 'number-cell', '?': 'optional'})[column[0]] ?? '');
  const names = columns.map((column) => column.replace(/^[#?]/, ''));
  const head = names.map((name, i) => el('th', {scope: 'col', class: kinds[i] || null}, name));
  // By the keyboard it can be scrolled only if it has the focus.
  return el(
    'div',
    {class: 'card table', role: 'group', tabindex: 0, 'aria-label': `Table: ${names.join(', ')}`},
    el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows)),
  );
}

// The same of rows that are lists of what the cells hold, the first of which is the row's key.
const tableOf = (columns, rows) =>
  table(
    columns,
    rows.map((cells) =>
      el(
        'tr',
        {'data-key': cells[0]},
        ...cells.map((content, i) =>
          cell(content, {'#': 'number-cell', '?': 'optional'}[columns[i][0]] ?? (i === 0 ? 'name' : '')),
        ),
      ),
    ),
  );

// `name` identifies a section while the page stays.
const section = (name, title, ...content) =>
  el('section', {'data-key': name}, el('h2', {}, title), ...content);

function meter(share) {
  if (!Number.isFinite(share)) return '–';
  const fill = el('i');
  fill.style.width = `${Math.min(100, Math.max(0, share))}%`;
  return el('span', {}, el('span', {class: 'meter'}, fill), `${Math.round(share)} %`);
}

const mebibytes = (n) => (Number.isFinite(n) ? bytes(n * 1024 * 1024) : '–');

function summary(status, rates) {
  const cameras = camerasOf(status);
  const sum = (of) => cameras.reduce((total, [name, camera]) => total + (of(camera, rates[name]) || 0), 0);
  const hasRates = cameras.some(([name]) => rates[name]);
  const sumOfRates = (of) => (hasRates ? sum((camera, rate) => rate && of(rate)) : NaN);
  const isKnown = !cameras.some(([, {state}]) => state === 'unknown');
  const live = cameras.filter(([, {state}]) => state === 'running').length;
  const troubled = cameras.filter(([name, camera]) => conditionOf(camera, rates[name]).troubles.length).length;
  const tile = (value, what) => el('div', {class: 'card'}, el('b', {}, value), el('span', {}, what));
  return el(
    'div',
    {class: 'tiles', 'data-key': 'summary'},
    tile(duration(status.uptime_s), 'running'),
    tile(
      `${isKnown ? live : '–'} of ${cameras.length}`,
      troubled ? `cameras live, ${troubled} with trouble` : 'cameras live',
    ),
    tile(fps(sumOfRates((rate) => rate.fps)), 'encoded by all'),
    tile(bitrate(sumOfRates((rate) => rate.bitrate)), 'encoded by all'),
    tile(count(sum(dropsOf)), 'frames dropped since the start'),
    tile(mebibytes((status.processes ?? []).reduce((total, {memory_mib}) => total + memory_mib, 0)), 'memory'),
  );
}

function processes(status, before) {
  const seconds = before ? (Date.parse(status.time_utc) - Date.parse(before.time_utc)) / 1000 : 0;
  const rows = (status.processes ?? []).map((process) => {
    const earlier = before?.processes?.find(({role}) => role === process.role);
    const share = earlier && seconds > 0 ? ((process.cpu_s - earlier.cpu_s) / seconds) * 100 : NaN;
    return el(
      'tr',
      {'data-key': process.role},
      cell(process.role),
      ...(status.processes[0].pid ? [number(process.pid ? String(process.pid) : '–')] : []), // for those who administer
      number(Number.isFinite(share) ? `${share.toFixed(0)} %` : '–'),
      number(mebibytes(process.memory_mib)),
      number(count(process.restarts) + ('restarts_in_s' in process ? `, next in ${process.restarts_in_s.toFixed(0)} s` : '')),
      cell(process.gpu || '–', 'optional'),
    );
  });
  return section(
    'processes',
    'Processes',
    table(['Process', ...(status.processes?.[0]?.pid ? ['#PID'] : []), '#CPU (of one core)', '#Memory', '#Restarts', '?Device'], rows),
  );
}

const lostWords = {suspected: 'suspected; it is being checked', gone: 'gone', returning: 'coming back'};

function lostGpus(status) {
  if (!status.lost_gpus?.length) return null;
  const rows = status.lost_gpus.map((gpu) =>
    el(
      'tr',
      {'data-key': gpu.uuid || gpu.gpu},
      cell(gpu.gpu),
      cell(lostWords[gpu.state] ?? gpu.state),
      cell(gpu.reason, 'wide'),
      cell(gpu.cameras.join(', ') || '–'),
    ),
  );
  return section('lost-gpus', 'GPUs that are gone', table(['GPU', 'State', 'Reason', 'Cameras elsewhere'], rows));
}

// What the machine's limits are: the costs of all that runs beside what can be used.
function resources(status) {
  const scarce = (status.resources ?? []).filter(({needs, has}) => needs > has / 100);
  if (!scarce.length) return null;
  const rows = scarce.map(({resource, where, needs, has, text}) =>
    el(
      'tr',
      {'data-key': `${resource} ${where}`},
      cell([resource, where].filter(Boolean).join(' of ')),
      cell(meter((needs / has) * 100)),
      cell(text, 'wide'),
    ),
  );
  return section('resources', 'What the rig takes of the machine', table(['Resource', 'Used', 'Details'], rows));
}

function gpus(status) {
  if (!status.gpus?.length) return null;
  const rows = status.gpus.map((gpu) =>
    el(
      'tr',
      {},
      cell(gpu.name),
      cell(meter(gpu.utilization)),
      cell(meter(gpu.decoder)),
      cell(el('span', {}, meter((gpu.memory_used_mib / (gpu.memory_mib ?? NaN)) * 100), ` of ${mebibytes(gpu.memory_mib)}`)),
    ),
  );
  return section('gpus', 'GPUs', table(['GPU', 'In use', 'Decoder', 'Memory'], rows));
}

function stateCell(camera, rate) {
  const {look, word, troubles} = conditionOf(camera, rate);
  const since = camera.state === 'running' ? '' : sinceWhen(camera);
  const reasons = troubles.length ? troubles.map(({title, text}) => `${title}: ${text}`) : [camera.reason, since];
  return el(
    'span',
    {},
    el('span', {class: 'with-dot'}, el('span', {class: `dot ${look}`}), word),
    ...reasons.filter(Boolean).map((reason) => el('small', {class: 'reason'}, reason)),
  );
}

function rings(status, rates) {
  const rows = camerasOf(status).map(([name, camera]) =>
    el(
      'tr',
      {'data-key': name},
      cell(el('a', {href: `/camera/${encodeURIComponent(name)}`}, name), 'name'),
      cell(stateCell(camera, rates[name]), 'state-cell'),
      number(camera.state === 'running' && rates[name] ? fps(rates[name].fps) : '–'),
      number(camera.state === 'running' ? milliseconds(measured(camera.latency_ms?.p95)) : '–'),
      number(camera.ring ? `${camera.ring.waiting} / ${camera.ring.slots}` : '–'),
      number(count(dropsOf(camera))),
      number(count(camera.reconnects ?? 0)),
      number(count(camera.worker_restarts ?? 0)),
      cell(camera.worker !== undefined ? `worker ${camera.worker}, ${camera.gpu}` : '–', 'optional'),
    ),
  );
  return section(
    'cameras',
    'Cameras',
    table(
      ['Camera', 'State', '#Rate', '#Latency (95 %)', '#Queue', '#Dropped', '#Reconnects', '#Restarts', '?Where'],
      rows,
    ),
  );
}

function viewersSection(viewers) {
  if (!viewers) return null;
  if (viewers.length === 0) return section('viewers', 'Viewers', el('p', {class: 'quiet'}, 'No viewers.'));
  const rows = viewers.map((viewer) =>
    el(
      'tr',
      {},
      cell(viewer.camera, 'name'),
      cell(viewer.form),
      cell(viewer.user || '–'),
      cell(viewer.address),
      cell(since(viewer.since_utc, rigNow()), 'optional'),
      number(bytes(viewer.bytes)),
      number(count(viewer.dropped)),
    ),
  );
  return section(
    'viewers',
    `Viewers (${viewers.length})`,
    table(['Camera', 'By', 'User', 'Address', '?Since', '#Got', '#Dropped'], rows),
  );
}

// Returns the status with every camera's state `unknown`, since the rig does not answer.
function withoutStates(status) {
  const cameras = camerasOf(status).map(([name, {order, gpu, worker, frames, reconnects, worker_restarts}]) => [
    name,
    {order, gpu, worker, frames, reconnects, worker_restarts, state: 'unknown', reason: 'campipe does not answer'},
  ]);
  return {...status, cameras: Object.fromEntries(cameras)};
}

export function show(main) {
  main.className = 'page';
  const version = el('span', {class: 'quiet'});
  const content = el('div', {class: 'sections'});
  const head = el('div', {class: 'head'}, el('h1', {}, 'System'), version);
  main.append(head, content, el('p', {class: 'quiet zone'}, zoneText()));
  obeyClusterControls(content);
  let before = null;
  let begun = 0;
  let shown = 0;
  let closed = false;

  async function loadViewers() {
    if (!administers()) return null; // others do not see who watches
    try {
      return (await get('viewers')).viewers;
    } catch {
      return null; // the line above the page shows that campipe does not answer
    }
  }

  function draw(status, rates, viewers) {
    version.textContent = [`campipe ${status.version ?? ''}`, status.config, currentSession().user]
      .filter(Boolean)
      .join(' · ');
    patch(
      content,
      ...[
        summary(status, rates),
        clusterSection(status, {section, table: tableOf}),
        processes(status, before),
        lostGpus(status),
        resources(status),
        gpus(status),
        rings(status, rates),
        graphSection(status, before),
        viewersSection(viewers),
      ].filter(Boolean),
    );
  }

  const stop = watchStatus(async ({status, rates}) => {
    begun += 1;
    const own = begun;
    const viewers = status && (await loadViewers());
    if (closed || own < shown) return; // a newer one was faster
    shown = own;
    if (status) draw(status, rates, viewers);
    else if (before) draw(withoutStates(before), {}, null);
    before = status ?? before;
  });
  return {
    title: 'System',
    close() {
      closed = true;
      stop();
    },
  };
}
