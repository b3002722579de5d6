// How often a player broke of late. What breaks again and again is not helped by beginning anew.
const allowed = 5; // within `breaksPeriod`; more: this browser cannot play it now
export const breaksPeriod = 60000; // ms

export class Breaks {
  #times = [];

  get count() {
    return this.#times.length;
  }

  // Whether to begin anew after this one, at `now`.
  add(now) {
    this.#times = [...this.#times.filter((at) => at > now - breaksPeriod), now];
    return this.#times.length <= allowed;
  }
}
