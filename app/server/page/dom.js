// Elements in one expression: el('a', {class: 'x', href: '/', onclick: f}, 'text', child). Text is never read as HTML.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
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
  return svg('svg', {class: 'icon', 'aria-hidden': 'true'}, svg('use', {href: `/static/icon.svg#${name}`}));
}

// Writes only what differs, so that a page that is told the same each second is not laid out anew.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
