// Where the rig is: a proxy may show it below a path. Inside, paths begin with '/' as if nothing were in front.
const base = globalThis.document?.querySelector('base');
const root = new URL(base?.href ?? '/', globalThis.location?.href ?? 'http://localhost/');
if (base) base.href = root.href; // from now on it does not change with the page's address

export const rootHref = root.href.slice(0, -1); // "https://rig.example/cams"

// "/camera/dock" → "/cams/camera/dock"
export const addressOf = (path) => root.pathname.slice(0, -1) + path;

// The other way; undefined: it is none of ours.
export const pathOf = (url) =>
  url.origin === root.origin && url.pathname.startsWith(root.pathname)
    ? url.pathname.slice(root.pathname.length - 1)
    : undefined;

export const currentPath = () => pathOf(new URL(location.href)) ?? '/';
