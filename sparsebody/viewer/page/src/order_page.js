// The page of an elimination order: graph of bodies and joints, elimination tree, and the matrix in
// that order. All arrays go by position: position 0 is eliminated first.
import { THEMES, cssShade, short } from "./colors.js";
import { make } from "./dom.js";

const BODY = "#e07b23", JOINT = "#1b5e9b", FILL = "#c3ccd4", MARK = "#d1295f";
const REACH = 12; // pixels within which the pointer finds a block
const PAD = 16;

export class OrderPage {
  constructor({ header, arrays }) {
    Object.assign(this, { header, arrays, n: arrays.order.length, hovered: -1 });
    this.asked = new URLSearchParams(location.hash.slice(1));
    const dark = window.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.themeName = this.asked.get("theme") in THEMES ? this.asked.get("theme") : dark;
    this.theme = THEMES[this.themeName];
    document.documentElement.dataset.theme = this.themeName;
    this.position = new Int32Array(this.n); // of each block
    arrays.order.forEach((block, position) => { this.position[block] = position; });
    this.offset = new Int32Array(this.n + 1); // first scalar row of each position
    arrays.size.forEach((size, k) => { this.offset[k + 1] = this.offset[k] + size; });
    this.tree = treePlaces(arrays.parent, arrays.sequence);
    this.makeLayout();
    this.draw();
    window.addEventListener("resize", () => this.draw());
    if (this.asked.has("block")) this.hover(header.names.indexOf(this.asked.get("block")) < 0 ? -1
      : this.position[header.names.indexOf(this.asked.get("block"))]);
  }

  makeLayout() {
    const { header } = this;
    const counts = `${header.n_bodies.toLocaleString("en")} bodies and ${(this.n - header.n_bodies).toLocaleString("en")} joints in order “${header.ordering}”`;
    document.body.append(make("header", {}, make("div", {}, make("h1", {}, header.title), make("p", {}, counts)),
      make("p", {}, key(BODY), "body", key(JOINT), "joint", key(FILL), "fill-in", key(MARK), "hovered")));
    this.plots = {
      graph: this.plot("Graph", "bodies and joints, shaded from first to last eliminated"),
      tree: this.plot("Elimination tree", `height ${header.height}, largest front ${header.front} rows`),
      matrix: this.plot("Matrix and L", `${header.rows.toLocaleString("en")} rows, nnz(L) ${header.nnz_l.toLocaleString("en")}, ${short(header.flops)} flops`),
    };
    document.body.append(make("main", { class: "orders" }, ...Object.values(this.plots).map((plot) => plot.section)));
    this.text = make("output", { id: "hovered" }, "Hover over a body, a joint or an entry.");
    document.body.append(this.text);
  }

  // Two canvases in a section: what stays, and the marks of what is hovered above it.
  plot(title, text) {
    const still = make("canvas"), marks = make("canvas");
    const frame = make("div", { class: "plot" }, still, marks);
    const section = make("section", {}, make("h2", {}, title), make("p", {}, text), frame);
    const plot = { section, frame, still, marks };
    marks.addEventListener("pointermove", (event) => {
      const box = marks.getBoundingClientRect();
      this.hover(plot.find(event.clientX - box.left, event.clientY - box.top));
    });
    marks.addEventListener("pointerleave", () => this.hover(-1));
    return plot;
  }

  draw() {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    for (const plot of Object.values(this.plots)) {
      const { width, height } = plot.frame.getBoundingClientRect();
      Object.assign(plot, { width, height });
      for (const canvas of [plot.still, plot.marks]) {
        canvas.width = width * scale;
        canvas.height = height * scale;
        canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
      }
    }
    this.drawGraph();
    this.drawTree();
    this.drawMatrix();
    this.mark();
  }

  isBody(position) { return this.arrays.order[position] < this.header.n_bodies; }

  // ---- graph -----------------------------------------------------------------------------

  drawGraph() {
    const { graph } = this.plots, { place } = this.arrays;
    graph.points = fitted(place, graph.width, graph.height, true);
    graph.find = (x, y) => nearest(graph.points, x, y);
    const pen = graph.still.getContext("2d");
    this.drawEdges(pen, graph.points, this.edges());
    this.drawNodes(pen, graph.points, nodeRadius(this.n, graph), true);
  }

