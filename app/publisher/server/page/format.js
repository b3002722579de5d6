// Numbers and times as people read them. Times are those of the browser's own zone.
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const day = new Intl.DateTimeFormat(undefined, {weekday: 'short', day: 'numeric', month: 'short'});

export const timeOf = (date) => clock.format(date);
export const dayOf = (date) => day.format(date);
export const isSameDay = (a, b) => a.toDateString() === b.toDateString();

// "8 s", "4 min", "2 h 5 min", "3 d 4 h"
export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${Math.floor(hours / 24)} d`;
}

// "1:02:03" of a recording
export function length(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const two = (n) => String(n).padStart(2, '0');
  const hours = Math.floor(s / 3600);
  return `${hours ? `${hours}:${two(Math.floor(s / 60) % 60)}` : Math.floor(s / 60)}:${two(s % 60)}`;
}

// "since 12:03:11"; with the day where it was not today
export function sinceTime(utc, now) {
  const date = new Date(utc);
  if (Number.isNaN(date.getTime())) return '';
  return `since ${isSameDay(date, new Date(now)) ? '' : `${dayOf(date)} `}${timeOf(date)}`;
}

// "since 12:03:11 (4 min)"
export function since(utc, now) {
  const time = sinceTime(utc, now);
  return time && `${time} (${duration((now - new Date(utc)) / 1000)})`;
}

// "Europe/Berlin (UTC+1)"
export function zoneOf(date) {
  const minutes = -date.getTimezoneOffset();
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const offset = `UTC${minutes < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
  return `${Intl.DateTimeFormat().resolvedOptions().timeZone} (${offset})`;
}

// Once on each page with times of day.
export const zoneText = () => `Times are those of this browser: ${zoneOf(new Date())}.`;

function scaled(value, step, units) {
  if (!Number.isFinite(value)) return '–';
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) {
    value /= step;
    ++unit;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export const bytes = (n) => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
export const bitrate = (n) => scaled(n, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
export const milliseconds = (n) => {
  if (!Number.isFinite(n)) return '–';
  if (n >= 1000) return `${(n / 1000).toFixed(1)} s`;
  if (n > 0 && n < 0.05) return '<0.1 ms';
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ms`;
};
const grouped = new Intl.NumberFormat();
// Of what may be very little: three digits, wherever they begin.
export const percent = (n) => (Number.isFinite(n) ? `${Number(n.toPrecision(3))} %` : '–');
export const count = (n) => (Number.isFinite(n) ? grouped.format(n) : '–');
export const fps = (n) => (Number.isFinite(n) ? `${n >= 99.95 ? Math.round(n) : n.toFixed(1)} fps` : '–');
