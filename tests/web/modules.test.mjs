// What can be said of the page's modules without a browser.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import './static_loader.mjs';

globalThis.window ??= Object.assign(new EventTarget(), {MediaSource: class extends EventTarget {}});
globalThis.URL.createObjectURL = () => '';
globalThis.WebSocket ??= class {
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSED = 3;
};
const {Timeline} = await import('/static/timeline.js');
const {fragmentOf} = await import('/static/mp4.js');
const {byUrgency, layOut} = await import('/static/layout.js');
const {LiveEdge} = await import('/static/live_edge.js');
const format = await import('/static/format.js');
const {placeOf} = await import('/static/camera_motion.js');
globalThis.document ??= {addEventListener() {}};
const {clockOf} = await import('/static/cluster.js');
const {describe: words, summaryOf, urgencyOf} = await import('/static/conditions.js');
const {Breaks} = await import('/static/breaks.js');
const {troublesOf, withoutAddresses} = await import('/static/troubles.js');
const {MediaSink} = await import('/static/media_sink.js');
const {HttpSocket, MessageReader} = await import('/static/http_socket.js');
const {patched} = await import('/static/status_stream.js');

const timescale = 90000;

function box(type, ...parts) {
  const body = Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part))));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

function u32(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i));
  return bytes;
}

const ftyp = () => box('ftyp', u32(0));
const moov = () => box('moov', box('trak', box('tkhd', u32(0)), box('mdia', box('mdhd', u32(0, 0, 0, timescale, 0)))));
const header = () => new Uint8Array(Buffer.concat([ftyp(), moov()]));

// One frame; its duration stands where muxers may put it.
function fragment(seconds, duration, {wide = true, inTrun = false} = {}) {
  const time = Math.round(seconds * timescale);
  const last = Math.round(duration * timescale);
  const tfdt = wide ? u32(0x01000000, Math.floor(time / 2 ** 32), time % 2 ** 32) : u32(0, time);
  const tfhd = inTrun ? u32(0x020000, 1) : u32(0x020008, 1, last);
  const trun = inTrun ? u32(0x301, 1, 100, last, 4) : u32(0x201, 1, 100, 4);
  const traf = box('traf', box('tfhd', tfhd), box('tfdt', tfdt), box('trun', trun));
  return new Uint8Array(Buffer.concat([box('moof', box('mfhd', u32(0, 1)), traf), box('mdat', u32(1))]));
}

const read = (bytes) => fragmentOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
const near = (actual, wanted, tolerance = 0.001) =>
  assert.ok(Math.abs(actual - wanted) <= tolerance, `${actual} is not ${wanted}`);

function begun() {
  const timeline = new Timeline();
  assert.ok(timeline.begin(header()));
  return timeline;
}

test('a clock of another node is as far off as it is known', () => {
  assert.equal(clockOf({}), '–');
  assert.equal(clockOf({clock: {offset_s: 0.0004, bound_s: 0.0012}}), '± 1.2 ms');
  assert.equal(clockOf({clock: {offset_s: -0.25, bound_s: 0.001}}), '−250 ms');
  assert.equal(clockOf({clock: {offset_s: 3, bound_s: 0.001}}), '+3.0 s');
});

describe('timeline', () => {
  for (const options of [{}, {wide: false}, {inTrun: true}]) {
    test(`begins at 0 and keeps the pace of the stream, ${JSON.stringify(options)}`, () => {
      const timeline = begun();
      for (let i = 0; i < 50; ++i) {
        const bytes = fragment(1000 + i * 0.04, 0.04, options);
        near(timeline.place(bytes).start, i * 0.04);
        near(read(bytes).time / timescale, i * 0.04);
        near(read(bytes).duration / timescale, 0.04);
      }
    });
  }

  // Else a browser throws away what comes until the next key frame.
  test('a picture never comes later than twice the duration of the one before', () => {
    const timeline = begun();
    let before = null;
    for (const time of [0, 0.04, 0.08, 0.4, 0.44, 3, 3.04, 60, 60.04, 5, 5.04]) {
      const bytes = fragment(time, 0.04);
      timeline.place(bytes);
      const now = read(bytes);
      if (before) {
        assert.ok(now.time > before.time, 'forwards');
        assert.ok(now.time - before.time <= 2 * before.duration, `${now.time - before.time} > 2 * ${before.duration}`);
      }
      before = now;
    }
  });

  test('a break is told', () => {
    const timeline = begun();
    assert.equal(timeline.place(fragment(7, 0.04)).broken, true);
    assert.equal(timeline.place(fragment(7.04, 0.04)).broken, false);
    assert.equal(timeline.place(fragment(9, 0.04)).broken, true);
    assert.ok(timeline.begin(header()));
    assert.equal(timeline.place(fragment(0, 0.04)).broken, true);
  });

  test('what comes faster than its pace is put close together, and then the pace is kept', () => {
    const timeline = begun();
    let last = 0;
    for (let i = 0; i < 50; ++i) last = timeline.place(fragment(i * 0.04, 0.04), 0.001).start;
    assert.ok(last < 0.2, `${last} s`);
    const {start, broken} = timeline.place(fragment(2, 0.04), 0.04);
    near(start - last, 0.04);
    assert.equal(broken, false);
  });

  test('takes the pace of a stream whose fragments tell a wrong one', () => {
    const timeline = begun();
    let last = 0;
    for (let i = 0; i < 100; ++i) last = timeline.place(fragment(i * 0.5, 0.04)).start;
    const step = timeline.place(fragment(50, 0.04)).start - last;
    near(step, 0.5);
  });

  test('what is no MP4 is refused', () => {
    assert.equal(new Timeline().begin(new Uint8Array([0, 0, 0, 9, 1, 2, 3, 4, 5])), false);
    assert.equal(begun().place(new Uint8Array(100)), undefined);
    assert.equal(begun().place(header()), undefined);
  });
});

