// One camera: its frame, what the rig reports of it, ten minutes of its numbers, and what may be done.
import {administers, get, may, post, watchStatus} from './api.js';
import {factsOf, linksOf, unknownFacts} from './camera_facts.js';
import {motionOf} from './camera_motion.js';
import {confirmed} from './confirm.js';
import {el, patch, setText} from './dom.js';
import {bitrate, fps, milliseconds, zoneText} from './format.js';
import {Plot} from './plot.js';
import {pathOf} from './root.js';
import {SoundButton} from './sound_button.js';
import {Tile} from './tile.js';

const historyPeriod = 2000;
const short = (n) => (n >= 10 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(1));
const shortTime = (ms) => (ms >= 1000 ? `${short(ms / 1000)} s` : `${short(ms)} ms`);

function makePlots() {
  return [
    new Plot('Frames', [{key: 'fps', label: 'per second'}], {format: fps, scale: short}),
    new Plot(
      'Latency',
      [
        {key: 'latency_p50_ms', label: 'median'},
        {key: 'latency_p95_ms', label: '95 %'},
      ],
      {format: milliseconds, scale: shortTime},
    ),
    new Plot(
      'Where the time goes',
      [
        {key: 'transit_ms', label: 'to the rig'},
        {key: 'decode_ms', label: 'decode'},
        {key: 'queue_ms', label: 'queue'},
        {key: 'filter_ms', label: 'filter'},
        {key: 'encode_ms', label: 'encode'},
      ],
      {format: milliseconds, scale: shortTime, stacked: true},
    ),
    new Plot('Dropped frames', [{key: 'dropped', label: 'in 2 s'}], {format: short, scale: short, bars: true}),
    new Plot('Bit rate', [{key: 'bitrate', label: ''}], {
      format: bitrate,
      scale: (n) => bitrate(n).replace('bit/s', ''),
    }),
  ];
}

// Their numbers.
const workersOf = (status) =>
  (status.processes ?? []).map(({role}) => /^worker (\d+)$/.exec(role)?.[1]).filter((number) => number !== undefined);

// The worker of each part of a camera: of one, or, by stage or by tile, of several.
const workersWith = (camera) =>
  (camera.graph?.nodes ?? []).map(({process}) => /^worker (\d+)$/.exec(process)?.[1]).filter((number) => number !== undefined);

export function show(main, url) {
  return new CameraPage(main, decodeURIComponent(pathOf(url).slice('/camera/'.length)));
}

