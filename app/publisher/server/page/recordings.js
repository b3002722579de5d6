// What was recorded: by camera and time (in the address, so that a link shows the same), to be played and fetched.
import {camerasOf, get, rigNow, watchStatus} from '/static/api.js';
import {el, icon, setText} from '/static/dom.js';
import {bytes, dayOf, isSameDay, length, timeOf} from '/static/format.js';
import {navigate} from '/static/navigate.js';

const limit = 200;

export function show(main, url) {
  return new Recordings(main, url);
}

// In a cluster it lies on one of the nodes.
function fileAddress({id, node}, isDownload = false) {
  const query = [node && `node=${encodeURIComponent(node)}`, isDownload && 'download'].filter(Boolean).join('&');
  return `/recordings/files/${id.split('/').map(encodeURIComponent).join('/')}${query ? `?${query}` : ''}`;
}

// What lies between the end of one recording and the beginning of the next one of the same stream, which a cluster may
// have on another node: seconds; below 0: they overlap.
const shortestGap = 2;
function gapBetween(older, newer) {
  const end = older.end_utc && Date.parse(older.end_utc);
  const gap = (Date.parse(newer.start_utc) - end) / 1000;
  if (!(gap > shortestGap) && !(gap < -shortestGap)) return '';
  return gap > 0 ? `nothing for ${length(gap)}` : `both have ${length(-gap)}`;
}