test('messages of an answer over HTTP, however it is cut', () => {
  const sent = [
    [1, 0, '{"type":"state"}'],
    [0, 0, ''],
    [2, 259, 'x'.repeat(70000)],
    [2, 1, 'y'],
  ];
  const bytes = Buffer.concat(
    sent.map(([kind, stream, text]) => {
      const head = Buffer.alloc(8);
      head.writeUInt16BE(kind, 0);
      head.writeUInt16BE(stream, 2);
      head.writeUInt32BE(text.length, 4);
      return Buffer.concat([head, Buffer.from(text)]);
    }),
  );
  for (const size of [1, 7, 8, 9, 1000, bytes.length]) {
    const reader = new MessageReader();
    const got = [];
    for (let at = 0; at < bytes.length; at += size)
      got.push(...reader.take(new Uint8Array(bytes.subarray(at, at + size))));
    assert.deepEqual(got.map(({kind, stream, bytes: text}) => [kind, stream, Buffer.from(text).toString()]), sent);
  }
});

test('a refused answer over HTTP ends with the server’s reason', async () => {
  const before = globalThis.fetch;
  const error = 'a session has four of these answers at most';
  globalThis.fetch = async () => new Response(JSON.stringify({error}), {status: 503});
  try {
    const ends = ['dock', 'gate'].map((stream) => new Promise((resolve) => (new HttpSocket(stream).onclose = resolve)));
    for (const {wait, reason} of await Promise.all(ends)) {
      assert.ok(wait > 0);
      assert.equal(reason, error);
    }
  } finally {
    globalThis.fetch = before;
  }
  const shown = words({phase: 'lost', reason: error, retryAt: Date.now() + 5000, isBlocked: false});
  assert.deepEqual(shown, {look: 'bad', title: 'No live video', text: error});
});

test('what breaks six times in a minute is given up', () => {
  const breaks = new Breaks();
  for (let i = 0; i < 5; ++i) assert.equal(breaks.add(i * 1000), true);
  assert.equal(breaks.count, 5);
  assert.equal(breaks.add(6000), false);
  assert.equal(breaks.add(90000), true, 'what is long ago counts no more');
});

test('a merge patch makes another document, and leaves the one before', () => {
  const before = {a: 1, b: {c: 2, d: 3}, list: [1], same: {}};
  const after = patched(before, {a: null, b: {d: 4, e: {f: null, g: 5}}, list: [{h: null}], new: false});
  assert.deepEqual(after, {b: {c: 2, d: 4, e: {g: 5}}, list: [{h: null}], same: {}, new: false});
  assert.deepEqual(before, {a: 1, b: {c: 2, d: 3}, list: [1], same: {}});
  assert.equal(after.same, before.same);
});

