// Elements made by their names, attributes and children.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function list(rows) {
  const dl = make("dl");
  for (const [name, value] of rows) dl.append(make("dt", {}, name), make("dd", {}, value));
  return dl;
}

// A canvas of a size in CSS pixels, sharp on any screen.
export function canvas(width, height, id = null) {
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const element = make("canvas", { width: width * scale, height: height * scale, id });
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
  element.getContext("2d").scale(scale, scale);
  return element;
}
