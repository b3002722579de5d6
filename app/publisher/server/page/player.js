// Live video of one camera. `element` is to be put into a page; `onchange` is called when `condition` may have changed.
// It connects when it is first made active, rests while it is inactive or the page is hidden, and mends itself.
import {rigAnswers} from './api.js';
import {Breaks, breaksPeriod} from './breaks.js';
import {el} from './dom.js';
import {LiveEdge} from './live_edge.js';
import {LiveSocket} from './live_socket.js';
import {MediaSink, canPlay} from './media_sink.js';
import {SoundPlayer} from './sound_player.js';
import {Timeline} from './timeline.js';

const stillAfter = 3000; // ms without a new frame: it is shown
const frozenAfter = 8000; // ms without one although they arrive: the browser's decoder hangs. Longer after each time,
// since a browser that has too much to do is not helped by more of it
const silentAfter = 8000; // ms without any although the camera runs: the connection may be dead
const fastFor = 2000; // ms after a beginning

export class Player {
  element;
  video;
  onchange = () => {};
  dropped = 0; // frames that the server left out for this viewer
  firstPictureMs = null; // from the first opening on
  hasSound = false; // the camera's stream
  reported = ''; // the camera's state by the rig's status; empty: not known
  #camera;
  #output;
  #instead = ''; // the output to watch where this browser does not play the camera's own stream
  #socket = null;
  #sink;
  #timeline = new Timeline();
  #edge;
  #still;
  #wanted = false;
  #resting = true;
  #rig = {state: 'starting', reason: '', since_utc: null}; // what the stream says of the camera
  #lost = null; // {since_utc, retryAt, isBlocked, reason}
  #unplayable = '';
  #blocked = false;
  #header = null; // {mime, bytes}; bytes are null until they come
  #breaks = new Breaks();
  #givenUpAt = 0; // after too many of them; 0: it is not
  #openedAt = 0;
  #lastArrived = 0;
  #lastShown = 0;
  #comesFast = 0; // until when what was before comes faster than its pace
  #shown = []; // when frames were shown, of the last two seconds
  #watchdog = 0;
  #newest = null; // where the newest fragment plays, and the stream's time of that: {start, time}
  #sound = null; // while it is listened to
  #wantsSound = false;
  #visibility = () => this.#rest();

