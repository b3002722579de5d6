// One plot over the last minutes, on a canvas: a few lines, or areas one on top of the other; the values at the pointer
// are written beside the title. Missing values (null) are holes, not zeros.
import {el, setText} from './dom.js';
import {timeOf} from './format.js';

const left = 52; // px for the numbers of the scale
const bottom = 20;
const top = 8;

// A round number at or above.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

export class Plot {
  element;
  #series; // [{key, label}]
  #options; // {format, stacked, bars}
  #canvas = el('canvas', {role: 'img'});
  #values = [];
  #heading;
  #data = {t: []};
  #pointer = null;

  constructor(title, series, options) {
    this.#series = series;
    this.#options = options;
    this.#heading = el('h2', {}, title);
    const keys = series.map(({label}, i) => {
      const value = el('b');
      this.#values.push(value);
      return el('span', {class: `key series-${i + 1}`}, label, value);
    });
    this.element = el('section', {class: 'card plot'}, el('header', {}, this.#heading, ...keys), this.#canvas);
    this.#canvas.setAttribute('aria-label', `${title} over the last ten minutes`);
    this.#canvas.addEventListener('pointermove', (event) => this.#point(event.offsetX));
    this.#canvas.addEventListener('pointerleave', () => this.#point(null));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.#canvas);
  }

  close() {
    this.resized.disconnect();
  }

  // {t: seconds since 1970, KEY: values}
  set data(data) {
    this.#data = data;
    this.draw();
  }

  #point(x) {
    this.#pointer = x;
    this.draw();
  }

  // What is drawn: the series themselves, or their sums from below.
  #lines() {
    const lines = this.#series.map(({key}) => this.#data[key] ?? []);
    if (!this.#options.stacked) return lines;
    for (let i = 1; i < lines.length; ++i) {
      const below = lines[i - 1];
      lines[i] = lines[i].map((value, k) => (isNumber(value) ? value + (below[k] ?? 0) : null));
    }
    return lines;
  }

  draw() {
    const {clientWidth: width, clientHeight: height} = this.#canvas;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    const context = this.#canvas.getContext('2d');
    context.scale(ratio, ratio);
    const lines = this.#lines();
    const most = Math.max(0, ...lines.flat().filter(isNumber));
    const end = this.#data.t.at(-1) ?? Date.now() / 1000;
    const scale = {
      width,
      height,
      most: most > 0 ? roundUp(most * 1.05) : 1,
      end,
      begin: Math.min(end - 60, this.#data.t[0] ?? end - 600),
      style: getComputedStyle(document.documentElement),
    };
    scale.x = (t) => left + ((t - scale.begin) / (scale.end - scale.begin)) * (width - left - 4);
    scale.y = (value) => height - bottom - (value / scale.most) * (height - bottom - top);
    this.#drawScale(context, scale);
    for (let i = lines.length - 1; i >= 0; --i) this.#drawLine(context, scale, lines, i);
    this.#write(context, scale);
  }

  #drawScale(context, {width, height, most, begin, end, style, x, y}) {
    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = style.getPropertyValue('--quiet');
    context.strokeStyle = style.getPropertyValue('--line');
    context.lineWidth = 1;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const value of [0, most / 2, most]) {
      const at = Math.round(y(value)) + 0.5;
      context.beginPath();
      context.moveTo(left, at);
      context.lineTo(width - 4, at);
      context.stroke();
      context.fillText(this.#options.scale(value), left - 7, at);
    }
    context.textBaseline = 'alphabetic';
    const seconds = end - begin <= 180;
    const room = ((end - begin) / (width - left)) * (seconds ? 72 : 48); // s that a label takes
    const step = [15, 30, 60, 120, 300, 600].find((wanted) => wanted >= room) ?? 600;
    context.textAlign = 'center';
    for (let t = Math.ceil(begin / step) * step; t < end; t += step) {
      const at = x(t);
      if (at < left + 20 || at > width - 20) continue;
      context.fillText(timeOf(new Date(t * 1000)).slice(0, seconds ? 8 : 5), at, height - 5);
    }
  }

  #drawLine(context, {style, x, y}, lines, i) {
    const colour = style.getPropertyValue(`--series-${i + 1}`);
    const {t} = this.#data;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.6;
    context.lineJoin = 'round';
    if (this.#options.bars) {
      const wide = Math.max(1.5, x(t[1]) - x(t[0]) - 0.5);
      lines[i].forEach((value, k) => value > 0 && context.fillRect(x(t[k]) - wide, y(value), wide, y(0) - y(value)));
      return;
    }
    for (const [from, to] of runs(lines[i])) {
      context.beginPath();
      for (let k = from; k < to; ++k) context.lineTo(x(t[k]), y(lines[i][k]));
      context.stroke();
      if (!this.#options.stacked) continue;
      for (let k = to - 1; k >= from; --k) context.lineTo(x(t[k]), y(i ? (lines[i - 1][k] ?? 0) : 0));
      context.globalAlpha = 0.35;
      context.fill();
      context.globalAlpha = 1;
    }
  }

  // The values at the pointer, or the newest.
  #write(context, {height, begin, end, style, x, width}) {
    const {t} = this.#data;
    let at = t.length - 1;
    if (this.#pointer !== null && at > 0) {
      const wanted = begin + ((this.#pointer - left) / (width - left - 4)) * (end - begin);
      at = t.reduce((best, time, k) => (Math.abs(time - wanted) < Math.abs(t[best] - wanted) ? k : best), 0);
      context.fillStyle = style.getPropertyValue('--quiet');
      context.fillRect(Math.round(x(t[at])), top, 1, height - bottom - top);
      context.textAlign = x(t[at]) > width / 2 ? 'right' : 'left';
      context.fillText(timeOf(new Date(t[at] * 1000)), x(t[at]) + (x(t[at]) > width / 2 ? -6 : 6), top + 10);
    }
    this.#series.forEach(({key}, i) => {
      const value = this.#data[key]?.[at];
      setText(this.#values[i], isNumber(value) ? this.#options.format(value) : '–');
    });
  }
}

// [from, to) of what is numbers.
function runs(values) {
  const found = [];
  let from = -1;
  for (let i = 0; i <= values.length; ++i) {
    if (isNumber(values[i])) {
      if (from < 0) from = i;
    } else if (from >= 0) {
      found.push([from, i]);
      from = -1;
    }
  }
  return found;
}
