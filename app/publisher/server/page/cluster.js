// The cluster that the rig is a node of, on the page of the system: its nodes, which of them runs which camera, for
// administrators how to change that, and the links of this node.
import {administers, post} from './api.js';
import {confirmed} from './confirm.js';
import {el, setText} from './dom.js';
import {bytes, count, milliseconds} from './format.js';

let failure = ''; // of what was asked last; it stays until something else is asked

const stateOf = (name, node, cluster) =>
  [
    !node.here ? 'away' : node.draining ? 'draining' : 'here',
    name === cluster.planner && 'plans',
    name === cluster.node && 'this node',
    !node.usable && 'cannot use the rig: see its log',
  ]
    .filter(Boolean)
    .join(', ');

const lookOf = (node) => (!node.here || !node.usable ? 'bad' : node.draining ? 'warn' : 'good');

// What a node has, where it was measured: memory that is not known is offered without end.
export function capacityOf({capacity}) {
  const {cores, memory} = capacity;
  const parts = [];
  if (Number.isFinite(cores)) parts.push(`${Math.round(cores * 10) / 10} cores`);
  if (memory < 1e15) parts.push(bytes(memory));
  if (capacity['GPU memory'] > 0) parts.push(`GPU memory ${bytes(capacity['GPU memory'])}`);
  return parts.join(', ') || '–';
}

// How far its clock is from that of the node that shows the page.
export function clockOf({clock}) {
  if (!clock) return '–';
  const off = Math.abs(clock.offset_s) * 1000;
  if (off <= clock.bound_s * 1000) return `± ${milliseconds(clock.bound_s * 1000)}`;
  return `${clock.offset_s < 0 ? '−' : '+'}${milliseconds(off)}`;
}

// As `campipe cluster status` says it.
export function noteOf({node, home, reason, wanted, kept_by}) {
  if (kept_by) return `${node} has not begun to record it: it goes on on ${kept_by}`;
  if (reason) return reason;
  if (wanted && wanted !== node) return `is wanted on ${wanted}`;
  return home ? `its home is ${home}` : '';
}

function nodeRow(name, node, cluster, mayChange) {
  const button = el(
    'button',
    {class: 'button', 'data-drain': name, 'data-end': node.draining},
    node.draining ? 'Take cameras again' : 'Drain',
  );
  return [
    name,
    el('span', {class: 'with-dot'}, el('span', {class: `dot ${lookOf(node)}`}), stateOf(name, node, cluster)),
    count(node.cameras),
    node.address || '–',
    node.version || '–',
    capacityOf(node),
    clockOf(node),
    ...(mayChange ? [button] : []),
  ];
}

// An arrow key changes what is chosen: nothing moves before the button is pressed.
const moveControls = (name, choices) =>
  el(
    'span',
    {class: 'move'},
    el('select', {'data-move': name, 'aria-label': `Where ${name} is to run`}, ...choices),
    el('button', {class: 'button', type: 'button', 'data-moves': name, 'aria-label': `Move ${name}`}, 'Move'),
  );

function cameraRow(name, camera, cluster, mayChange) {
  const nodes = Object.keys(cluster.nodes).filter((node) => cluster.nodes[node].here && node !== camera.node);
  // Each has its key, so that what is chosen stays so while nodes come and go.
  const choice = (value, words) => el('option', {value, 'data-key': value || 'none'}, words);
  const choices = [
    choice('', 'Choose a node'),
    ...nodes.map((node) => choice(`=${node}`, node)),
    ...(camera.wanted ? [choice('*', 'any node')] : []),
  ];
  return [
    name,
    camera.node || 'none',
    noteOf(camera),
    ...(mayChange ? [moveControls(name, choices)] : []),
  ];
}

// Of this node: "gate → lane" of a camera and the mosaic that shows it, or the part of its work that is done elsewhere. The same mosaic may show it twice.
export function linkRows(links) {
  const names = new Map();
  return links.map((link) => {
    const name = `${link.camera} → ${link.mosaic || link.part}`;
    names.set(name, (names.get(name) ?? 0) + 1);
    return [
      names.get(name) > 1 ? `${name} (${names.get(name)})` : name,
      `${link.direction === 'sends' ? 'to' : 'from'} ${link.peer}`,
      link.transport + (link.encrypted ? ', encrypted' : ''),
      el(
        'span',
        {class: 'with-dot'},
        el('span', {class: `dot ${link.connected ? 'good' : 'bad'}`}),
        link.connected ? 'connected' : 'not connected',
      ),
      count(link.frames),
      count(link.lost),
    ];
  });
}

// `section` and `table`: system.js's; the rows are lists of what the cells hold.
export function clusterSection(status, {section, table}) {
  const {cluster} = status;
  if (!cluster) return null;
  const mayChange = administers();
  const rows = (entries, rowOf) => Object.entries(entries).map(([name, of]) => rowOf(name, of, cluster, mayChange));
  const problems = [cluster.etcd.problem, cluster.rig.problem].filter(Boolean);
  if (!cluster.etcd.up && !problems.length) problems.push('etcd has not answered lately.');
  for (const {clock} of Object.values(cluster.nodes)) if (clock?.problem) problems.push(clock.problem);
  if (!cluster.planner) problems.push('No node plans: no camera gets another node.');
  const action = mayChange ? ['Change'] : [];
  return section(
    'cluster',
    `Cluster ${cluster.cluster}`,
    ...problems.map((problem, n) => el('p', {class: 'error', 'data-key': `problem ${n}`}, problem)),
    el('p', {class: 'error cluster-failure', role: 'alert', 'data-key': 'failure', hidden: !failure}, failure),
    el(
      'div',
      {'data-key': 'nodes'},
      table(['Node', 'State', '#Cameras', '?Address', '?Version', '?Capacity', '?Clock', ...action], rows(cluster.nodes, nodeRow)),
    ),
    el('div', {'data-key': 'cameras'}, table(['Camera', 'Node', 'Note', ...action], rows(cluster.cameras, cameraRow))),
    ...(cluster.links.length
      ? [el('div', {'data-key': 'links'}, table(['Link', 'Node', '?Transport', 'State', '#Frames', '#Lost'], linkRows(cluster.links)))]
      : []),
  );
}

async function ask(content, button, call, body) {
  button.setAttribute('aria-disabled', 'true'); // disabled it would lose the focus
  failure = '';
  try {
    await post(`cluster/${call}`, body);
  } catch (error) {
    failure = error.message;
  }
  button.removeAttribute('aria-disabled');
  const shown = content.querySelector('.cluster-failure');
  if (!shown) return;
  setText(shown, failure);
  shown.hidden = !failure;
}

async function drain(content, button) {
  const {drain: node, end} = button.dataset;
  const ends = end !== undefined;
  const consequence = 'Its cameras go to other nodes, as far as those have room. It takes no others meanwhile.';
  const isWanted = ends || (await confirmed(`Drain ${node}?`, consequence, 'Drain'));
  if (isWanted) ask(content, button, 'drain', {node, end: ends});
}

function move(content, button) {
  const select = button.parentElement.querySelector('select');
  const {value} = select;
  if (!value) return select.focus();
  select.value = '';
  ask(content, button, 'move', {camera: button.dataset.moves, node: value === '*' ? null : value.slice(1)});
}

// Once for the page: its rows come and go.
export function obeyClusterControls(content) {
  content.addEventListener('click', ({target}) => {
    const button = target.closest('[data-drain], [data-moves]');
    if (button && !button.getAttribute('aria-disabled')) (button.dataset.moves === undefined ? drain : move)(content, button);
  });
}
