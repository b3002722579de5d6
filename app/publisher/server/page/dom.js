import {addressOf} from './root.js';

// Elements in one expression: el('a', {class: 'x', href: '/', onclick: f}, 'text', child). Text is never read as HTML.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (String(value).startsWith('/') && ['href', 'src'].includes(name)) element.setAttribute(name, addressOf(value));
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const svgSpace = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function icon(name) {
  return svg('svg', {class: 'icon', 'aria-hidden': 'true'}, svg('use', {href: new URL(`./icon.svg#${name}`, import.meta.url)}));
}

// Makes the children of `parent` like `fresh` by changing only what differs: elements that stay keep the focus, the
// selection and their scroll position. Elements with `data-key` are matched by it, others by their place. Listeners of
// `fresh` are not taken over.
export function patch(parent, ...fresh) {
  const keyed = new Map([...parent.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  // What goes is taken out first, since what stays behind it would be moved otherwise, and lose the focus.
  const kept = new Set(fresh.map((wanted) => wanted.dataset?.key));
  for (const [key, child] of keyed) if (!kept.has(key)) child.remove();
  let place = parent.firstChild;
  for (const wanted of fresh) {
    const found = wanted.dataset?.key ? keyed.get(wanted.dataset.key) : place?.dataset?.key ? null : place;
    if (!found || found.nodeName !== wanted.nodeName) {
      parent.insertBefore(wanted, place);
      continue;
    }
    if (found !== place) parent.insertBefore(found, place);
    place = found.nextSibling;
    become(found, wanted);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function become(node, wanted) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== wanted.data) node.data = wanted.data;
    return;
  }
  for (const {name} of [...node.attributes]) if (!wanted.hasAttribute(name)) node.removeAttribute(name);
  for (const {name, value} of wanted.attributes) {
    if (node.getAttribute(name) === value) continue;
    if (name === 'style') node.style.cssText = value; // as an attribute the content security policy refuses it
    else node.setAttribute(name, value);
  }
  patch(node, ...wanted.childNodes);
}

// Writes only what differs, so that a page that is given the same each second is not laid out anew.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
