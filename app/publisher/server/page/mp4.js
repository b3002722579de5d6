// The little of fragmented MP4 that a player of live video must know: the clock's rate, and when a fragment plays.
// ISO/IEC 14496-12.
const fourcc = (text) => [...text].reduce((value, c) => value * 256 + c.charCodeAt(0), 0);

// The first box at the end of a path of types, as {start, body, end}; undefined: there is none.
function find(view, path, from = 0, to = view.byteLength) {
  const [type, ...rest] = path;
  const wanted = fourcc(type);
  for (let at = from; at + 8 <= to;) {
    let size = view.getUint32(at);
    let header = 8;
    if (size === 1 && at + 16 <= to) {
      size = Number(view.getBigUint64(at + 8));
      header = 16;
    } else if (size === 0) {
      size = to - at;
    }
    if (size < header || at + size > to) return undefined;
    if (view.getUint32(at + 4) === wanted) {
      const box = {start: at, body: at + header, end: at + size};
      return rest.length ? find(view, rest, box.body, box.end) : box;
    }
    at += size;
  }
  return undefined;
}

// Ticks per second of the first track of an init segment; undefined: this is none.
export function timescaleOf(view) {
  const box = find(view, ['moov', 'trak', 'mdia', 'mdhd']);
  return box && (view.getUint32(box.body + (view.getUint8(box.body) === 1 ? 20 : 12)) || undefined);
}

const has = (flags, bit) => (flags & bit) !== 0;

// Where a fragment has how long its samples last: offsets of 32-bit numbers, and for how many samples each counts.
function durationFields(view, tfhd, trun) {
  const flags = view.getUint32(trun.body) & 0xffffff;
  const samples = view.getUint32(trun.body + 4);
  if (has(flags, 0x100)) {
    const stride = 4 * [0x100, 0x200, 0x400, 0x800].filter((bit) => has(flags, bit)).length;
    const first = trun.body + 8 + (has(flags, 0x1) ? 4 : 0) + (has(flags, 0x4) ? 4 : 0);
    return Array.from({length: samples}, (_, i) => ({at: first + i * stride, samples: 1}));
  }
  const defaults = view.getUint32(tfhd.body) & 0xffffff;
  if (!has(defaults, 0x8)) return [];
  return [{at: tfhd.body + 8 + (has(defaults, 0x1) ? 8 : 0) + (has(defaults, 0x2) ? 4 : 0), samples}];
}

// A fragment's place in time, to read and to change; undefined: this is no fragment.
export function fragmentOf(view) {
  const traf = find(view, ['moof', 'traf']);
  if (!traf) return undefined;
  const tfdt = find(view, ['tfdt'], traf.body, traf.end);
  const tfhd = find(view, ['tfhd'], traf.body, traf.end);
  const trun = find(view, ['trun'], traf.body, traf.end);
  if (!tfdt || !tfhd || !trun) return undefined;
  const wide = view.getUint8(tfdt.body) === 1;
  const durations = durationFields(view, tfhd, trun);
  return {
    time: wide ? Number(view.getBigUint64(tfdt.body + 4)) : view.getUint32(tfdt.body + 4),
    duration: durations.reduce((sum, {at, samples}) => sum + view.getUint32(at) * samples, 0),
    setTime(ticks) {
      if (wide) view.setBigUint64(tfdt.body + 4, BigInt(ticks));
      else view.setUint32(tfdt.body + 4, ticks);
    },
    // Of its last sample.
    setDuration(ticks) {
      if (durations.length) view.setUint32(durations.at(-1).at, ticks);
    },
  };
}