describe('live edge', () => {
  const player = (currentTime) => ({currentTime, playbackRate: 1, seeking: false});

  test('jumps when far behind, hurries when a little, else lets it play', () => {
    for (const [behind, rate, jumps] of [
      [5, 1, 1],
      [0.5, 1.1, 0],
      [0.15, 1.05, 0],
      [0.02, 1, 0],
    ]) {
      const video = player(100 - behind);
      const edge = new LiveEdge(video);
      edge.arrived({start: 100, broken: false});
      edge.steer(100.04);
      assert.equal(video.playbackRate, rate, `${behind} s behind`);
      assert.equal(edge.jumps, jumps, `${behind} s behind`);
      if (jumps) near(video.currentTime, 100, 0.1);
    }
  });

  test('plays more slowly until it holds back what the sound needs', () => {
    for (const [behind, rate] of [
      [0.05, 0.95],
      [0.28, 1],
      [0.5, 1.05],
    ]) {
      const video = player(100 - behind);
      const edge = new LiveEdge(video);
      edge.least = 0.3;
      edge.arrived({start: 100, broken: false});
      edge.steer(100.04);
      assert.equal(video.playbackRate, rate, `${behind} s behind`);
      assert.equal(edge.goal, 0.3);
    }
  });

  test('holds one picture back where they are rare', () => {
    for (const [step, goal] of [
      [0.01, 0.03],
      [0.1, 0.1],
      [1, 0.2],
    ]) {
      const edge = new LiveEdge(player(100));
      for (let i = 0; i < 5; ++i) edge.arrived({start: 100 + i * step, broken: i === 0});
      edge.steer(101);
      near(edge.goal, goal);
    }
  });

  test('does not jump again and again when it does not help', ({mock}) => {
    mock.method(performance, 'now', () => 1000);
    const video = player(0);
    const edge = new LiveEdge(video);
    for (let i = 0; i < 20; ++i) {
      edge.arrived({start: 100 + i, broken: false});
      edge.steer(101 + i);
      video.currentTime = 0;
    }
    assert.equal(edge.jumps, 1);
  });
});

test('a grid of up to 25 fits every usual screen without scrolling', () => {
  for (const [width, height] of [
    [1920, 1034],
    [1366, 722],
    [2560, 1394],
    [1080, 1874],
  ]) {
    for (let count = 1; count <= 25; ++count) {
      const {columns, tileWidth, tileHeight, scrolls} = layOut(count, width, height, 16 / 9, 6);
      assert.equal(scrolls, false);
      assert.ok(columns * tileWidth + (columns - 1) * 6 <= width);
      const rows = Math.ceil(count / columns);
      assert.ok(rows * tileHeight + (rows - 1) * 6 <= height);
    }
  }
  assert.equal(layOut(1, 1600, 900, 16 / 9, 6).columns, 1);
  assert.equal(layOut(16, 1920, 1034, 16 / 9, 6).columns, 4);
  assert.equal(layOut(25, 378, 786, 16 / 9, 6).columns, 2);
  assert.equal(layOut(100, 1920, 1034, 16 / 9, 6).scrolls, false);
  assert.equal(layOut(256, 1366, 722, 16 / 9, 6).scrolls, true);
});

test('numbers as people read them', () => {
  assert.equal(format.duration(245), '4 min');
  assert.equal(format.duration(7500), '2 h 5 min');
  assert.equal(format.duration(3 * 86400 + 4 * 3600), '3 d 4 h');
  assert.equal(format.length(3723), '1:02:03');
  assert.equal(format.length(59.6), '1:00');
  assert.equal(format.bytes(1536), '1.5 KiB');
  assert.equal(format.bitrate(2.5e6), '2.5 Mbit/s');
  assert.equal(format.bitrate(undefined), '–');
  const now = Date.parse('2026-11-21T12:07:11Z');
  assert.match(format.since('2026-11-21T12:03:11Z', now), /^since \d\d:\d\d:\d\d \(4 min\)$/);
  assert.equal(format.since('', now), '');
});

describe('motion', () => {
  test('its bar has room for a little and for all', () => {
    assert.equal(placeOf(0), 0);
    near(placeOf(0.0001), 0);
    near(placeOf(0.01), 100 / 3);
    near(placeOf(1), 200 / 3);
    near(placeOf(100), 100);
  });

  test('per cents have three digits', () => {
    assert.deepEqual([0, 0.0093, 0.3125, 4.567, 100].map(format.percent), ['0 %', '0.0093 %', '0.313 %', '4.57 %', '100 %']);
    assert.equal(format.percent(undefined), '–');
  });
});

