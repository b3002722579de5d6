// One camera's live stream by WebSocket, or over plain HTTP where none comes through; again and again until it is
// closed: after 0.5 s, 1 s, 2 s … 10 s, and at once when the browser is back online.
import {HttpSocket} from './http_socket.js';
import {addressOf} from './root.js';

const firstWait = 500;
const longestWait = 10000;

// What lets WebSockets through is the way to the rig, and no camera's own: a page finds it out for all of them, once.
const allowed = 2;
let refusals = 0; // of WebSockets where the server would have taken one
let asking = false;

export const goesByHttp = () => refusals >= allowed;

// False while a failed WebSocket is looked into. That takes one of the six connections that a browser has to a host, so
// the status must not hold another one.
export const webSocketsPass = () => !asking && refusals === 0;

// The same address without WebSocket: 426 is the server's own answer, and says that nothing else was wrong.
async function askWhy(path) {
  if (asking) return;
  asking = true;
  window.dispatchEvent(new Event('websocketfailed'));
  let status = 0;
  try {
    const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(5000)});
    await answer.arrayBuffer();
    ({status} = answer);
  } catch {
    // nothing comes through
  }
  asking = false;
  if (goesByHttp()) return;
  refusals = status === 426 ? refusals + 1 : 0;
  if (goesByHttp()) window.dispatchEvent(new Event('livebyhttp'));
}

export class LiveSocket {
  #path;
  #url; // of the WebSocket
  #stream; // its name by HTTP
  #handlers;
  #socket = null;
  #wait = firstWait;
  #timer = 0;
  #closed = true;
  #fruitless = 0; // answers over HTTP in which nothing came, not even a reason
  #again = () => {
    if (!this.#socket && !this.#closed) this.#connect();
  };

  // output: of the camera; '' for its own stream. sound: of it alone.
  // handlers: text(object), bytes(Uint8Array), up(), down({retryAt, isBlocked, reason}). retryAt: by Date.now();
  // isBlocked: neither way comes through; reason: the server's, where it refuses.
  constructor(camera, {output = '', sound = false}, handlers) {
    const query = sound ? '?sound=1' : output ? `?output=${encodeURIComponent(output)}` : '';
    this.#path = addressOf(`/cameras/${encodeURIComponent(camera)}/live${query}`);
    const url = new URL(this.#path, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#url = url;
    this.#stream = sound ? `${camera}?sound=1` : output ? `${camera}/${output}` : camera;
    this.#handlers = handlers;
  }

  open() {
    if (!this.#closed) return;
    this.#closed = false;
    for (const event of ['online', 'livebyhttp']) window.addEventListener(event, this.#again);
    this.#connect();
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // Anew, at once.
  restart() {
    if (this.#closed) return;
    this.#drop();
    this.#connect();
  }

  // Reconnects a silent stream, whose WebSocket may be dead. Leaves alone a socket that is still connecting, and HTTP:
  // all streams share that connection, which watches itself; a restart would interrupt the others.
  revive() {
    if (this.#socket?.readyState === WebSocket.OPEN && !(this.#socket instanceof HttpSocket)) this.restart();
  }

  close() {
    this.#closed = true;
    for (const event of ['online', 'livebyhttp']) window.removeEventListener(event, this.#again);
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
    const isByHttp = goesByHttp();
    const socket = isByHttp ? new HttpSocket(this.#stream) : new WebSocket(this.#url);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let isOpen = false;
    socket.onopen = () => {
      if (this.#socket !== socket) return;
      isOpen = true;
      this.#fruitless = 0;
      if (!isByHttp) refusals = 0;
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
    socket.onclose = ({wait, reason}) => {
      if (this.#socket !== socket) return;
      if (isByHttp && !isOpen) this.#fruitless = reason ? 0 : this.#fruitless + 1;
      if (!isByHttp && !isOpen) askWhy(this.#path);
      this.#lost(wait, reason);
    };
  }

  #lost(given, reason) {
    this.#socket = null;
    const wait = given ?? this.#wait * (0.8 + 0.4 * Math.random()); // a wall's many do not all come at once
    this.#wait = Math.min(longestWait, this.#wait * 2);
    this.#handlers.down({retryAt: Date.now() + wait, isBlocked: this.#fruitless >= allowed, reason});
    this.#timer = setTimeout(() => this.#connect(), wait);
  }
}
