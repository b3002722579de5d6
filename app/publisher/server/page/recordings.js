// What was recorded: by camera and time (in the address, so that a link shows the same), to be played and fetched.
import {camerasOf, get, watchStatus} from './api.js';
import {el, setText} from './dom.js';
import {zoneText} from './format.js';
import {navigate} from './navigate.js';
import {RecordingPlayer} from './recording_player.js';
import {RecordingsTable, keyOf} from './recordings_table.js';

const limit = 200;
const period = 5000; // ms between two looks at what there is

export function show(main, url) {
  return new Recordings(main, url);
}

// <input type="datetime-local"> speaks local time without a zone. What is no time is none.
const localValue = (utc) => {
  const date = new Date(utc);
  const local = new Date(date - date.getTimezoneOffset() * 60000);
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 16);
};

class Recordings {
  title = 'Recordings';
  #url;
  #camera = el('select', {name: 'camera'}, el('option', {value: ''}, 'All cameras'));
  #from = el('input', {type: 'datetime-local', name: 'from'});
  #to = el('input', {type: 'datetime-local', name: 'to'});
  #table = new RecordingsTable((recording) => this.#play(recording));
  #player = new RecordingPlayer(() => this.#closed());
  #note = el('p', {class: 'quiet', role: 'status'});
  #visit = 0;
  #timer = 0;
  #stopWatching;

  constructor(main, url) {
    this.#url = url;
    main.className = 'page';
    const filters = el(
      'form',
      {
        class: 'filters',
        onsubmit: (event) => {
          event.preventDefault();
          this.#filter();
        },
        onchange: () => this.#checkTimes(),
      },
      el('label', {}, 'Camera', this.#camera),
      el('label', {}, 'From', this.#from),
      el('label', {}, 'Until', this.#to),
      el('button', {class: 'button', type: 'submit'}, 'Show'),
      el('button', {class: 'button', type: 'button', onclick: () => navigate('/recordings')}, 'All'),
      this.#note,
    );
    const head = el('div', {class: 'head'}, el('h1', {}, 'Recordings'), el('span', {class: 'quiet'}, zoneText()));
    main.append(head, this.#player.element, filters, this.#table.element);
    this.#stopWatching = watchStatus(({status}) => status && this.#setCameras(camerasOf(status).map(([name]) => name)));
    this.#show();
  }

  go(url) {
    this.#url = url;
    this.#show();
  }

  close() {
    ++this.#visit;
    clearTimeout(this.#timer);
    this.#player.stop();
    this.#stopWatching();
  }

  #play(recording) {
    this.#table.playing = keyOf(recording);
    this.#player.play(recording);
  }

  #closed() {
    this.#table.playing = '';
    this.#table.focus();
  }

  // A choice stays until its recordings are shown.
  #setCameras(names) {
    const chosen = this.#camera.value;
    const wanted = this.#url.searchParams.get('camera') ?? '';
    if (wanted && !names.includes(wanted)) names.push(wanted);
    const known = [...this.#camera.options].slice(1).map(({value}) => value);
    if (names.join('\n') === known.join('\n')) return;
    this.#camera.replaceChildren(this.#camera.options[0], ...names.map((name) => el('option', {value: name}, name)));
    this.#camera.value = names.includes(chosen) ? chosen : wanted;
  }

  #filter() {
    const query = new URLSearchParams();
    if (this.#camera.value) query.set('camera', this.#camera.value);
    for (const input of [this.#from, this.#to]) if (input.value) query.set(input.name, this.#timeOf(input));
    navigate(`/recordings${query.size ? `?${query}` : ''}`);
  }

  #checkTimes() {
    const isReversed = this.#from.value && this.#to.value && this.#from.value >= this.#to.value;
    this.#to.setCustomValidity(isReversed ? 'It must be later than From.' : '');
  }

  // As the address has it where the field still shows that: it shows no seconds, and in autumn an hour comes twice.
  #timeOf({name, value}) {
    const given = this.#url.searchParams.get(name);
    return given && localValue(given) === value ? given : new Date(value).toISOString();
  }

  #show() {
    const {searchParams} = this.#url;
    this.#setCameras([...this.#camera.options].slice(1).map(({value}) => value));
    this.#camera.value = searchParams.get('camera') ?? '';
    for (const input of [this.#from, this.#to])
      input.value = searchParams.has(input.name) ? localValue(searchParams.get(input.name)) : '';
    this.#checkTimes();
    this.#load(++this.#visit);
  }

  async #load(visit) {
    clearTimeout(this.#timer);
    const {searchParams} = this.#url;
    const query = new URLSearchParams({limit});
    for (const name of ['camera', 'from', 'to']) if (searchParams.has(name)) query.set(name, searchParams.get(name));
    try {
      if (!document.hidden) {
        const {recordings, unreachable} = await get(`recordings?${query}`);
        if (visit === this.#visit) this.#fill(recordings, unreachable ?? {});
      }
    } catch (error) {
      if (visit === this.#visit) setText(this.#note, error.message);
    }
    if (visit === this.#visit) this.#timer = setTimeout(() => this.#load(visit), period);
  }

  #fill(recordings, unreachable) {
    const notes = Object.entries(unreachable).map(([node, reason]) => `What node ${node} has is missing: ${reason}.`);
    if (recordings.length >= limit) notes.push(`The newest ${limit}; choose a time for others.`);
    setText(this.#note, notes.join(' '));
    this.#table.show(recordings);
  }
}
