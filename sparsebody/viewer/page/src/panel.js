// The panel of the body or joint that is picked: its data, and a chart over time.
import { short } from "./colors.js";
import { canvas, list, make } from "./dom.js";

const BODY = 0, JOINT = 1, MOMENT = 0, FORCE = 3;
const WIDTH = 260, HEIGHT = 96, LEFT = 42, BOTTOM = 16;

export class Panel {
  constructor(document, motion, select) {
    this.element = make("aside", { class: "panel", hidden: true, "aria-live": "polite" });
    Object.assign(this, { document, motion, select });
    this.joints = null;
  }

  show(selected, theme) {
    this.selected = selected;
    this.element.hidden = selected === null;
    this.charts = [];
    this.element.replaceChildren();
    if (selected === null) return;
    this.element.append(make("button", { class: "close", title: "Close (Esc)", onclick: () => this.select(null) }, "×"));
    if (selected.role === BODY) this.showBody(selected.index, theme);
    else this.showJoint(selected.index, theme);
    this.update(theme);
  }

  showBody(body, theme) {
    const { header, arrays } = this.document;
    this.now = { speed: make("span"), energy: make("span"), place: make("span") };
    const links = this.jointsOf(body).slice(0, 12).flatMap((joint, k) => {
      const link = make("a", { onclick: () => this.select({ role: JOINT, index: joint }) }, header.joints[joint]);
      return k ? [", ", link] : [link];
    });
    const more = this.jointsOf(body).length - 12;
    const jointList = make("span", {}, ...links, more > 0 ? ` and ${more} more` : "");
    this.element.append(make("h2", {}, header.bodies[body]), list([
      ["body", `${body + 1} of ${this.motion.nBodies}`],
      ["mass", `${short(arrays.mass[body])} kg`],
      ["center", this.now.place],
      ["speed", this.now.speed],
      ["kinetic energy", this.now.energy],
      ...(arrays.order ? [["eliminated", ordinal(arrays.order[body])]] : []),
      ["joints", jointList],
    ]));
    if (this.motion.nFrames > 1) this.addChart("speed [m/s]", (t) => this.motion.channel("speed", body, t), theme);
  }

  showJoint(joint, theme) {
    const { header, arrays } = this.document, { motion } = this;
    const end = (body) => body < 0 ? "world"
      : make("a", { onclick: () => this.select({ role: BODY, index: body }) }, header.bodies[body]);
    this.now = motion.hasReactions ? { force: make("span"), moment: make("span") } : {};
    const redundant = arrays.redundant[joint];
    this.element.append(make("h2", {}, header.joints[joint]), list([
      ["joint", header.joint_types[joint]],
      ["predecessor", end(arrays.predecessor[joint])],
      ["successor", end(arrays.successor[joint])],
      ...(redundant ? [["redundant rows", String(redundant)]] : []),
      ...(arrays.order ? [["eliminated", ordinal(arrays.order[motion.nBodies + joint])]] : []),
      ...(motion.hasReactions ? [["force", this.now.force], ["moment", this.now.moment]]
        : [["reactions", "not recorded"]]),
    ]));
    if (!motion.hasReactions) return;
    this.addChart("reaction force [N]", (t) => motion.load(joint, FORCE, t), theme);
    let largest = 0;
    for (let t = 0; t < motion.nFrames; t++) largest = Math.max(largest, motion.load(joint, MOMENT, t));
    if (largest > 0) this.addChart("reaction moment [N m]", (t) => motion.load(joint, MOMENT, t), theme);
  }

  jointsOf(body) {
    if (!this.joints) {
      const { predecessor, successor } = this.document.arrays;
      this.joints = Array.from({ length: this.motion.nBodies }, () => []);
      for (let j = 0; j < this.motion.nJoints; j++) {
        if (predecessor[j] >= 0) this.joints[predecessor[j]].push(j);
        if (successor[j] >= 0) this.joints[successor[j]].push(j);
      }
    }
    return this.joints[body];
  }

  addChart(title, value, theme) {
    const chart = canvas(WIDTH, HEIGHT);
    const values = Float64Array.from({ length: this.motion.nFrames }, (_, t) => value(t));
    this.element.append(make("figure", {}, make("figcaption", {}, title), chart));
    this.charts.push({ chart, values });
    this.drawCharts(theme);
  }

  drawCharts(theme) {
    for (const { chart, values } of this.charts) drawChart(chart, values, this.motion, theme);
  }

  // Numbers and charts at the present time.
  update(theme) {
    if (!this.selected) return;
    const { motion, selected: { role, index } } = this;
    if (role === BODY) {
      this.now.speed.textContent = `${short(motion.channel("speed", index))} m/s`;
      this.now.energy.textContent = `${short(motion.channel("energy", index))} J`;
      this.now.place.textContent = `${motion.position(index).map((x) => (Math.abs(x) < 5e-4 ? 0 : x).toFixed(3)).join(", ")} m`;
    } else if (motion.hasReactions) {
      this.now.force.textContent = `${short(motion.load(index, FORCE, motion.index))} N`;
      this.now.moment.textContent = `${short(motion.load(index, MOMENT, motion.index))} N m`;
    }
    this.drawCharts(theme);
  }
}

function ordinal(place) {
  return place < 0 ? "not in the matrix: redundant" : `as number ${place + 1}`;
}

function drawChart(chart, values, motion, theme) {
  const pen = chart.getContext("2d");
  const width = WIDTH - LEFT - 4, height = HEIGHT - BOTTOM - 8;
  let low = Infinity, high = -Infinity;
  for (const x of values) { low = Math.min(low, x); high = Math.max(high, x); }
  low = Math.min(low, 0);
  if (high <= low) high = low + 1;
  const x = (t) => LEFT + (motion.duration > 0 ? (width * (motion.time[t] - motion.start)) / motion.duration : 0);
  const y = (value) => 8 + height * (1 - (value - low) / (high - low));
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  pen.font = "10px system-ui, sans-serif";
  pen.fillStyle = theme.ink;
  pen.strokeStyle = theme.faint;
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const value of [low, high]) {
    pen.beginPath();
    pen.moveTo(LEFT, y(value));
    pen.lineTo(LEFT + width, y(value));
    pen.stroke();
    pen.fillText(short(value), LEFT - 5, y(value));
  }
  pen.textBaseline = "alphabetic";
  pen.fillText(`${short(motion.end)} s`, LEFT + width, HEIGHT - 3);
  pen.textAlign = "left";
  pen.fillText(`${short(motion.start)} s`, LEFT, HEIGHT - 3);
  pen.strokeStyle = "#2f72b8";
  pen.lineWidth = 1.4;
  pen.beginPath();
  values.forEach((value, t) => (t ? pen.lineTo(x(t), y(value)) : pen.moveTo(x(t), y(value))));
  pen.stroke();
  const now = motion.part > 0.5 ? motion.index + 1 : motion.index;
  pen.fillStyle = "#e8731a";
  pen.beginPath();
  pen.arc(x(now), y(values[now]), 3, 0, 2 * Math.PI);
  pen.fill();
}
