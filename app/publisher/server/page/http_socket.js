// Live streams where no WebSocket comes through: those of a page share one answer over plain HTTP, since a browser has
// six connections to a host. docs/api.md has its form. What it is to have is said when it is asked for; so a change
// asks anew, and all begin with their newest key frame.
import {joined} from './media_sink.js';
import {addressOf} from './root.js';

const settling = 200; // ms: a wall that is scrolled changes several
const longestSilence = 15000; // ms: the server sends something every five seconds
const firstWait = 500;
const longestWait = 10000;
const kinds = {text: 1, bytes: 2};
const headSize = 8;

// Messages out of bytes, however they were cut on their way.
export class MessageReader {
  #parts = [];
  #size = 0;
  #needed = headSize;

  // What is complete now: [{kind, stream: its place in the list, bytes}]
  take(bytes) {
    this.#parts.push(bytes);
    this.#size += bytes.byteLength;
    if (this.#size < this.#needed) return [];
    const all = joined(this.#parts);
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
    const messages = [];
    let at = 0;
    this.#needed = headSize;
    while (all.byteLength - at >= headSize) {
      const end = at + headSize + view.getUint32(at + 4);
      if (end > all.byteLength) {
        this.#needed = end - at;
        break;
      }
      const [kind, stream] = [view.getUint16(at), view.getUint16(at + 2)];
      messages.push({kind, stream, bytes: all.subarray(at + headSize, end)});
      at = end;
    }
    this.#parts = [all.subarray(at)];
    this.#size = all.byteLength - at;
    return messages;
  }
}

const wanted = new Set(); // sockets
let asked = []; // those that the answer is for
let current = null; // AbortController of the answer
let timer = 0;
let wait = firstWait;

function change() {
  clearTimeout(timer);
  timer = setTimeout(ask, settling);
}

// Gives the server's reason where it refuses.
async function read(sockets, abort) {
  const streams = encodeURIComponent(sockets.map(({stream}) => stream).join(','));
  let silence = setTimeout(() => abort.abort(), longestSilence);
  try {
    const answer = await fetch(addressOf(`/live?streams=${streams}`), {cache: 'no-store', signal: abort.signal});
    if (!answer.ok) return (await answer.json()).error;
    const body = answer.body.getReader();
    const messages = new MessageReader();
    for (let part = await body.read(); !part.done && current === abort; part = await body.read()) {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), longestSilence);
      for (const {kind, stream, bytes} of messages.take(part.value)) sockets[stream].receive(kind, bytes);
    }
  } catch {
    // it is over in any case
  } finally {
    clearTimeout(silence);
  }
}

async function ask() {
  const sockets = [...wanted];
  if (current && sockets.length === asked.length && sockets.every((socket, i) => socket === asked[i])) return;
  current?.abort();
  current = null;
  asked = sockets;
  if (sockets.length === 0) return;
  const abort = new AbortController();
  current = abort;
  for (const socket of sockets) socket.begins();
  const reason = await read(sockets, abort);
  if (current !== abort) return; // others were asked for
  current = null;
  const retry = wait; // the same for all, so that they come back together
  wait = Math.min(longestWait, wait * 2);
  for (const socket of sockets) socket.end(retry, reason);
}

// Has the part of a WebSocket's interface that LiveSocket uses. `stream`: "dock", "dock/small", or "dock?sound=1".
export class HttpSocket {
  onopen = () => {};
  onmessage = () => {};
  onclose = () => {}; // {wait: ms, to be waited before the next attempt; reason: the server's, where it refuses}
  readyState = WebSocket.CONNECTING;
  stream;
  #begins = true; // nothing has come of this answer

  constructor(stream) {
    this.stream = stream;
    wanted.add(this);
    change();
  }

  send(text) {
    if (JSON.parse(text).type === 'pause') wanted.delete(this);
    else wanted.add(this);
    change();
  }

  close() {
    this.readyState = WebSocket.CLOSED;
    wanted.delete(this);
    change();
  }

  begins() {
    this.#begins = true;
  }

  receive(kind, bytes) {
    if (this.readyState === WebSocket.CLOSED) return;
    if (this.#begins) {
      this.#begins = false;
      this.readyState = WebSocket.OPEN;
      this.onopen();
    }
    if (kind === kinds.text) this.onmessage({data: new TextDecoder().decode(bytes)});
    if (kind !== kinds.bytes) return;
    wait = firstWait;
    this.onmessage({data: bytes});
  }

  end(retry, reason) {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    wanted.delete(this);
    this.onclose({wait: retry, reason});
  }
}
