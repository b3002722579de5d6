// The rig's status as a stream of what changes in it: a page at rest costs little.
import {addressOf} from './root.js';

const patience = 10000; // ms: something comes every two seconds

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

// A document changed by a JSON merge patch (RFC 7396). The one before stays as it is; what is equal in both is shared.
export function patched(document, patch) {
  const changed = {...document};
  for (const [key, value] of Object.entries(patch)) {
    const before = isObject(changed[key]) ? changed[key] : {};
    if (value === null) delete changed[key];
    else changed[key] = isObject(value) ? patched(before, value) : value;
  }
  return changed;
}

// Calls `take` with each status, and once `fail(anything came)` when no more will come. Gives the function that ends it.
export function followStatus(take, fail) {
  let status = null;
  let timer = 0;
  const source = new EventSource(addressOf('/api/v1/status/changes'));
  const end = () => {
    clearTimeout(timer);
    source.close();
  };
  const failed = () => {
    end();
    fail(status !== null);
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(failed, patience);
  };
  const on = (name, read) =>
    source.addEventListener(name, ({data}) => {
      wait();
      status = read(JSON.parse(data));
      take(status);
    });
  on('status', (whole) => whole);
  on('change', (patch) => patched(status, patch));
  source.onerror = failed; // a new one begins with the whole status anyhow
  wait();
  return end;
}