  constructor(camera, output = '') {
    this.#camera = camera;
    this.#output = output;
    // Nobody presses play on a wall: without sound every browser begins by itself.
    this.video = el('video', {playsinline: true, muted: true, 'aria-hidden': 'true', tabindex: '-1'});
    this.video.muted = true;
    this.#still = el('canvas', {class: 'still', 'aria-hidden': 'true', hidden: true});
    this.element = el('div', {class: 'player'}, this.video, this.#still);
    this.#sink = new MediaSink(this.video, (reason) => this.#broke(reason));
    this.#edge = new LiveEdge(this.video);
    document.addEventListener('visibilitychange', this.#visibility);
    this.#nextPicture();
  }

  get output() {
    return this.#output;
  }

  // What is to be shown: {phase, state, reason, since_utc, retryAt}. phase: live, connecting, away (the camera), lost
  // (the rig), stalled, unplayable.
  get condition() {
    const {state, reason, since_utc} = this.#rig;
    if (this.#lost) return {phase: 'lost', ...this.#lost};
    if (state !== 'running' && state !== 'starting') return {phase: 'away', state, reason, since_utc};
    if (this.#unplayable) return {phase: 'unplayable', reason: this.#unplayable};
    if (this.#blocked) return {phase: 'unplayable', reason: 'this browser wants a click on the page before it plays'};
    if (!this.#lastShown) return {phase: 'connecting', state, reason, since_utc};
    const silence = performance.now() - Math.max(this.#lastShown, this.#openedAt);
    if (!this.#resting && silence > stillAfter) return {phase: 'stalled', reason: '', silence};
    return {phase: 'live', state, reason, since_utc};
  }

  // Of the last two seconds.
  get stats() {
    const span = this.#shown.length > 1 ? this.#shown.at(-1) - this.#shown[0] : 0;
    return {
      fps: span ? ((this.#shown.length - 1) * 1000) / span : 0,
      behindMs: this.#edge.held * 1000,
      goalMs: this.#edge.goal * 1000,
      jumps: this.#edge.jumps,
      dropped: this.dropped,
      rate: this.video.playbackRate,
      firstPictureMs: this.firstPictureMs,
    };
  }

  setActive(wanted) {
    this.#wanted = wanted;
    this.#rest();
  }

  // Another output of the camera; the last frame stays until the first one of the new.
  setOutput(output) {
    if (output === this.#output) return;
    this.#output = output;
    if (this.#socket) this.#openAnother();
  }

  get hasSoundOn() {
    return this.#wantsSound;
  }

  // The sound is the camera's own, whatever output is seen.
  setSound(on) {
    this.#wantsSound = on;
    this.#listen();
  }

  // Why the sound that is asked for is not heard; empty: it is, or will be.
  get soundTrouble() {
    return this.#sound?.trouble ?? '';
  }

  #listen() {
    const listens = this.#wantsSound && !this.#resting;
    if (listens === Boolean(this.#sound)) return;
    this.#sound?.close();
    const video = {times: () => this.#streamTimes, hold: (s) => (this.#edge.least = s)};
    this.#sound = listens ? new SoundPlayer(this.#camera, video) : null;
  }

  // As SoundPlayer has them.
  get #streamTimes() {
    if (!this.#newest) return undefined;
    const {start, time} = this.#newest;
    return {shown: time - (start - this.video.currentTime), newest: time};
  }

  close() {
    this.#sound?.close();
    this.#sound = null;
    document.removeEventListener('visibilitychange', this.#visibility);
    clearInterval(this.#watchdog);
    this.#socket?.close();
    this.#socket = null;
    this.#sink.close();
  }

  #rest() {
    const resting = !this.#wanted || document.hidden;
    if (resting === this.#resting) return;
    this.#resting = resting;
    this.#listen();
    if (resting) {
      clearInterval(this.#watchdog);
      this.#socket?.send({type: 'pause'});
      this.video.pause();
      return;
    }
    this.#openedAt = this.#lastArrived = performance.now();
    this.#watchdog = setInterval(() => this.#watch(), 1000);
    if (!this.#socket) this.#open();
    else this.#resume();
  }

  #resume() {
    this.#comesFast = performance.now() + fastFor;
    this.#socket.send({type: 'resume'});
  }

  #open() {
    this.#openedAt = this.#lastArrived = performance.now();
    this.#unplayable = '';
    this.#givenUpAt = 0;
    this.#restartTimeline();
    this.#socket = new LiveSocket(this.#camera, {output: this.#output || this.#instead}, {
      up: () => this.#connected(),
      down: ({retryAt, isBlocked, reason}) => {
        const since_utc = this.#lost?.since_utc ?? new Date().toISOString();
        this.#lost = {since_utc, retryAt, isBlocked: isBlocked && rigAnswers(), reason};
        this.onchange();
      },
      text: (message) => this.#text(message),
      bytes: (bytes) => this.#bytes(bytes),
    });
    this.#socket.open();
  }

  #connected() {
    this.#lost = null;
    this.#header = null;
    this.#comesFast = performance.now() + fastFor;
    if (this.#resting) this.#socket.send({type: 'pause'});
    this.onchange();
  }

  #text(message) {
    if (message.type === 'init') {
      const playable = canPlay(message.mime);
      if (!playable && message.instead) return this.#watchInstead(message.instead);
      this.#unplayable = playable ? '' : `this browser does not play ${message.mime}`;
      this.#header = {mime: message.mime, bytes: null};
    } else if (message.type === 'state') {
      this.#rig = message;
    } else if (message.type === 'sound') {
      this.hasSound = true;
    } else if (message.type === 'dropped') {
      this.dropped += message.pieces;
      this.#comesFast = performance.now() + fastFor;
    } else if (message.type === 'unplayable') {
      if (message.instead) return this.#watchInstead(message.instead);
      this.#unplayable = message.reason;
    }
    this.onchange();
  }

  #watchInstead(output) {
    this.#instead = output;
    this.#openAnother();
  }

  // Another stream, whose times are its own.
  #openAnother() {
    this.#freeze();
    this.#socket.close();
    this.#sink.close();
    this.#open();
  }

  #bytes(bytes) {
    const now = performance.now();
    const waited = now < this.#comesFast ? (now - this.#lastArrived) / 1000 : Infinity;
    this.#lastArrived = now;
    if (this.#unplayable || !this.#header) return;
    if (!this.#header.bytes) {
      this.#header.bytes = bytes;
      if (!this.#sink.takes(this.#header.mime)) {
        this.#freeze();
        this.#sink.close();
        this.#restartTimeline();
      }
      if (this.#timeline.begin(bytes)) this.#sink.header(this.#header.mime, bytes);
      else this.#broke('the server sent something that is no video');
      return;
    }
    if (!this.#sink.open) return; // it broke; the socket is being opened anew
    const place = this.#timeline.place(bytes, waited);
    if (!place) return this.#broke('the server sent something that is no video');
    this.#newest = place;
    this.#edge.arrived(place);
    this.#sink.append(bytes);
    if (this.#resting) return;
    this.#edge.steer(this.#sink.end);
    if (this.video.paused) this.#play();
  }

  // Tried again with each frame until it plays.
  async #play() {
    try {
      await this.video.play();
      this.#blocked = false;
    } catch (error) {
      this.#blocked = error.name === 'NotAllowedError'; // others: nothing to play yet, or a newer attempt
    }
  }

  // The last frame stays while a new MediaSource is filled; the stream begins with a key frame again.
  #broke(reason) {
    const now = performance.now();
    if (!this.#breaks.add(now)) {
      this.#unplayable = reason;
      this.#givenUpAt = now;
      this.onchange();
      return;
    }
    console.warn(`${this.#camera}: ${reason}; playing it anew`);
    this.#freeze();
    this.#sink.close();
    this.#restartTimeline();
    this.#socket?.restart();
  }

  #restartTimeline() {
    this.#timeline.restart();
    this.#newest = null;
  }

  #freeze() {
    const {videoWidth, videoHeight} = this.video;
    if (!videoWidth) return;
    this.#still.width = videoWidth;
    this.#still.height = videoHeight;
    this.#still.getContext('2d').drawImage(this.video, 0, 0);
    this.#still.hidden = false;
  }

  #nextPicture() {
    this.video.requestVideoFrameCallback((now) => {
      const first = !this.#lastShown;
      this.#lastShown = performance.now();
      this.firstPictureMs ??= this.#lastShown - this.#openedAt;
      this.#shown.push(now);
      while (this.#shown[0] < now - 2000) this.#shown.shift();
      this.#still.hidden = true;
      if (first) this.onchange();
      this.#nextPicture();
    });
  }

  #watch() {
    const now = performance.now();
    // What was wrong may have passed, and nobody is at a wall to begin anew.
    if (this.#givenUpAt && now - this.#givenUpAt > breaksPeriod) this.#openAnother();
    // A connection that died in silence while the camera was away does not say that it is back.
    const isRunning = this.#rig.state === 'running' || this.reported === 'running';
    if (!isRunning || this.#lost || this.#unplayable) this.#lastArrived = now;
    else if (now - this.#lastArrived > silentAfter) this.#reconnect(now);
    else if (
      this.#arrives(now) &&
      now - Math.max(this.#lastShown, this.#openedAt) > frozenAfter * 2 ** this.#breaks.count
    )
      this.#unfreeze(now);
    this.onchange();
  }

  #arrives(now) {
    return this.#header?.bytes && now - this.#lastArrived < 500;
  }

  #reconnect(now) {
    this.#lastArrived = now;
    this.#socket.revive();
  }

  #unfreeze(now) {
    this.#openedAt = now;
    this.#broke('the video stood still');
  }
}
