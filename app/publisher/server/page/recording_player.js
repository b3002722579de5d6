// Plays one recording, above the table of all of them.
import {el, icon} from './dom.js';
import {dayOf, timeOf} from './format.js';
import {fileAddress} from './recordings_table.js';
import {addressOf} from './root.js';

// Why the browser does not play a file: what it reports is the same for one that is gone.
async function reasonOf(address) {
  try {
    const answer = await fetch(addressOf(address), {headers: {Range: 'bytes=0-0'}, cache: 'no-store'});
    await answer.body?.cancel();
    if (answer.status === 404 || answer.status === 410)
      return {text: 'This file is gone: it was deleted meanwhile.', isGone: true};
    if (!answer.ok) return {text: `The file cannot be fetched: the answer was ${answer.status}.`};
    return {text: 'This browser cannot play the file; download it to watch it in VLC or mpv.', mayFetch: true};
  } catch {
    return {text: 'campipe does not answer.'};
  }
}

export class RecordingPlayer {
  element = el('div');
  #onclose;
  #video = null;
  #problem = null;
  #recording = null;

  constructor(onclose) {
    this.#onclose = onclose;
  }

  play(recording) {
    this.stop();
    const begin = new Date(recording.start_utc);
    this.#recording = recording;
    this.#problem = el('div', {class: 'problem', role: 'alert'});
    const address = fileAddress(recording);
    const isShown = () => this.#recording === recording;
    const video = el('video', {
      controls: true,
      autoplay: true,
      playsinline: true,
      'aria-label': `Recording of ${recording.camera}`,
      src: address,
      onerror: async () => {
        const reason = await reasonOf(address);
        if (isShown()) this.#say(reason);
      },
      // A codec that it does not know is left out where there is audio to play.
      onloadeddata: () => {
        const text = 'This browser cannot play the video of this file; download it to watch it in VLC or mpv.';
        if (isShown() && !video.videoWidth) this.#say({text, mayFetch: true});
      },
      ondurationchange: () => {
        if (video.duration === 0) this.#say({text: 'The file has no frame yet; play it again in a few seconds.'});
      },
    });
    this.#video = video;
    const close = el('button', {class: 'button', type: 'button', onclick: () => this.#close()}, icon('close'), 'Close');
    this.element.replaceChildren(
      el(
        'section',
        {class: 'card watching', 'aria-label': 'Player'},
        el(
          'div',
          {class: 'head'},
          el('h2', {}, `${recording.camera} · ${dayOf(begin)} ${timeOf(begin)}`),
          el('div', {class: 'actions'}, close),
        ),
        video,
        this.#problem,
      ),
    );
    this.element.scrollIntoView({block: 'nearest'});
    video.focus();
  }

  #say({text, mayFetch = false, isGone = false}) {
    this.#video.hidden = isGone;
    const href = fileAddress(this.#recording, true);
    this.#problem.replaceChildren(
      el('p', {class: 'error'}, text),
      mayFetch ? el('a', {class: 'button', href, download: true}, icon('download'), 'Download') : '',
    );
  }

  // The browser would go on fetching it.
  stop() {
    if (!this.#video) return;
    this.#recording = null;
    this.#video.removeAttribute('src');
    this.#video.load();
    this.#video = null;
  }

  #close() {
    this.stop();
    this.element.replaceChildren();
    this.#onclose();
  }
}
