// The table of recordings: one stop for the Tab key, in which arrow keys move.
import {rigNow} from './api.js';
import {el, icon, patch} from './dom.js';
import {bytes, dayOf, isSameDay, length, timeOf} from './format.js';

// In a cluster it lies on one of the nodes.
export function fileAddress({id, node}, isDownload = false) {
  const query = [node && `node=${encodeURIComponent(node)}`, isDownload && 'download'].filter(Boolean).join('&');
  return `/recordings/files/${id.split('/').map(encodeURIComponent).join('/')}${query ? `?${query}` : ''}`;
}

// Nodes may have files of the same name.
export const keyOf = ({node, id}) => (node ? `${node}:${id}` : id);

// What lies between the end of one recording and the beginning of the next one of the same stream, which a cluster may
// have on another node: seconds; below 0: they overlap.
const shortestGap = 2;
function gapBetween(older, newer) {
  const end = older.end_utc && Date.parse(older.end_utc);
  const gap = (Date.parse(newer.start_utc) - end) / 1000;
  if (!(gap > shortestGap) && !(gap < -shortestGap)) return '';
  return gap > 0 ? `nothing for ${length(gap)}` : `both have ${length(-gap)}`;
}

const dayTitle = (date) => (isSameDay(date, new Date(rigNow())) ? `Today, ${dayOf(date)}` : dayOf(date));

function lengthCell(recording, gap) {
  return el(
    'td',
    {class: 'number-cell'},
    recording.writing
      ? el('span', {class: 'with-dot'}, el('span', {class: 'dot bad'}), 'being written')
      : length(recording.duration_s),
    gap ? el('small', {class: 'quiet gap', title: 'until the next recording'}, gap) : null,
  );
}

// `gap`: to what came next.
function rowOf(recording, begin, gap) {
  const name = `${recording.camera}, ${timeOf(begin)}`;
  const inRow = {class: 'button', tabindex: -1};
  const play = el(
    'button',
    {...inRow, type: 'button', 'aria-label': `Play ${name}`, 'data-play': true},
    icon('play'),
    el('span', {class: 'wide-only'}, 'Play'),
  );
  const href = fileAddress(recording, true);
  const fetch = el(
    'a',
    {...inRow, href, download: true, 'aria-label': `Download ${name}`, title: 'Download'},
    icon('download'),
  );
  return el(
    'tr',
    {'data-key': keyOf(recording), 'data-id': keyOf(recording), tabindex: -1},
    el('td', {}, timeOf(begin)),
    el(
      'td',
      {class: 'name'},
      recording.output ? `${recording.camera} / ${recording.output}` : recording.camera,
      recording.node ? el('small', {class: 'quiet'}, ` ${recording.node}`) : null,
    ),
    lengthCell(recording, gap),
    el('td', {class: 'number-cell optional'}, bytes(recording.bytes)),
    el('td', {}, el('span', {class: 'row-actions'}, play, fetch)),
  );
}

// Rows of recordings, the newest first, and of the days that they begin on.
function rowsOf(recordings) {
  const newer = new Map(); // by stream
  let before = null;
  return recordings.flatMap((recording) => {
    const begin = new Date(recording.start_utc);
    const isNewDay = !before || !isSameDay(before, begin);
    before = begin;
    const stream = `${recording.camera}/${recording.output ?? ''}`;
    const gap = newer.has(stream) ? gapBetween(recording, newer.get(stream)) : '';
    newer.set(stream, recording);
    const row = rowOf(recording, begin, gap);
    if (!isNewDay) return [row];
    const title = el('th', {colspan: 5, scope: 'rowgroup'}, dayTitle(begin));
    return [el('tr', {class: 'day', 'data-key': `day ${begin.toDateString()}`}, title), row];
  });
}

const columns = [
  ['Begins'],
  ['Camera'],
  ['Length', 'number-cell'],
  ['Size', 'number-cell optional'],
  ['Play and fetch', 'unseen-title'],
];

export class RecordingsTable {
  element = el('div', {class: 'card table'});
  #onplay;
  #recordings = new Map(); // by key
  #current = ''; // the key of the row that the Tab key leads to
  #playing = '';

  // `onplay` is called with the recording.
  constructor(onplay) {
    this.#onplay = onplay;
    this.element.addEventListener('click', ({target}) => {
      if (target.closest('[data-play]')) this.#play(target.closest('tr'));
    });
    this.element.addEventListener('focusin', ({target}) => {
      const key = target.closest('tr')?.dataset.key;
      if (key) this.#setCurrent(key);
    });
    this.element.addEventListener('keydown', (event) => this.#key(event));
  }

  // Elements of recordings that stay do so too, with the focus, what is selected, and their place.
  show(recordings) {
    const at = this.#rows().findIndex((row) => row.contains(document.activeElement));
    this.#recordings = new Map(recordings.map((recording) => [keyOf(recording), recording]));
    if (recordings.length === 0)
      return patch(this.element, el('p', {class: 'card quiet'}, 'Nothing was recorded here.'));
    const titles = columns.map(([title, kind]) =>
      el('th', {scope: 'col', class: kind}, kind === 'unseen-title' ? el('span', {class: 'unseen'}, title) : title),
    );
    const body = el('tbody', {}, ...rowsOf(recordings));
    this.#mark(body.rows);
    patch(
      this.element,
      el('table', {role: 'grid', 'aria-label': 'Recordings'}, el('thead', {}, el('tr', {}, ...titles)), body),
    );
    const rows = this.#rows();
    if (!this.#recordings.has(this.#current))
      this.#setCurrent(rows[Math.min(Math.max(at, 0), rows.length - 1)].dataset.key);
    if (at >= 0 && !this.element.contains(document.activeElement)) this.#currentRow().focus(); // its row is gone
  }

  // Empty: none is.
  set playing(key) {
    this.#playing = key;
    this.#mark(this.#rows());
  }

  focus() {
    this.#currentRow()?.focus();
  }

  #rows() {
    return [...this.element.querySelectorAll('tr[data-id]')];
  }

  #currentRow() {
    return this.#rows().find((row) => row.dataset.key === this.#current);
  }

  #setCurrent(key) {
    this.#current = key;
    this.#mark(this.#rows());
  }

  #mark(rows) {
    for (const row of rows) {
      if (!row.dataset.id) continue;
      row.tabIndex = row.dataset.key === this.#current ? 0 : -1;
      row.classList.toggle('playing', row.dataset.key === this.#playing);
    }
  }

  #play(row) {
    this.#onplay(this.#recordings.get(row.dataset.key));
  }

  #key(event) {
    const row = event.target.closest('tr[data-id]');
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = this.#rows();
    const at = rows.indexOf(row);
    const places = {ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: rows.length};
    if (event.key in places) {
      const next = rows[Math.min(Math.max(places[event.key], 0), rows.length - 1)];
      next.focus();
      next.scrollIntoView({block: 'nearest'});
    } else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      const stops = [row, ...row.querySelectorAll('.button')];
      stops[stops.indexOf(event.target) + (event.key === 'ArrowRight' ? 1 : -1)]?.focus();
    } else if (event.key === 'Enter' && event.target === row) {
      this.#play(row);
    } else {
      return;
    }
    event.preventDefault();
  }
}
