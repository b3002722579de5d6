// Puts the fragments of a live stream one behind the other on a single line of time that never goes back and has no
// holes, whatever happens to the stream's own times: a new encoder, a loss, a pause, a camera that skips frames.
//
// Why: Media Source Extensions throw away everything until the next key frame where a frame comes more than two of
// the last frame's durations later, and an element waits for ever in front of a hole.
import {fragmentOf, timescaleOf} from './mp4.js';

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const hurried = 0.002; // s

export class Timeline {
  #timescale = 1;
  #last = null; // {time: of the stream, in ticks; place: on the line, in seconds}
  #usual = 0.04; // s between frames, smoothed
  #longest = 0; // of late; decays

  // A new init segment. False: it is not one.
  begin(bytes) {
    const timescale = timescaleOf(viewOf(bytes));
    if (!timescale) return false;
    this.#timescale = timescale;
    if (this.#last) this.#last.time = null;
    return true;
  }

  // The line begins at 0 again, for a new MediaSource.
  restart() {
    this.#last = null;
  }

  // Writes the fragment's place into it. Returns {start, broken, time}, times in seconds; undefined: it is no fragment.
  // `time`: that the fragment had in the stream. `broken`: it does not follow the one before at the stream's own pace.
  // `waited`: for this fragment, in seconds; what comes faster than its pace is put close together, so that a GOP from
  // before is behind a viewer at once.
  place(bytes, waited = Infinity) {
    const fragment = fragmentOf(viewOf(bytes));
    if (!fragment) return undefined;
    const {step, broken} = this.#step(fragment.time, waited);
    const start = this.#last ? this.#last.place + step : 0;
    // Room for one frame to be late, or to be missing.
    const duration = Math.max(fragment.duration / this.#timescale, this.#usual, this.#longest);
    this.#last = {time: fragment.time, place: start, limit: 2 * duration};
    fragment.setTime(Math.round(start * this.#timescale));
    fragment.setDuration(Math.round(duration * this.#timescale));
    return {start, broken, time: fragment.time / this.#timescale};
  }

  #step(time, waited) {
    if (!this.#last || this.#last.time === null) return {step: this.#usual, broken: true};
    const step = (time - this.#last.time) / this.#timescale;
    if (!(step > 0) || step > 10) return {step: this.#usual, broken: true};
    this.#usual += (step - this.#usual) / 16;
    this.#longest = Math.max(step, this.#longest * 0.98);
    if (waited < step / 2) return {step: hurried, broken: true};
    const allowed = this.#last.limit * 0.95;
    return {step: Math.min(step, allowed), broken: step > allowed};
  }
}