class CameraPage {
  title;
  #name;
  #tile;
  #camera = null;
  #isAsking = false; // the rig to do something
  #isAway = false; // the rig does not answer, or does not have this camera
  #facts = el('dl', {class: 'facts'});
  #links = el('ul', {class: 'links'});
  #motion = el('div', {});
  #motionCard = el('section', {class: 'card', hidden: true}, el('h2', {}, 'Motion'), this.#motion);
  #error = el('p', {class: 'error', role: 'alert'});
  #sound = new SoundButton();
  #record = el('button', {class: 'button', type: 'button', hidden: true});
  #enable = el('button', {class: 'button', type: 'button', hidden: true});
  #move = el('span', {hidden: true}); // a select for each worker that has a part of it
  #plots = makePlots();
  #body;
  #missing = el(
    'p',
    {class: 'quiet', hidden: true},
    'There is no camera of this name, or you may not see it. ',
    el('a', {href: '/'}, 'All cameras'),
  );
  #timer = 0;
  #closed = false;
  #stopWatching;
  #redraw = () => this.#plots.forEach((plot) => plot.draw());

  constructor(main, name) {
    this.#name = this.title = name;
    this.#tile = new Tile(name);
    this.#tile.element.removeAttribute('href');
    this.#tile.element.classList.add('screen');
    this.#tile.seen = this.#tile.active = true;
    this.#sound.follow(this.#tile.player);
    this.#onClick(this.#record, () => this.#switchRecording());
    this.#onClick(this.#enable, () => this.#switchCamera());
    this.#body = el(
      'div',
      {class: 'camera-page'},
      el('div', {}, this.#tile.element, el('div', {class: 'plots'}, ...this.#plots.map(({element}) => element))),
      el(
        'div',
        {class: 'side'},
        el('section', {class: 'card'}, el('h2', {}, 'Now'), this.#facts),
        this.#motionCard,
        el('section', {class: 'card'}, el('h2', {}, 'Watch it elsewhere'), this.#links),
        el('p', {class: 'quiet'}, zoneText()),
      ),
    );
    main.className = 'page';
    main.append(
      el(
        'div',
        {class: 'head'},
        el('h1', {}, name),
        this.#error,
        el(
          'div',
          {class: 'actions'},
          this.#sound.element,
          this.#move,
          this.#record,
          this.#enable,
          may('record', name)
            ? el('a', {class: 'button', href: `/recordings?camera=${encodeURIComponent(name)}`}, 'Recordings')
            : null,
          el('a', {class: 'button', href: `/?camera=${encodeURIComponent(name)}`}, 'On the wall'),
        ),
      ),
      this.#missing,
      this.#body,
    );
    this.#stopWatching = watchStatus((message) => this.#update(message));
    window.addEventListener('themechange', this.#redraw);
    this.#loadHistory();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#stopWatching();
    window.removeEventListener('themechange', this.#redraw);
    this.#plots.forEach((plot) => plot.close());
    this.#tile.close();
  }

  #update({status, rates}) {
    if (!status) return this.#forget();
    const camera = status.cameras?.[this.#name];
    if (camera && this.#isAway) setText(this.#error, ''); // which may have said that it is away
    this.#isAway = !camera;
    this.#missing.hidden = Boolean(camera);
    this.#body.hidden = !camera;
    this.#tile.active = Boolean(camera);
    this.#camera = camera ?? null;
    if (!camera) {
      this.#record.hidden = this.#enable.hidden = this.#move.hidden = true;
      return;
    }
    this.#tile.update(camera, rates[this.#name]);
    this.#sound.show();
    patch(this.#facts, ...factsOf(camera, rates[this.#name], this.#tile.player.stats));
    const motion = motionOf(camera);
    this.#motionCard.hidden = motion.length === 0;
    patch(this.#motion, ...motion);
    const links = linksOf(this.#name, camera, status);
    if (this.#links.dataset.for !== links.key) {
      this.#links.dataset.for = links.key;
      this.#links.replaceChildren(...links.items);
    }
    this.#showButtons(camera);
    this.#showWorkers(camera, status);
  }

  // A line above the page has the reason.
  #forget() {
    this.#isAway = true;
    this.#tile.forget();
    patch(this.#facts, ...unknownFacts());
    this.#motionCard.hidden = true;
  }

  // Where it may be moved to. The rig says why if that cannot be.
  #showWorkers(camera, status) {
    const workers = workersOf(status);
    const all = workersWith(camera);
    const parts = [...new Set(all)].sort((a, b) => a - b);
    const isStaged = all.length > 1;
    const isElsewhere = camera.node && camera.node !== status.cluster?.node; // whose workers are not known here
    this.#move.hidden = isElsewhere || !administers() || camera.state !== 'running' || parts.length === 0 || workers.length < 2;
    const selects = this.#selects();
    const isInUse = (select) => this.#isAsking || 'chosen' in select.dataset || document.activeElement === select;
    if (selects.some(isInUse)) return;
    const key = `${workers} ${parts} ${isStaged}`;
    if (this.#move.dataset.for !== key) {
      this.#move.dataset.for = key;
      const focused = this.#controls().indexOf(document.activeElement);
      this.#move.replaceChildren(...parts.map((part) => this.#moveOf(part, isStaged, workers)));
      this.#controls()[focused]?.focus();
    }
    this.#selects().forEach((select, n) => {
      select.value = isStaged ? parts[n] : String(camera.moves_to ?? parts[n]);
    });
  }

  #moveOf(part, isStaged, workers) {
    const select = el('select', {}, ...workers.map((worker) => el('option', {value: worker}, worker)));
    select.addEventListener('change', () => {
      select.dataset.chosen = '';
    });
    const move = el('button', {class: 'button', type: 'button'}, 'Move');
    this.#onClick(move, () => {
      const asked = {worker: Number(select.value)};
      this.#do('move', isStaged ? {...asked, from: Number(part)} : asked);
    });
    const label = el('label', {}, isStaged ? `Part on worker ${part} to ` : 'Worker ', select);
    return el('span', {class: 'move'}, label, move);
  }

  #selects() {
    return [...this.#move.querySelectorAll('select')];
  }

  #controls() {
    return [this.#record, this.#enable, ...this.#move.querySelectorAll('select, button')];
  }

  #showButtons(camera) {
    this.#record.hidden = !camera.records || camera.enabled === false || !may('record', this.#name);
    setText(this.#record, camera.recording_on ? 'Stop recording' : 'Start recording');
    this.#enable.hidden = !may('administer', this.#name);
    setText(this.#enable, camera.enabled === false ? 'Switch on' : 'Switch off');
  }

  async #switchRecording() {
    if (!this.#camera.recording_on) return this.#do('record');
    const consequence = 'What happens from then on is in no file. What was recorded stays.';
    if (await confirmed(`Stop recording ${this.#name}?`, consequence, 'Stop recording')) this.#do('stop-recording');
  }

  async #switchCamera() {
    if (this.#camera.enabled === false) return this.#do('enable');
    const consequence = 'It is no longer recorded, pushed or shown, to anybody, until it is switched on again.';
    if (await confirmed(`Switch off ${this.#name}?`, consequence, 'Switch off')) this.#do('disable');
  }

  // Nothing is asked for before what was asked last is done. The buttons are not disabled, which would take their focus.
  #onClick(button, act) {
    button.addEventListener('click', () => {
      if (!this.#isAsking) act();
    });
  }

  async #do(what, body) {
    this.#isAsking = true;
    for (const control of this.#controls()) control.setAttribute('aria-disabled', 'true');
    setText(this.#error, '');
    try {
      await post(`cameras/${encodeURIComponent(this.#name)}/${what}`, body);
    } catch (error) {
      setText(this.#error, error.message);
    } finally {
      this.#isAsking = false;
      for (const control of this.#controls()) control.removeAttribute('aria-disabled');
      for (const select of this.#selects()) delete select.dataset.chosen;
    }
  }

  async #loadHistory() {
    try {
      if (!document.hidden && !this.#body.hidden) {
        const history = await get(`cameras/${encodeURIComponent(this.#name)}/history`);
        for (const plot of this.#plots) plot.data = history;
      }
    } catch {
      // the status says more
    }
    if (!this.#closed) this.#timer = setTimeout(() => this.#loadHistory(), historyPeriod);
  }
}
