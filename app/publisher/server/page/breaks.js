// Counts a player's errors of the last minute. A player with too many of them is not restarted.
const allowed = 5; // within `breaksPeriod`; more: this browser cannot play it now
export const breaksPeriod = 60000; // ms

export class Breaks {
  #times = [];

  get count() {
    return this.#times.length;
  }

  // Records an error at `now` (ms). True: the player may be restarted.
  add(now) {
    this.#times = [...this.#times.filter((at) => at > now - breaksPeriod), now];
    return this.#times.length <= allowed;
  }
}