// <input type="datetime-local"> speaks local time without a zone.
const localValue = (utc) => {
  const date = new Date(utc);
  return new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

// Nodes may have files of the same name.
const keyOf = ({node, id}) => (node ? `${node}:${id}` : id);

class Recordings {
  title = 'Recordings';
  #url;
  #camera = el('select', {name: 'camera'}, el('option', {value: ''}, 'All cameras'));
  #from = el('input', {type: 'datetime-local', name: 'from'});
  #to = el('input', {type: 'datetime-local', name: 'to'});
  #list = el('div', {class: 'card table'});
  #note = el('p', {class: 'quiet', role: 'status'});
  #watching = el('div');
  #visit = 0;
  #playing = '';
  #stopWatching;

  constructor(main, url) {
    this.#url = url;
    main.className = 'page';
    const filters = el(
      'form',
      {class: 'filters', onchange: () => this.#filter(), onsubmit: (event) => event.preventDefault()},
      el('label', {}, 'Camera', this.#camera),
      el('label', {}, 'From', this.#from),
      el('label', {}, 'Until', this.#to),
      el('button', {class: 'button', type: 'button', onclick: () => navigate('/recordings')}, 'All'),
      this.#note,
    );
    main.append(el('div', {class: 'head'}, el('h1', {}, 'Recordings')), this.#watching, filters, this.#list);
    this.#stopWatching = watchStatus(
      ({status}) => status && this.#setCameras(camerasOf(status).map(([name]) => name)),
    );
    this.#show();
  }

  go(url) {
    this.#url = url;
    this.#show();
  }

  close() {
    ++this.#visit;
    this.#stopWatching();
  }

  #setCameras(names) {
    const wanted = this.#url.searchParams.get('camera') ?? '';
    if (wanted && !names.includes(wanted)) names.push(wanted);
    if (
      names.join('\n') !==
      [...this.#camera.options]
        .slice(1)
        .map(({value}) => value)
        .join('\n')
    )
      this.#camera.replaceChildren(this.#camera.options[0], ...names.map((name) => el('option', {value: name}, name)));
    this.#camera.value = wanted;
  }

  #filter() {
    const query = new URLSearchParams();
    if (this.#camera.value) query.set('camera', this.#camera.value);
    for (const input of [this.#from, this.#to])
      if (input.value) query.set(input.name, new Date(input.value).toISOString());
    navigate(`/recordings${query.size ? `?${query}` : ''}`);
  }

  async #show() {
    const visit = ++this.#visit;
    const {searchParams} = this.#url;
    this.#setCameras([...this.#camera.options].slice(1).map(({value}) => value));
    for (const input of [this.#from, this.#to])
      input.value = searchParams.has(input.name) ? localValue(searchParams.get(input.name)) : '';
    const query = new URLSearchParams({limit});
    for (const name of ['camera', 'from', 'to']) if (searchParams.has(name)) query.set(name, searchParams.get(name));
    try {
      const {recordings, unreachable} = await get(`recordings?${query}`);
      if (visit === this.#visit) this.#fill(recordings, unreachable ?? {});
    } catch (error) {
      if (visit === this.#visit) setText(this.#note, error.message);
    }
  }

  #fill(recordings, unreachable) {
    const notes = Object.entries(unreachable).map(([node, reason]) => `What node ${node} has is missing: ${reason}.`);
    if (recordings.length >= limit) notes.push(`The newest ${limit}; choose a time for others.`);
    setText(this.#note, notes.join(' '));
    const newer = new Map(); // by stream
    if (recordings.length === 0) {
      this.#list.replaceChildren(el('p', {class: 'card quiet'}, 'Nothing was recorded here.'));
      return;
    }
    const body = el('tbody');
    let before = null;
    for (const recording of recordings) {
      const begin = new Date(recording.start_utc);
      if (!before || !isSameDay(before, begin))
        body.append(el('tr', {class: 'day'}, el('th', {colspan: 5, scope: 'rowgroup'}, this.#dayTitle(begin))));
      before = begin;
      const stream = `${recording.camera}/${recording.output ?? ''}`;
      const gap = newer.has(stream) ? gapBetween(recording, newer.get(stream)) : '';
      newer.set(stream, recording);
      body.append(this.#row(recording, begin, gap));
    }
    const titles = ['Begins', 'Camera', 'Length', 'Size', ''];
    this.#list.replaceChildren(
      el(
        'table',
        {},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            ...titles.map((title, i) =>
              el('th', {scope: 'col', class: [null, null, 'number-cell', 'number-cell optional', null][i]}, title),
            ),
          ),
        ),
        body,
      ),
    );
  }

  #dayTitle(date) {
    return isSameDay(date, new Date(rigNow())) ? `Today, ${dayOf(date)}` : dayOf(date);
  }

  // `gap`: to what came next.
  #row(recording, begin, gap) {
    const name = `${recording.camera}, ${timeOf(begin)}`;
    const row = el('tr', {'data-id': keyOf(recording)});
    const play = el(
      'button',
      {class: 'button', type: 'button', 'aria-label': `Play ${name}`, onclick: () => this.#play(recording, begin)},
      icon('play'),
      el('span', {class: 'wide-only'}, 'Play'),
    );
    const fetch = el(
      'a',
      {
        class: 'button',
        href: fileAddress(recording, true),
        download: true,
        'aria-label': `Download ${name}`,
        title: 'Download',
      },
      icon('download'),
    );
    row.append(
      el('td', {}, timeOf(begin)),
      el(
        'td',
        {class: 'name'},
        recording.output ? `${recording.camera} / ${recording.output}` : recording.camera,
        recording.node ? el('small', {class: 'quiet'}, ` ${recording.node}`) : null,
      ),
      el(
        'td',
        {class: 'number-cell'},
        recording.writing
          ? el('span', {class: 'with-dot'}, el('span', {class: 'dot bad'}), 'being written')
          : length(recording.duration_s),
        gap ? el('small', {class: 'quiet gap', title: 'until the next recording'}, gap) : null,
      ),
      el('td', {class: 'number-cell optional'}, bytes(recording.bytes)),
      el('td', {}, el('span', {class: 'row-actions'}, play, fetch)),
    );
    row.classList.toggle('playing', keyOf(recording) === this.#playing);
    return row;
  }

  #play(recording, begin) {
    this.#playing = keyOf(recording);
    for (const row of this.#list.querySelectorAll('tr[data-id]'))
      row.classList.toggle('playing', row.dataset.id === this.#playing);
    const problem = el('p', {class: 'error', role: 'alert'});
    const video = el('video', {
      controls: true,
      autoplay: true,
      playsinline: true,
      src: fileAddress(recording),
      onerror: () => setText(problem, 'This browser cannot play the file; download it to watch it in VLC or mpv.'),
      ondurationchange: () =>
        setText(problem, video.duration === 0 ? 'The file has no frame yet; play it again in a few seconds.' : ''),
    });
    const close = () => {
      video.removeAttribute('src');
      video.load(); // else the browser goes on fetching it
      this.#playing = '';
      this.#watching.replaceChildren();
      for (const row of this.#list.querySelectorAll('tr.playing')) row.classList.remove('playing');
    };
    this.#watching.replaceChildren(
      el(
        'section',
        {class: 'card watching'},
        el(
          'div',
          {class: 'head'},
          el('h2', {}, `${recording.camera} · ${dayOf(begin)} ${timeOf(begin)}`),
          el(
            'div',
            {class: 'actions'},
            el('button', {class: 'button', type: 'button', onclick: close}, icon('close'), 'Close'),
          ),
        ),
        video,
        problem,
      ),
    );
    this.#watching.scrollIntoView({block: 'nearest'});
    video.focus();
  }
}