  // Pairs of positions: every joint with its bodies.
  edges() {
    const { ends } = this.arrays, pairs = [], { n_bodies: first } = this.header;
    for (let k = 0; k < ends.length; k++) {
      if (ends[k] >= 0) pairs.push(this.position[first + (k >> 1)], this.position[ends[k]]);
    }
    return pairs;
  }

  drawEdges(pen, points, pairs) {
    pen.strokeStyle = this.theme.faint;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let k = 0; k < pairs.length; k += 2) {
      pen.moveTo(points[2 * pairs[k]], points[2 * pairs[k] + 1]);
      pen.lineTo(points[2 * pairs[k + 1]], points[2 * pairs[k + 1] + 1]);
    }
    pen.stroke();
  }

  // Bodies as squares, joints as circles.
  drawNodes(pen, points, radius, isShaded, half = radius) {
    for (let k = 0; k < this.n; k++) {
      const body = this.isBody(k);
      pen.fillStyle = isShaded ? cssShade(k / Math.max(1, this.n - 1)) : body ? BODY : JOINT;
      pen.beginPath();
      if (body) pen.rect(points[2 * k] - half, points[2 * k + 1] - half, 2 * half, 2 * half);
      else pen.arc(points[2 * k], points[2 * k + 1], radius, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  // ---- elimination tree ------------------------------------------------------------------

  drawTree() {
    const { tree } = this.plots, { parent } = this.arrays;
    tree.points = fitted(this.tree, tree.width, tree.height, false);
    tree.find = (x, y) => nearest(tree.points, x, y);
    const pairs = [];
    parent.forEach((above, k) => { if (above >= 0) pairs.push(k, above); });
    const pen = tree.still.getContext("2d");
    this.drawEdges(pen, tree.points, pairs);
    const leaves = new Set(parent).size; // distinct parents: inner nodes, and the roots' -1
    const spacing = tree.width / Math.max(1, this.n - leaves);
    const radius = nodeRadius(this.n, tree);
    this.drawNodes(pen, tree.points, radius, false, Math.max(1, Math.min(radius, 0.36 * spacing)));
  }

  // ---- matrix ----------------------------------------------------------------------------

  drawMatrix() {
    const { matrix } = this.plots, { arrays, offset, n } = this, rows = offset[n];
    const side = Math.min(matrix.width, matrix.height) - 2;
    Object.assign(matrix, { side, left: (matrix.width - side) / 2, top: (matrix.height - side) / 2 });
    const pen = matrix.still.getContext("2d"), scale = side / rows;
    const block = (row, column, color) => {
      pen.fillStyle = color;
      pen.fillRect(matrix.left + offset[column] * scale, matrix.top + offset[row] * scale,
        Math.max(0.8, arrays.size[column] * scale), Math.max(0.8, arrays.size[row] * scale));
    };
    for (let k = 0; k < n; k++) {
      for (let p = arrays.l_first[k]; p < arrays.l_first[k + 1]; p++) block(arrays.l_below[p], k, FILL);
    }
    for (let k = 0; k < n; k++) {
      for (let p = arrays.coupled_first[k]; p < arrays.coupled_first[k + 1]; p++) block(arrays.coupled[p], k, JOINT);
    }
    for (let k = 0; k < n; k++) block(k, k, this.isBody(k) ? BODY : FILL);
    pen.strokeStyle = this.theme.faint;
    pen.strokeRect(matrix.left, matrix.top, side, side);
    matrix.find = (x, y) => {
      const row = (y - matrix.top) / scale, column = (x - matrix.left) / scale;
      const isInside = Math.min(row, column) >= 0 && Math.max(row, column) < rows;
      return isInside ? positionOf(offset, column) : -1;
    };
  }

  // ---- what is hovered -------------------------------------------------------------------

  hover(position) {
    if (position === this.hovered) return;
    this.hovered = position;
    this.mark();
  }

  // The block, what it fills in below itself (its front), and its way up the tree.
  mark() {
    const { plots, arrays, hovered, n } = this;
    for (const { marks, width, height } of Object.values(plots)) marks.getContext("2d").clearRect(0, 0, width, height);
    if (hovered < 0) {
      this.text.textContent = "Hover over a body, a joint or an entry: it is marked in all three, with the blocks of its front and its way to the root.";
      return;
    }
    const below = arrays.l_below.subarray(arrays.l_first[hovered], arrays.l_first[hovered + 1]);
    const way = [];
    for (let k = hovered; k >= 0; k = arrays.parent[k]) way.push(k);
    for (const name of ["graph", "tree"]) {
      const { points } = plots[name], pen = plots[name].marks.getContext("2d");
      const radius = nodeRadius(n, plots[name]);
      pen.strokeStyle = MARK;
      pen.lineWidth = 2;
      if (name === "tree") {
        pen.beginPath();
        way.forEach((k, i) => (i ? pen.lineTo : pen.moveTo).call(pen, points[2 * k], points[2 * k + 1]));
        pen.stroke();
      }
      for (const k of below) ring(pen, points, k, radius + 2);
      pen.fillStyle = MARK;
      pen.beginPath();
      pen.arc(points[2 * hovered], points[2 * hovered + 1], radius + 3, 0, 2 * Math.PI);
      pen.fill();
    }
    const { left, top, side, marks } = plots.matrix, pen = marks.getContext("2d"), scale = side / this.offset[n];
    pen.fillStyle = "rgba(209,41,95,.28)";
    const start = this.offset[hovered] * scale, width = Math.max(1.5, arrays.size[hovered] * scale);
    pen.fillRect(left + start, top, width, side);
    pen.fillRect(left, top + start, side, width);
    const kind = this.isBody(hovered) ? "body" : "joint", name = this.header.names[arrays.order[hovered]];
    this.text.textContent = `${kind} ${name}: eliminated as number ${hovered + 1} of ${n}, ${arrays.size[hovered]} rows, `
      + `${below.length} blocks below it in L, ${way.length - 1} steps to the root`;
  }
}

function key(color) { return make("span", { class: "key", style: `background:${color}` }); }

function nodeRadius(n, { width, height }) {
  return Math.max(1.2, Math.min(5, 0.28 * Math.sqrt((width * height) / Math.max(1, n))));
}

function ring(pen, points, k, radius) {
  pen.beginPath();
  pen.arc(points[2 * k], points[2 * k + 1], radius, 0, 2 * Math.PI);
  pen.stroke();
}

// Leaves side by side in postorder, parents above the middle of their children, by height.
function treePlaces(parent, sequence) {
  const n = parent.length, places = new Float32Array(2 * n);
  const sum = new Float64Array(n), count = new Int32Array(n), height = new Int32Array(n);
  let leaves = 0;
  for (const k of sequence) {
    const x = count[k] ? sum[k] / count[k] : leaves++;
    places[2 * k] = x;
    places[2 * k + 1] = height[k];
    const above = parent[k];
    if (above < 0) continue;
    sum[above] += x;
    count[above] += 1;
    height[above] = Math.max(height[above], height[k] + 1);
  }
  return places;
}

// Places in pixels, y up; with equal scales or filling the frame.
function fitted(places, width, height, isEqual) {
  let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
  for (let k = 0; k < places.length; k += 2) {
    left = Math.min(left, places[k]); right = Math.max(right, places[k]);
    low = Math.min(low, places[k + 1]); high = Math.max(high, places[k + 1]);
  }
  let sx = right > left ? (width - 2 * PAD) / (right - left) : 0, sy = high > low ? (height - 2 * PAD) / (high - low) : 0;
  if (isEqual) sx = sy = Math.min(sx || Infinity, sy || Infinity, 1e9);
  const points = new Float32Array(places.length);
  for (let k = 0; k < places.length; k += 2) {
    points[k] = width / 2 + sx * (places[k] - (left + right) / 2);
    points[k + 1] = height / 2 - sy * (places[k + 1] - (low + high) / 2);
  }
  return points;
}

function nearest(points, x, y) {
  let best = -1, least = REACH * REACH;
  for (let k = 0; k < points.length; k += 2) {
    const square = (points[k] - x) ** 2 + (points[k + 1] - y) ** 2;
    if (square < least) [best, least] = [k / 2, square];
  }
  return best;
}

// The position whose rows hold a scalar row.
function positionOf(offset, row) {
  let low = 0, high = offset.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offset[middle] <= row) low = middle; else high = middle - 1;
  }
  return low;
}
