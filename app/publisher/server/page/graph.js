// The way of each camera's frames, live: its source, the nodes that filter and encode them, its outputs, and how full
// the ring before each node is.
import {camerasOf} from './api.js';
import {el} from './dom.js';
import {count, fps} from './format.js';

const deviceOf = ({gpu}) => (gpu === 'cpu' ? 'CPU' : `GPU ${gpu}`);
const droppedOf = (edge) => edge.recalled + edge.missed;
// A ring whose reader keeps up is full for moments only.
const isFull = (edge) => edge && edge.waiting > 0 && edge.waiting >= edge.queue_size * 0.75;
const earlier = (before, edge) => before?.graph?.edges.find(({from, to}) => from === edge.from && to === edge.to);

const step = (what, where, kind = '', note = '') =>
  el(
    'li',
    {class: `step ${kind}`.trim()},
    el('b', {title: what}, what),
    el('span', {title: where}, where),
    note && el('span', {class: 'unseen'}, note),
  );

function sourceStep(source) {
  return step(source.decoder || 'source', `${source.process}, ${deviceOf(source)}`);
}

function nodeStep(node, slow) {
  const own = node.streams[0]; // a camera's own, or the frames for its next node
  const filters =
    own?.filters.join(', ') || (node.cells ? 'mosaic' : own?.codec === 'frames' ? 'no filter' : 'encode');
  const where = `${node.process}, ${deviceOf(node)}`;
  return step(filters, where, slow ? 'slow' : '', slow ? 'does not keep up' : '');
}

function hop(edge, before) {
  const full = Math.min(1, edge.waiting / edge.queue_size);
  const fill = el('i');
  fill.style.width = `${full * 100}%`;
  const dropped = droppedOf(edge);
  const grows = before && dropped > droppedOf(before);
  const ring = [edge.memory, edge.ready_signal, edge.ring_slots && `memory for ${edge.ring_slots} frames`].filter(Boolean).join(', ');
  return el(
    'li',
    {
      class: 'hop',
      title: `${ring || 'no ring yet'}\nwaiting: ${edge.waiting} of ${edge.queue_size}\nrecalled from the queue: ${count(edge.recalled)}\nmissed while away: ${count(edge.missed)}`,
    },
    el(
      'span',
      {class: 'fill'},
      el(
        'span',
        {
          class: isFull(edge) ? 'meter full' : 'meter',
          role: 'meter',
          'aria-label': 'frames waiting',
          'aria-valuemin': 0,
          'aria-valuemax': edge.queue_size,
          'aria-valuenow': edge.waiting,
        },
        fill,
      ),
      el('span', {}, `${edge.waiting}/${edge.queue_size}`),
    ),
    el('span', {}, fps(edge.fps)),
    el('span', {class: grows ? 'dropped grows' : 'dropped'}, `${grows ? '▲ ' : ''}${count(dropped)} dropped`),
  );
}

function outputsStep(name, camera) {
  const {nodes} = camera.graph;
  const last = nodes.at(-1);
  const lines = nodes.flatMap((node) =>
    node.streams
      .filter(({codec}) => codec !== 'frames')
      .map((stream) => {
        const of = stream.output === name ? 'main' : stream.output.slice(name.length + 1);
        const {fps: rate} = (of === 'main' ? camera : camera.outputs?.[of]) ?? {};
        const what = `${of}: ${stream.encoder || stream.codec}${node === last ? '' : ` from ${node.process}`}`;
        return el('li', {'data-key': of}, el('b', {title: what}, what), el('span', {}, fps(rate)));
      }),
  );
  return el('li', {class: 'step made'}, el('ul', {}, ...lines));
}

// What a mosaic shows, and how many frames a second come for each of its cells.
function cellsStep(mosaic, cameras) {
  const lines = cameras.flatMap(([name, {graph}]) =>
    (graph?.edges ?? [])
      .filter(({to}) => to === mosaic.id)
      .map((edge, i) => el('li', {'data-key': `${name} ${i}`}, el('b', {title: name}, name), el('span', {}, fps(edge.fps)))),
  );
  return el('li', {class: 'step made'}, el('ul', {}, ...lines));
}

// Of all nodes, those that do not keep up, by their ids. Those before one are full since it is.
function slowIn({edges}, before) {
  const full = new Set(edges.filter((edge) => isFull(edge) && isFull(earlier(before, edge))).map(({to}) => to));
  return new Set([...full].filter((id) => !edges.some(({from, to}) => from === id && full.has(to))));
}

// From the source's frames to a node. What it joins, the tiles of a camera, lies one below the other.
function wayTo(node, graph, before, slow) {
  const edges = graph.edges.filter(({to}) => to === node.id);
  const itself = nodeStep(node, slow.has(node.id));
  if (!edges.length) return [el('li', {class: node.cells ? 'hop short' : 'hop'}), itself];
  const ways = edges.map((edge) => {
    const maker = graph.nodes.find(({id}) => id === edge.from);
    const earlierSteps = graph.nodes.indexOf(maker) > 0 ? wayTo(maker, graph, before, slow) : [];
    return [...earlierSteps, hop(edge, earlier(before, edge))];
  });
  if (ways.length === 1) return [...ways[0], itself];
  const rows = ways.map((steps, i) => el('li', {'data-key': edges[i].from}, el('ol', {}, ...steps)));
  return [el('li', {class: 'together'}, el('ul', {'aria-label': 'tiles, at the same time'}, ...rows)), itself];
}

function way(name, camera, before, cameras) {
  const {graph} = camera;
  const [first] = graph.nodes;
  const last = graph.nodes.at(-1);
  const steps = last === first && !first.cells ? [] : wayTo(last, graph, before, slowIn(graph, before));
  return el(
    'div',
    {class: 'way', 'data-key': name},
    el('a', {href: `/camera/${encodeURIComponent(name)}`}, name),
    el(
      'ol',
      {'aria-label': `The way of the frames of ${name}`},
      first.cells ? cellsStep(first, cameras) : sourceStep(first),
      ...steps,
      el('li', {class: 'hop short', 'aria-hidden': 'true'}),
      outputsStep(name, camera),
    ),
  );
}

// `before`: the status before, or null. Null where no camera runs.
export function graphSection(status, before) {
  const cameras = camerasOf(status);
  const ways = cameras
    .filter(([, camera]) => camera.graph)
    .map(([name, camera]) => way(name, camera, before?.cameras?.[name], cameras));
  if (!ways.length) return null;
  return el(
    'section',
    {'data-key': 'graph'},
    el('h2', {}, 'Graph'),
    el('div', {class: 'card ways'}, ...ways),
  );
}
