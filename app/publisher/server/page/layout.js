// How many columns show `count` frames of one shape (`aspect`: width / height) largest in a space, without scrolling
// as long as they stay recognisable; then with.
const smallest = 150; // px wide
const readable = 260; // px wide, when it scrolls anyway

export function layOut(count, width, height, aspect, gap) {
  let best = {columns: 1, tileWidth: 0, tileHeight: 0, scrolls: false};
  for (let columns = 1; columns <= count; ++columns) {
    const rows = Math.ceil(count / columns);
    const tileWidth = Math.floor(
      Math.min((width - gap * (columns - 1)) / columns, ((height - gap * (rows - 1)) / rows) * aspect),
    );
    if (tileWidth > best.tileWidth)
      best = {columns, tileWidth, tileHeight: Math.floor(tileWidth / aspect), scrolls: false};
  }
  if (best.tileWidth >= Math.min(smallest, width)) return best;
  const columns = Math.max(width < 2 * smallest ? 1 : 2, Math.floor((width + gap) / (readable + gap)));
  const tileWidth = Math.floor((width - gap * (columns - 1)) / columns);
  return {columns, tileWidth, tileHeight: Math.floor(tileWidth / aspect), scrolls: true};
}

// `names` as they are shown where not all fit: by their urgency (0 first), and else as they were.
export const byUrgency = (names, urgency) => [...names].sort((a, b) => urgency(a) - urgency(b));
