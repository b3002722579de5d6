// One camera on the wall: its frame, its name and numbers, what is wrong with it, and where there is no frame, why.
import {dropCausesOf, dropsOf} from './api.js';
import {describe, lookOf, wordOf} from './conditions.js';
import {el, icon, setText} from './dom.js';
import {count, fps, milliseconds} from './format.js';
import {Player} from './player.js';
import {measured, troublesOf, withoutAddresses} from './troubles.js';

export class Tile {
  element;
  player;
  name;
  #dot = el('span', {class: 'dot'});
  #recording = el('span', {class: 'recording', hidden: true, title: 'Being recorded'}, 'REC');
  #fps = el('span', {class: 'fps'});
  #latency = el('span', {class: 'latency'});
  #drops = el('span', {class: 'drops'});
  #node = el('span', {class: 'node'}); // of a cluster
  #unreachable = null; // the camera, whose node is
  #frames; // its counters
  #title = el('strong');
  #text = el('span', {class: 'text'});
  #when = el('span', {class: 'when'});
  #panel = el('span', {class: 'panel', hidden: true}, icon('camera-off'), this.#title, this.#text, this.#when);
  #word = el('span', {class: 'unseen'}); // where the frame speaks for itself
  #number = el('span', {class: 'number', 'aria-hidden': 'true'});
  #troubles = [];
  #why = el('span', {class: 'why', hidden: true});
  #active = false;
  #seen = false; // on the screen

  constructor(name) {
    this.name = name;
    this.player = new Player(name);
    this.player.onchange = () => this.#showCondition();
    // Its name for screen readers is all that it says, so the camera's own stands first.
    this.element = el(
      'a',
      {class: 'tile', href: `/?camera=${encodeURIComponent(name)}`, 'data-camera': name},
      this.player.element,
      el(
        'span',
        {class: 'caption'},
        el(
          'span',
          {class: 'line'},
          this.#dot,
          el('span', {class: 'name', title: name}, name),
          this.#node,
          el('span', {class: 'numbers', 'aria-hidden': 'true'}, this.#fps, this.#latency, this.#drops),
        ),
        this.#word,
        this.#why,
      ),
      this.#panel,
      this.#recording,
      this.#number,
    );
    this.#showCondition();
  }

  // The key that enlarges it.
  set number(number) {
    setText(this.#number, String(number));
  }

  set seen(seen) {
    this.#seen = seen;
    this.player.setActive(this.#active && this.#seen);
  }

  set active(active) {
    this.#active = active;
    this.player.setActive(this.#active && this.#seen);
  }

  // `camera` of the rig's status, `rate` of its counters (may be missing at first).
  update(camera, rate) {
    const running = camera.state === 'running';
    setText(this.#node, camera.node ?? '');
    this.#frames = camera.frames;
    this.#unreachable = camera.state === 'unreachable' ? camera : null;
    this.player.reported = camera.state;
    setText(this.#fps, running && rate ? fps(rate.fps) : '');
    this.#showLatency(running ? measured(camera.latency_ms?.p50) : undefined, camera.stages_ms?.transit?.p50);
    this.#troubles = troublesOf(camera, rate, this.player.stats.behindMs);
    const drops = dropsOf(camera) + this.player.dropped;
    setText(this.#drops, drops ? `${count(drops)} dropped` : '');
    this.#drops.title = this.#dropCauses(camera);
    this.#recording.hidden = !camera.recording_on || !(running || camera.recording_paused);
    setText(this.#recording, camera.recording_paused ? 'REC paused' : 'REC');
    this.#recording.classList.toggle('paused', Boolean(camera.recording_paused));
    this.#showCondition();
  }

  // The rig does not answer: what it reported last is no longer known to be true.
  forget() {
    for (const number of [this.#fps, this.#latency, this.#drops]) setText(number, '');
    this.#recording.hidden = true;
    this.player.reported = '';
    this.#troubles = [];
    this.#showCondition();
  }

  close() {
    this.player.close();
    this.element.remove();
  }

  // From capture to the encoder by the rig's measurement, or from the arrival where the camera does not send its time;
  // and what this browser holds back.
  #showLatency(rigMs, transitMs) {
    const {behindMs, firstPictureMs} = this.player.stats;
    const known = Number.isFinite(rigMs) && firstPictureMs !== null;
    setText(this.#latency, known ? milliseconds(rigMs + behindMs) : '');
    const begin = Number.isFinite(transitMs) ? 'since capture' : 'in the rig';
    this.#latency.title = known ? `${milliseconds(rigMs)} ${begin} + ${milliseconds(behindMs)} in this browser` : '';
  }

  #dropCauses(camera) {
    const causes = dropCausesOf(camera).map(([cause, n]) => `${cause}: ${n}`);
    if (this.player.dropped) causes.push(`this viewer was too slow: ${this.player.dropped}`);
    return causes.join('\n');
  }

  // What is played is there, whatever the status says; what is not is explained by the node's being gone.
  #condition() {
    const {condition} = this.player;
    if (!this.#unreachable || condition.phase === 'live') return {...condition, frames: this.#frames};
    const {state, reason, since_utc} = this.#unreachable;
    return {phase: 'away', state, reason, since_utc};
  }

  #showCondition() {
    const condition = this.#condition();
    const {look, title, text, when = ''} = describe(condition);
    const hasTrouble = !title && this.#troubles.length > 0;
    const ownLook = condition.phase === 'away' ? lookOf(condition.state) : look;
    this.#dot.className = `dot ${hasTrouble ? 'warn' : ownLook}`;
    this.#panel.hidden = !title;
    this.#panel.className = `panel ${look}`;
    setText(this.#title, title);
    setText(this.#text, text);
    setText(this.#when, when);
    this.#why.hidden = !hasTrouble;
    const words = this.#troubles.map((trouble) => `${trouble.title}: ${withoutAddresses(trouble.text)}`).join(' · ');
    setText(this.#why, hasTrouble ? words : '');
    this.#why.title = hasTrouble ? this.#troubles.map((trouble) => `${trouble.title}: ${trouble.text}`).join('\n') : '';
    setText(this.#word, title ? '' : hasTrouble ? 'Live, with trouble' : wordOf('running'));
    this.element.classList.toggle('amber', hasTrouble);
    this.element.classList.toggle('dimmed', Boolean(title));
  }
}
