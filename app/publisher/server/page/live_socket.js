// One camera's live stream by WebSocket, again and again until it is closed: after 0.5 s, 1 s, 2 s … 10 s, and at
// once when the browser is back online.
import {addressOf} from './root.js';

const firstWait = 500;
const longestWait = 10000;

export class LiveSocket {
  #url;
  #handlers;
  #socket = null;
  #wait = firstWait;
  #timer = 0;
  #closed = true;
  #refused = 0;
  #online = () => {
    if (!this.#socket && !this.#closed) this.#connect();
  };

  // handlers: text(object), bytes(Uint8Array), up(), down({retryAt: by Date.now(), refused: how often it has not opened})
  constructor(path, handlers) {
    const url = new URL(addressOf(path), location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#url = url;
    this.#handlers = handlers;
  }

  open() {
    if (!this.#closed) return;
    this.#closed = false;
    window.addEventListener('online', this.#online);
    this.#connect();
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // Anew, at once: for a stream that has gone silent.
  restart() {
    if (this.#closed) return;
    this.#drop();
    this.#connect();
  }

  close() {
    this.#closed = true;
    window.removeEventListener('online', this.#online);
    clearTimeout(this.#timer);
    this.#drop();
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #connect() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    ++this.#refused; // until it opens
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      this.#refused = 0;
      this.#handlers.up();
    };
    socket.onmessage = ({data}) => {
      if (this.#socket !== socket) return;
      if (typeof data === 'string') {
        this.#handlers.text(JSON.parse(data));
      } else {
        this.#wait = firstWait;
        this.#handlers.bytes(new Uint8Array(data));
      }
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#lost();
    };
  }

  #lost() {
    this.#socket = null;
    const wait = this.#wait * (0.8 + 0.4 * Math.random()); // a wall's many do not all come at once
    this.#wait = Math.min(longestWait, this.#wait * 2);
    this.#handlers.down({retryAt: Date.now() + wait, refused: this.#refused});
    this.#timer = setTimeout(() => this.#connect(), wait);
  }
}