describe('requests', () => {
  const answer = (status, body, headers = {}) => new Response(JSON.stringify(body), {status, headers});
  const early = () => answer(503, {error: 'there is no status of the rig yet'}, {'Retry-After': '1'});

  // Answers of the server, in order; gives how many were taken.
  async function withAnswers(answers, run) {
    const before = [globalThis.fetch, globalThis.setTimeout];
    let taken = 0;
    globalThis.fetch = async (url, options) => answers[taken++](options);
    globalThis.setTimeout = (done) => before[1](done, 0);
    try {
      await run(await import('/static/api.js'));
    } finally {
      [globalThis.fetch, globalThis.setTimeout] = before;
    }
    return taken;
  }

  test('wait for the first status of a rig', async () => {
    const good = () => answer(200, {cameras: {}});
    assert.equal(await withAnswers([early, early, good], async ({get}) => assert.deepEqual(await get('status'), {cameras: {}})), 3);
  });

  const session = (user, csrf) => () => answer(200, {user, csrf, permissions: []});
  const refused = () => answer(403, {error: 'the header X-CSRF-Token is missing or wrong'});
  const takes = (csrf) => ({headers}) => (headers['X-CSRF-Token'] === csrf ? answer(200, {}) : refused());

  test('are made again in a newer session of the same user, and in no other’s', async () => {
    let changes = 0;
    window.addEventListener('userchanged', () => ++changes);
    const ask = async ({post}) => post('reload');
    assert.equal(await withAnswers([session('ann', 'a'), takes('b'), session('ann', 'b'), takes('b')], ask), 4);
    assert.equal(changes, 0);
    const isRefused = async ({post}) => assert.rejects(post('reload'), {status: 403});
    assert.equal(await withAnswers([refused, session('ann', 'b')], isRefused), 2, 'the user may not');
    assert.equal(await withAnswers([refused, session('ann', 'c'), refused], isRefused), 3, 'once');
    assert.equal(changes, 0);
    assert.equal(await withAnswers([refused, session('bob', 'd')], isRefused), 2);
    assert.equal(changes, 1);
  });

  test('of a status: a camera whose node is away has no rate, nor the one after', async () => {
    const end = Date.now(); // by which the rig's clock is known afterwards
    const at = (seconds, state, encoded) => () => {
      const time_utc = new Date(end - 10000 + seconds * 1000).toISOString();
      return answer(200, {time_utc, cameras: {gate: {state, node: 'west', bytes: 0, frames: {encoded}}}});
    };
    const statuses = [
      at(0, 'running', 0),
      at(2, 'running', 50),
      at(4, 'unreachable', 50),
      at(6, 'unreachable', 50),
      at(8, 'running', 200),
      at(10, 'running', 250),
    ];
    const rates = [];
    await withAnswers(statuses, async ({watchStatus}) => {
      await new Promise((resolve) => {
        const stop = watchStatus((message) => {
          if (message.error || rates.push(message.rates.gate?.fps) < statuses.length) return;
          stop();
          resolve();
        });
      });
    });
    assert.deepEqual(rates, [undefined, 25, undefined, undefined, undefined, 25]);
  });

  test('show what lasts', async () => {
    const fails = (message) => async ({get}) => assert.rejects(get('recordings'), {status: 503, message});
    assert.equal(await withAnswers([early, early, early], fails('there is no status of the rig yet')), 3);
    const disk = () => answer(503, {error: 'the disk does not answer'}, {'Retry-After': '10'});
    assert.equal(await withAnswers([disk], fails('the disk does not answer')), 1);
  });
});

test('another codec needs a fresh source, and another size of the same one does not', () => {
  const sink = new MediaSink({addEventListener() {}}, assert.fail);
  const h264 = 'video/mp4; codecs="avc1.64001f"';
  const hevc = 'video/mp4; codecs="hvc1.1.6.L93.B0"';
  assert.ok(sink.takes(hevc), 'the first one');
  sink.header(h264, header());
  assert.ok(sink.takes('video/mp4; codecs="avc1.42c01e"'));
  assert.ok(!sink.takes(hevc));
});

