// The sound of one camera, beside its video: an element and a connection of its own. So the video, which is put on a line
// of time without holes (timeline.js), never waits for sound that is late, has gaps or stops; the sound follows it.
import {Breaks} from './breaks.js';
import {LiveSocket} from './live_socket.js';
import {MediaSink, canPlay} from './media_sink.js';

const followEvery = 250; // ms
const farOff = 0.3; // s: it jumps; what is nearer is caught up with by and by
const nearby = 0.05; // s
const caughtUp = 0.01; // s
const margin = 0.1; // s that are kept before what has come: else it stops to wait
const longestHold = 0.6; // s that frames are held back for it

export class SoundPlayer {
  audio = new Audio();
  trouble = ''; // why it is not heard
  #video;
  #hold = 0;
  #isOff = false;
  #socket;
  #sink;
  #mime = ''; // of the header that comes next; empty: it has come
  #breaks = new Breaks();
  #timer;

  // `video`: {times(), hold(s)}. times: {shown, newest}, the stream's times of the frame that is seen and of the newest
  // one, in seconds; undefined: there is none. hold: by how much frames are to be held back at least.
  constructor(camera, video) {
    this.#video = video;
    this.#sink = new MediaSink(this.audio, (reason) => this.#broke(reason));
    this.#socket = new LiveSocket(camera, {sound: true}, {
      up: () => this.#sink.close(),
      down: () => {},
      text: (message) => this.#text(message),
      bytes: (bytes) => this.#bytes(bytes),
    });
    this.#socket.open();
    this.#timer = setInterval(() => this.#follow(), followEvery);
  }

  close() {
    clearInterval(this.#timer);
    this.#socket.close();
    this.#sink.close();
    this.#video.hold(0);
  }

  #text(message) {
    if (message.type === 'unplayable') this.trouble = message.reason;
    if (message.type !== 'init') return;
    const isPlayable = canPlay(message.mime);
    this.trouble = isPlayable ? '' : `this browser does not play ${message.mime}`;
    this.#mime = isPlayable ? message.mime : '';
    if (!isPlayable) this.#sink.close();
  }

  #broke(reason) {
    if (this.#breaks.add(performance.now())) return this.#socket.restart();
    this.trouble = reason;
    this.#socket.close(); // until it is asked for again
  }

  #bytes(bytes) {
    if (this.#mime) {
      if (!this.#sink.takes(this.#mime)) this.#sink.close();
      this.#sink.header(this.#mime, bytes);
      this.#mime = '';
    } else {
      this.#sink.append(bytes);
    }
  }

  // Only where there is sound: an element that is put into a hole stays there.
  #follow() {
    const times = this.#video.times();
    const heard = this.#sink.newest;
    if (!times || !heard) return this.#video.hold(0);
    this.#holdFrames(times.newest - (heard.end - margin));
    const goal = Math.min(times.shown, heard.end - margin);
    if (goal < heard.start) return;
    const late = goal - this.audio.currentTime;
    if (Math.abs(late) > farOff) this.audio.currentTime = goal;
    this.#isOff = Math.abs(late) > (this.#isOff ? caughtUp : nearby);
    const rate = !this.#isOff ? 1 : late > 0 ? 1.03 : 0.97;
    if (this.audio.playbackRate !== rate) this.audio.playbackRate = rate;
    if (this.audio.paused) this.audio.play().catch(() => {}); // tried again; who listens has clicked
  }

  // Holds frames back for as long as the sound was late in the last seconds, and not at all once it has stopped.
  #holdFrames(late) {
    this.#hold = late > longestHold ? 0 : Math.max(late, 0.98 * this.#hold);
    this.#video.hold(this.#hold);
  }
}
