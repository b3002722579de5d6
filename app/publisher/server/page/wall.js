// The wall: all cameras in a grid, or one of them enlarged (/?camera=NAME).
import {camerasOf, watchStatus} from './api.js';
import {urgencyOf} from './conditions.js';
import {el, icon, setText} from './dom.js';
import {byUrgency, layOut} from './layout.js';
import {letterKeysOn} from './letter_keys.js';
import {isKiosk, navigate} from './navigate.js';
import {addressOf} from './root.js';
import {SoundButton} from './sound_button.js';
import {Tile} from './tile.js';

const gap = 6;
const digitsWait = 700; // ms for a second digit

export function show(main, url) {
  return new Wall(main, url);
}

class Wall {
  #heading = el('h1', {class: 'unseen'});
  #grid = el('div', {class: 'grid', role: 'group', 'aria-label': 'Cameras'});
  #empty = el('div', {class: 'empty', hidden: true});
  #missing = el('p', {class: 'trouble', role: 'status', hidden: true});
  #details = el('a', {class: 'button'}, 'Details');
  #sound = new SoundButton();
  #stage = el(
    'div',
    {class: 'stage', hidden: true},
    this.#sound.element,
    this.#details,
    el('a', {class: 'button', href: '/', 'aria-label': 'Back to all cameras', title: 'Back (Esc)'}, icon('close')),
  );
  #tiles = new Map();
  #cameras = {};
  #rates = {};
  #shown = []; // names, as they stand on the screen
  #asked; // the camera in the address, or null
  #digits = '';
  #digitsTimer = 0;
  #cleanUps = [];

  constructor(main, url) {
    main.className = 'wall';
    main.append(this.#heading, this.#missing, this.#grid, this.#stage, this.#empty);
    this.#read(url);
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const tile = this.#tiles.get(entry.target.dataset.camera);
        if (tile) tile.seen = entry.isIntersecting;
      }
    });
    this.observer = seen;
    const resized = new ResizeObserver(() => this.#layOut());
    resized.observe(main);
    const keys = (event) => this.#key(event);
    document.addEventListener('keydown', keys);
    this.#cleanUps = [
      () => seen.disconnect(),
      () => resized.disconnect(),
      () => document.removeEventListener('keydown', keys),
      watchStatus((message) => this.#update(message)),
    ];
  }

  // The same page with another camera enlarged: nothing is played anew.
  go(url) {
    const before = this.#enlarged;
    this.#read(url);
    this.#layOut();
    this.#tiles.get(this.#enlarged ?? before)?.element.focus();
  }

  #read(url) {
    this.#asked = url.searchParams.get('camera') || null;
    setText(this.#heading, this.title);
  }

  get title() {
    return this.#asked ?? 'Wall';
  }

  // Null: all are shown, also where the camera in the address is none, or none any more.
  get #enlarged() {
    return this.#tiles.has(this.#asked) ? this.#asked : null;
  }

  close() {
    clearTimeout(this.#digitsTimer);
    for (const cleanUp of this.#cleanUps) cleanUp();
    for (const tile of this.#tiles.values()) tile.close();
  }

  #update({status, rates}) {
    if (!status) {
      for (const tile of this.#tiles.values()) tile.forget(); // a line above the page has the reason
      return;
    }
    this.#cameras = status.cameras ?? {};
    this.#rates = rates;
    const names = camerasOf(status).map(([name]) => name);
    if (names.join('\n') !== [...this.#tiles.keys()].join('\n')) this.#setTiles(names);
    for (const [name, tile] of this.#tiles) tile.update(this.#cameras[name], rates[name]);
    this.#sound.show();
    this.#showEmpty(names.length === 0);
    this.#order();
    this.#chooseOutputs();
  }

  // What fails comes first where not all fit, but nothing moves while the keyboard is used among them. Elements that are
  // moved in the document would begin to play anew; `order` leaves them where they are.
  #order() {
    const names = [...this.#tiles.keys()];
    const isComplete = this.#shown.length === names.length && this.#shown.every((name) => this.#tiles.has(name));
    if (isComplete && (this.#enlarged || this.#grid.querySelector(':focus-visible'))) return;
    const urgency = (name) => urgencyOf(this.#cameras[name], this.#rates[name]);
    this.#shown = this.#grid.classList.contains('scrolls') ? byUrgency(names, urgency) : names;
    this.#shown.forEach((name, place) => {
      const {style} = this.#tiles.get(name).element;
      if (style.order !== String(place)) style.order = place;
    });
  }

  #setTiles(names) {
    const focused = document.activeElement?.closest?.('.tile')?.dataset.camera;
    const placeBefore = [...this.#tiles.keys()].indexOf(focused);
    for (const [name, tile] of this.#tiles) {
      if (names.includes(name)) continue;
      this.observer.unobserve(tile.element);
      tile.close();
    }
    const before = this.#tiles;
    this.#tiles = new Map(names.map((name) => [name, before.get(name) ?? new Tile(name)]));
    // Moving an element takes its focus and restarts its video, so a tile already in its place is not moved.
    let place = this.#grid.firstElementChild;
    names.forEach((name, i) => {
      const tile = this.#tiles.get(name);
      tile.number = i + 1;
      if (tile.element === place) place = place.nextElementSibling;
      else this.#grid.insertBefore(tile.element, place);
      if (!before.has(name)) this.observer.observe(tile.element);
    });
    this.#layOut();
    if (placeBefore >= 0 && !this.#tiles.has(focused)) this.#focusNear(placeBefore);
  }

  // The camera that was focused is gone.
  #focusNear(place) {
    const elements = [...this.#tiles.values()].map(({element}) => element);
    if (elements.length === 0) this.#heading.setAttribute('tabindex', '-1');
    (elements[Math.min(place, elements.length - 1)] ?? this.#heading).focus();
  }

  #showEmpty(empty) {
    if (this.#empty.hidden === !empty) return;
    this.#empty.hidden = !empty;
    if (!empty) return;
    this.#empty.replaceChildren(
      el('h2', {}, 'No cameras yet'),
      el('p', {}, 'Add one to the rig’s file, and reload it with ', el('code', {}, 'campipe reload'), ':'),
      el('pre', {}, 'cameras:\n  dock:\n    source: rtsp://10.0.0.11/stream1'),
    );
  }

  #layOut() {
    const enlarged = this.#enlarged;
    const one = enlarged !== null;
    this.#stage.hidden = !one;
    this.#missing.hidden = one || this.#asked === null || this.#tiles.size === 0;
    setText(this.#missing, this.#missing.hidden ? '' : `There is no camera ${this.#asked}.`);
    this.#sound.follow(this.#tiles.get(enlarged)?.player ?? null);
    if (one) this.#details.href = addressOf(`/camera/${encodeURIComponent(enlarged)}`);
    this.#grid.classList.toggle('single', one);
    const box = this.#grid.parentElement.getBoundingClientRect();
    const {columns, tileWidth, tileHeight, scrolls} = one
      ? layOut(1, box.width, box.height, box.width / box.height, 0)
      : layOut(Math.max(1, this.#tiles.size), box.width - 2 * gap, box.height - 2 * gap, this.#aspect(), gap);
    this.#grid.classList.toggle('scrolls', scrolls);
    this.#grid.style.gridTemplateColumns = `repeat(${columns}, ${tileWidth}px)`;
    this.#grid.style.gridAutoRows = `${tileHeight}px`;
    this.columns = columns;
    this.tileWidth = tileWidth;
    for (const [name, tile] of this.#tiles) {
      const shown = !one || name === enlarged;
      tile.element.classList.toggle('enlarged', one && shown);
      tile.element.hidden = !shown;
      tile.active = shown;
    }
    this.#chooseOutputs();
  }

  // The shape that most cameras have.
  #aspect() {
    const shapes = Object.values(this.#cameras)
      .filter(({width, height}) => width > 0 && height > 0)
      .map(({width, height}) => width / height)
      .sort((a, b) => a - b);
    return shapes.length ? shapes[Math.floor(shapes.length / 2)] : 16 / 9;
  }

  // Of a camera with several outputs: the smallest that is as large as its place, if a browser can play it.
  #chooseOutputs() {
    const needed = this.tileWidth * Math.min(2, window.devicePixelRatio);
    for (const [name, tile] of this.#tiles) {
      const fits = Object.entries(this.#cameras[name]?.outputs ?? {})
        .filter(([, {width, codec}]) => width >= needed * 0.8 && codec === 'h264')
        .sort(([, a], [, b]) => a.width - b.width);
      const smaller = fits.length && fits[0][1].width < this.#cameras[name].width ? fits[0][0] : '';
      if (!tile.element.hidden) tile.player.setOutput(smaller);
    }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const names = this.#shown;
    const focused = document.activeElement?.closest?.('.tile')?.dataset.camera;
    const at = names.indexOf(this.#enlarged ?? focused);
    const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns};
    if (event.key in steps) this.#move(names, at, steps[event.key]);
    else if (event.key === ' ' && focused) this.#enlarge(this.#enlarged ? null : focused);
    else if (event.key === 'Enter' && focused && this.#enlarged) this.#enlarge(null);
    else if (event.key === 'Escape' && this.#asked) this.#enlarge(null);
    else if (event.key === 'd' && at >= 0 && letterKeysOn() && !isKiosk())
      navigate(`/camera/${encodeURIComponent(names[at])}`);
    else if (/^\d$/.test(event.key) && letterKeysOn()) this.#digit([...this.#tiles.keys()], event.key);
    else return;
    event.preventDefault();
  }

  #move(names, at, step) {
    if (names.length === 0) return;
    if (this.#enlarged) {
      const next = (at + Math.sign(step) + names.length) % names.length;
      navigate(`/?camera=${encodeURIComponent(names[next])}`, {replace: true});
      return;
    }
    const next = at < 0 ? 0 : at + step;
    if (next >= 0 && next < names.length) this.#tiles.get(names[next]).element.focus();
  }

  #enlarge(name) {
    navigate(name ? `/?camera=${encodeURIComponent(name)}` : '/');
  }

  #digit(names, digit) {
    clearTimeout(this.#digitsTimer);
    this.#digits += digit;
    const chosen = () => {
      const name = names[Number(this.#digits) - 1];
      this.#digits = '';
      if (name) this.#enlarge(name);
    };
    if (Number(this.#digits) * 10 > names.length) chosen();
    else this.#digitsTimer = setTimeout(chosen, digitsWait);
  }
}
