// A <video> fed with fragments through Media Source Extensions. What breaks is reported by `onBroken(reason)`; then, or at
// any time, begin() makes a fresh one.
const Source = window.ManagedMediaSource ?? window.MediaSource; // iPhones know only the first
const keptBehind = 10; // s of what was played
const trimEvery = 5; // s
const queueLimit = 600; // fragments that wait for the element; more: it does not take them any more

// "avc1" of 'video/mp4; codecs="avc1.64001f"'.
const codecOf = (mime) => /codecs="([^."]*)/.exec(mime)?.[1];

export const canPlay = (mime) => Boolean(Source?.isTypeSupported(mime));

export function joined(parts) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}

export class MediaSink {
  #video;
  #onBroken;
  #source = null;
  #buffer = null;
  #url = '';
  #queue = []; // Uint8Array, or {mime, bytes} of an init segment
  #mime = '';
  #given = ''; // the newest header's

  constructor(video, onBroken) {
    this.#video = video;
    this.#onBroken = onBroken;
    video.addEventListener('error', () => {
      if (this.#source) this.#break(video.error?.message || 'the browser cannot decode it');
    });
  }

  get open() {
    return this.#source !== null;
  }

  // Whether a header of this kind may follow those before. Where the codec changes within a source, browsers' decoders
  // stand still for seconds: a fresh one is needed.
  takes(mime) {
    return !this.#source || codecOf(mime) === codecOf(this.#given);
  }

  // An init segment: at first, and whenever the stream changes.
  header(mime, bytes) {
    this.#given = mime;
    this.#queue.push({mime, bytes});
    if (this.#source) this.#pump();
    else this.#begin();
  }

  append(bytes) {
    if (!this.#source) return;
    this.#queue.push(bytes);
    if (this.#queue.length > queueLimit) this.#break('the browser takes no more of the stream');
    else this.#pump();
  }

  // Where what can be played ends, in seconds; 0: nowhere yet.
  get end() {
    return this.newest?.end ?? 0;
  }

  // Where it can be played without a hole up to there; undefined: nowhere yet.
  get newest() {
    const ranges = this.#buffer?.buffered;
    const last = (ranges?.length ?? 0) - 1;
    return last < 0 ? undefined : {start: ranges.start(last), end: ranges.end(last)};
  }

  close() {
    this.#queue = [];
    if (!this.#source) return;
    this.#source = null;
    this.#buffer = null;
    this.#mime = '';
    this.#video.removeAttribute('src');
    this.#video.load();
    URL.revokeObjectURL(this.#url);
  }

  #begin() {
    const source = new Source();
    this.#source = source;
    this.#video.disableRemotePlayback = true; // else no ManagedMediaSource
    this.#url = URL.createObjectURL(source);
    source.addEventListener('sourceopen', () => {
      if (this.#source === source) this.#pump();
    });
    this.#video.src = this.#url;
  }

  #break(reason) {
    this.close();
    this.#onBroken(reason);
  }

  #pump() {
    if (this.#source?.readyState !== 'open' || this.#buffer?.updating || this.#queue.length === 0) return;
    try {
      if (this.#trim()) return;
      if (this.#queue[0].mime) this.#switch(this.#queue.shift());
      else this.#buffer.appendBuffer(joined(this.#takeFragments()));
    } catch (error) {
      if (error.name === 'QuotaExceededError') this.#break('the browser has no room for the stream');
      else this.#break(error.message);
    }
  }

  #takeFragments() {
    const next = this.#queue.findIndex((item) => item.mime);
    return this.#queue.splice(0, next < 0 ? this.#queue.length : next);
  }

  #switch({mime, bytes}) {
    if (!this.#buffer) {
      this.#buffer = this.#source.addSourceBuffer(mime);
      const buffer = this.#buffer;
      buffer.addEventListener('updateend', () => {
        if (this.#buffer === buffer) this.#pump();
      });
    } else if (mime !== this.#mime) {
      this.#buffer.changeType(mime);
    }
    this.#mime = mime;
    this.#buffer.appendBuffer(bytes);
  }

  // True: it is at it, and the rest must wait.
  #trim() {
    const ranges = this.#buffer?.buffered;
    if (!ranges?.length) return false;
    const until = this.#video.currentTime - keptBehind;
    if (ranges.start(0) > until - trimEvery) return false;
    this.#buffer.remove(0, until);
    return true;
  }
}
