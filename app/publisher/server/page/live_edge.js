// Keeps a playing <video> close behind the newest frame: how close is decided by how unevenly frames arrive, so
// that a quiet network plays at once and an uneven one does not stutter.
const shortest = 0.03; // s behind the newest frame at its arrival
const longest = 0.8;
// A browser that has run out of frames waits for several before it goes on, which takes long where they are rare:
// there one frame is held back.
const longestForOne = 0.2;
const window_ms = 5000; // how long an uneven arrival is remembered
const jumpAgain = 4000; // ms; each jump has the browser decode a whole GOP

export class LiveEdge {
  #video;
  #delays = []; // [arrived, delay]: of each frame, arrival minus its place on the line of time
  #jumped = -Infinity;
  #step = 0; // s between frames, smoothed
  goal = shortest;
  least = 0; // s: the goal is no less; the player of the sound sets it, as sound comes later than frames
  newest = 0; // where the newest frame begins
  jumps = 0;
  held = 0; // s that frames are held back, smoothed

  constructor(video) {
    this.#video = video;
  }

  // Seconds until the newest frame will be seen.
  get behind() {
    return this.newest - this.#video.currentTime;
  }

  arrived({start, broken}) {
    const now = performance.now();
    if (broken) this.#delays = [];
    else if (this.#delays.length) this.#step += (start - this.newest - this.#step) / (this.#step ? 16 : 1);
    this.newest = start;
    this.#delays.push([now, now / 1000 - start]);
    while (this.#delays[0][0] < now - window_ms) this.#delays.shift();
  }

  // After something was appended, up to `end`.
  steer(end) {
    const video = this.#video;
    if (!end || video.seeking) return;
    const now = performance.now();
    this.goal = Math.max(this.#unevenness(), this.least);
    const {behind} = this;
    this.held += (Math.max(0, behind) - this.held) / 16;
    const late = behind - this.goal;
    if (late > 1 && now - this.#jumped > jumpAgain) {
      this.#jumped = now;
      ++this.jumps;
      video.currentTime = Math.max(0, this.newest - this.goal);
      return;
    }
    const slowest = this.least > 0 && late < -0.03 ? 0.95 : 1; // without sound, frames that come late hold the video back themselves
    const rate = late > 0.3 ? 1.1 : late > 0.1 ? 1.05 : late > 0.03 ? 1.02 : slowest;
    if (video.playbackRate !== rate) video.playbackRate = rate;
  }

  #unevenness() {
    const least = Math.max(shortest, Math.min(longestForOne, this.#step));
    if (this.#delays.length < 10) return least;
    const delays = this.#delays.map(([, delay]) => delay).sort((a, b) => a - b);
    const spread = delays[Math.floor(delays.length * 0.95)] - delays[Math.floor(delays.length * 0.1)];
    return Math.min(longest, Math.max(least, spread));
  }
}