describe('trouble', () => {
  const ms = (p50) => ({p50, p95: p50});
  const titles = (camera, rate, held) => troublesOf({state: 'running', ...camera}, rate, held).map(({title}) => title);

  test('each kind is named, of the camera and of its outputs', () => {
    assert.deepEqual(titles({latency_ms: ms(40), push: {'srt://there': {state: 'connected', reason: ''}}, reason: ''}), []);
    assert.deepEqual(titles({overloaded: 'worker 0 is overloaded', shed: 'every second frame is left out'}), ['Overloaded', 'Gives way']);
    const output = {state: 'running', recording_paused: 'the disk is full', push: {'srt://there': {state: 'failed', reason: ''}}};
    assert.deepEqual(titles({outputs: {small: output}}), ['Recording paused (output small)', 'Push failed (output small)']);
    assert.deepEqual(titles({outputs: {small: {state: 'failed', reason: 'no encoder'}}}), ['Output small failed']);
    assert.deepEqual(titles({reason: 'recording stopped: it brought down the publisher'}), ['Recording failed']);
    assert.deepEqual(titles({state: 'waiting', recording_paused: 'the disk is full'}), [], 'its state says more');
  });

  test('what is shown is old', () => {
    assert.deepEqual(titles({latency_ms: ms(77000)}), ['77 s behind']);
    assert.deepEqual(titles({latency_ms: ms(600000)}), ['10 min behind']);
    assert.deepEqual(titles({latency_ms: ms(2000)}, undefined, 1500), ['4 s behind']);
    assert.deepEqual(titles({latency_ms: ms(2900)}), []);
    const early = {latency_ms: ms(9000), stages_ms: {transit: ms(8900)}};
    assert.match(troublesOf({state: 'running', ...early})[0].text, /before the rig.*clock/);
    assert.deepEqual(titles({latency_ms: ms(0), source_health: {lag_ms: 12000}}), ['Frames arrive 12 s late']);
    assert.deepEqual(titles({latency_ms: ms(40), behind_s: 51.2, source_health: {lag_ms: 0}}), ['51 s behind']);
    assert.deepEqual(titles({latency_ms: ms(40), behind_s: 12.04, source_health: {lag_ms: 12000}}), ['Frames arrive 12 s late']);
  });

  test('an overload says once how far the stream is behind', () => {
    const camera = {state: 'running', behind_s: 51.2, overloaded: 'worker 0 is overloaded: the stream is 47 s behind; use a GPU'};
    assert.deepEqual(troublesOf(camera), [{title: 'Overloaded', text: 'worker 0: the stream is 47 s behind; use a GPU'}]);
    assert.deepEqual(titles({behind_s: 51.2, overloaded: 'worker 0 is overloaded: 9 of 10 frames were dropped'}), ['Overloaded', '51 s behind']);
    const held = titles({overloaded: camera.overloaded}, undefined, 9000);
    assert.deepEqual(held, ['Overloaded', '9 s behind'], 'the browser is another cause');
  });

  // Before the text, of which a small tile shows the beginning.
  test('and since when', () => {
    const utc = new Date(Date.now() - 60000).toISOString();
    assert.match(titles({overloaded: 'slow', overloaded_since_utc: utc})[0], /^Overloaded since .*\d\d:\d\d:\d\d$/);
    assert.match(titles({shed: 'half', shed_since_utc: utc})[0], /^Gives way since .*\d\d:\d\d:\d\d$/);
    const output = {state: 'running', recording_paused: 'full', recording_paused_since_utc: utc};
    assert.match(titles({outputs: {small: output}})[0], /^Recording paused \(output small\) since .*\d\d:\d\d:\d\d$/);
  });

  test('damaged packets are trouble for half a minute', () => {
    assert.deepEqual(titles({}, {damagedAt: Date.now() - 20000}), ['Damaged video']);
    assert.deepEqual(titles({}, {damagedAt: Date.now() - 40000}), []);
  });

  test('a reason is read without the address before it', () => {
    assert.equal(withoutAddresses("cannot open 'rtsp://10.0.0.11/stream?a=b': Connection refused"), 'cannot open: Connection refused');
    assert.equal(withoutAddresses('rtsp://10.0.0.11:554/stream1: timed out'), 'timed out');
    assert.equal(withoutAddresses('no picture for 8 s'), 'no picture for 8 s');
  });

  test('each camera is counted once', () => {
    const cameras = [['a', {state: 'running'}], ['b', {state: 'failed'}], ['c', {state: 'running', overloaded: 'it is'}]];
    assert.equal(summaryOf(cameras), '1 live · 1 with trouble · 1 failed');
    assert.equal(summaryOf([]), '0 live');
  });

  test('what fails comes first, and else as it was', () => {
    const urgency = {a: 2, b: 1, c: 2, d: 0, e: 1};
    assert.deepEqual(byUrgency(Object.keys(urgency), (name) => urgency[name]), ['d', 'b', 'e', 'a', 'c']);
    const states = ['failed', 'waiting', 'unreachable', 'running', 'disabled', 'starting', 'ended'];
    assert.deepEqual(states.map((state) => urgencyOf({state})), [0, 0, 0, 2, 2, 2, 2]);
  });
});

test('a zone is named with how far it is from UTC', () => {
  assert.match(format.zoneOf({getTimezoneOffset: () => -330}), / \(UTC\+5:30\)$/);
  assert.match(format.zoneOf({getTimezoneOffset: () => 180}), / \(UTC−3\)$/);
});
