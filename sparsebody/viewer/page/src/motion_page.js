// The page of a motion or a pose: stage, controls, clock, and what a URL's fragment asks for.
import * as THREE from "three";
import { Cameras, VIEWS } from "./cameras.js";
import { capture } from "./capture.js";
import { THEMES, short } from "./colors.js";
import { make } from "./dom.js";
import { Ground } from "./grid.js";
import { Axes, Legend } from "./legend.js";
import { Lights } from "./lights.js";
import { Motion } from "./motion.js";
import { Panel } from "./panel.js";
import { Picking } from "./picking.js";
import { Playback } from "./playback.js";
import { Resolution, isSoftware } from "./resolution.js";
import { MechanismScene } from "./scene.js";

const PLAY = '<svg viewBox="0 0 16 16"><path d="M3 1.5v13l11-6.5z"/></svg>';
const PAUSE = '<svg viewBox="0 0 16 16"><path d="M3 2h3.5v12H3zM9.5 2H13v12H9.5z"/></svg>';
const MANY = 4000; // parts
const STILL = 250; // [ms] after which a camera has come to rest
const COLORS = { plain: "plain", speed: "speed", energy: "kinetic energy", load: "load of joints", order: "elimination order" };
const HELP = `space: play or pause
← →: a frame back or on (with shift: ten)
home, end: first and last frame
1 2 3 4 5: views; f: fit
j: joints; r: reactions; g: grid; d: dark
click: data of a body or joint; esc: close`;

export class MotionPage {
  constructor(packed) {
    this.packed = packed;
    this.asked = new URLSearchParams(location.hash.slice(1));
    this.motion = new Motion(packed);
    this.scene = new MechanismScene(packed, this.motion);
    this.playback = new Playback(this.motion);
    this.themeName = this.asked.get("theme") in THEMES ? this.asked.get("theme") : preferred();
    this.makeStage();
    this.makeControls();
    this.setTheme(this.themeName);
    this.setColor(this.asked.get("color") ?? packed.header.color);
    this.resize();
    this.cameras.look(this.asked.get("view"));
    this.playback.setTime(this.asked.has("t") ? Number(this.asked.get("t")) : this.motion.start);
    if (this.asked.get("forces") === "on") this.toggleArrows();
    if (this.asked.get("joints") === "off") this.toggleJoints();
    if (this.asked.has("body")) this.select(this.named("bodies", this.asked.get("body"), 0));
    if (this.asked.has("joint")) this.select(this.named("joints", this.asked.get("joint"), 1));
    this.update();
    this.render();
    this.frames = 0; // that were rendered since
    if (this.asked.has("capture")) { capture(this); return; }
    window.addEventListener("resize", () => { this.resize(); this.render(); });
    if (this.playback.canPlay && this.asked.get("play") !== "off" && !this.asked.has("t")) this.play(performance.now());
    this.tick = (now) => {
      if (this.playback.isPlaying) {
        this.playback.advance(now);
        this.update();
        this.isDirty = true;
      }
      const isMoving = this.playback.isPlaying || now - this.turned < STILL;
      if (this.resolution.choose(now, isMoving)) this.isDirty = true;
      if (this.isDirty) this.render();
      requestAnimationFrame(this.tick);
    };
    requestAnimationFrame(this.tick);
  }

  get theme() { return THEMES[this.themeName]; }

  named(list, name, role) {
    const index = this.packed.header[list].indexOf(name);
    return index < 0 ? null : { role, index };
  }

  // ---- stage -----------------------------------------------------------------------------

  makeStage() {
    const antialias = !isSoftware();
    this.renderer = new THREE.WebGLRenderer({ antialias });
    this.resolution = new Resolution(this.renderer, antialias, this.scene.parts.n < MANY ? 0.75 : 0.5);
    const canvas = this.renderer.domElement;
    canvas.id = "stage";
    canvas.tabIndex = 0;
    document.body.append(canvas);
    this.world = new THREE.Scene();
    const bounds = this.scene.bounds();
    this.cameras = new Cameras(this.packed.header, bounds, canvas);
    this.ground = new Ground(bounds.box, this.cameras.up, this.theme);
    this.world.add(this.scene.root, this.ground.root);
    const lights = new Lights(this.cameras);
    this.world.add(...lights.all);
    this.scene.parts.light(lights);
    this.turned = -Infinity; // when the camera moved last
    this.cameras.controls.addEventListener("change", () => {
      this.turned = performance.now();
      this.isDirty = true;
    });
    this.picking = new Picking(canvas, this.cameras.camera, this.scene, (hit) => this.select(hit), () => { if (this.isDirty) this.render(); });
  }

  resize() {
    const width = window.innerWidth || 1280, height = window.innerHeight || 720;
    this.setSize(width, height, this.header.getBoundingClientRect().bottom + 8);
  }

  setSize(width, height, insetTop = 64) {
    this.renderer.setSize(width, height);
    this.cameras.resize(width, height, insetTop);
  }

  // ---- controls --------------------------------------------------------------------------

  makeControls() {
    const { header } = this.packed, { motion } = this;
    const counts = [`${plural(motion.nBodies, "body", "bodies")}`, plural(motion.nJoints, "joint", "joints")];
    if (motion.nFrames > 1) counts.push(plural(motion.nFrames, "frame", "frames"));
    const title = make("div", { title: HELP }, make("h1", {}, header.title), make("p", {}, counts.join(" · ")));
    this.viewButtons = VIEWS.map((view, k) => make("button", {
      title: `View (${k + 1})`, onclick: () => this.look(view),
    }, view === "default" ? "fit" : view));
    this.colorSelect = make("select", { title: "What colors show", onchange: () => this.setColor(this.colorSelect.value) });
    for (const [value, text] of Object.entries(COLORS)) {
      const lacks = (value === "load" && !motion.hasReactions) || (value === "order" && !this.packed.arrays.order);
      this.colorSelect.append(make("option", { value, disabled: lacks }, lacks ? `${text} (not recorded)` : text));
    }
    this.toggles = {
      joints: make("button", { "aria-pressed": "true", title: "Joints (j)", onclick: () => this.toggleJoints() }, "joints"),
      forces: make("button", {
        "aria-pressed": "false", disabled: !motion.hasReactions, onclick: () => this.toggleArrows(),
        title: motion.hasReactions ? "Reaction forces on the successors (r)" : "No reactions are recorded: --record-reactions",
      }, "reactions"),
      grid: make("button", { "aria-pressed": "true", title: "Grid (g)", onclick: () => this.toggleGrid() }, "grid"),
      dark: make("button", { "aria-pressed": "false", title: "Dark background (d)", onclick: () => this.toggleDark() }, "dark"),
    };
    const group = (...items) => make("div", { class: "group" }, ...items);
    const tools = make("div", { class: "tools" }, group(...this.viewButtons), group(this.colorSelect), group(...Object.values(this.toggles)));
    this.header = make("header", {}, title, tools);
    document.body.append(this.header);
    this.legend = new Legend();
    this.axes = new Axes();
    this.panel = new Panel(this.packed, motion, (hit) => this.select(hit));
    document.body.append(this.legend.element, this.axes.element, this.panel.element);
    if (this.playback.canPlay) this.makeBar(); else document.body.classList.add("still");
    window.addEventListener("keydown", (event) => this.key(event));
  }

  makeBar() {
    const { motion, playback } = this;
    this.playButton = make("button", { id: "play", "aria-label": "Play or pause", title: "Play or pause (space)", onclick: () => this.play(performance.now()) });
    this.playButton.innerHTML = PLAY;
    this.slider = make("input", {
      type: "range", min: 0, max: 10000, value: 0, step: 1, "aria-label": "Time", id: "time",
      oninput: () => this.setTime(motion.start + (motion.duration * this.slider.value) / 10000),
    });
    this.clock = make("output", { id: "clock" });
    this.rateSelect = make("select", { title: "Seconds of the motion in a second", "aria-label": "Speed", onchange: () => { playback.rate = Number(this.rateSelect.value); } });
    for (const rate of playback.rates) {
      this.rateSelect.append(make("option", { value: rate, selected: rate === playback.rate }, `× ${Number(rate.toPrecision(2))}`));
    }
    document.body.append(make("div", { class: "bar" }, this.playButton, this.slider, this.clock, this.rateSelect));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const step = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => this.play(performance.now()),
      ArrowLeft: () => this.step(-step), ArrowRight: () => this.step(step),
      Home: () => this.setTime(this.motion.start), End: () => this.setTime(this.motion.end),
      f: () => { this.cameras.fit(); this.isDirty = true; },
      j: () => this.toggleJoints(), r: () => this.toggleArrows(), g: () => this.toggleGrid(), d: () => this.toggleDark(),
      Escape: () => this.select(null),
    };
    const view = VIEWS[Number(event.key) - 1];
    const action = view ? () => this.look(view) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // ---- actions ---------------------------------------------------------------------------

  play(now) {
    this.playback.toggle(now);
    if (this.playButton) this.playButton.innerHTML = this.playback.isPlaying ? PAUSE : PLAY;
  }

  pause() { if (this.playback.isPlaying) this.play(0); }

  step(n) { this.pause(); this.playback.step(n); this.update(); this.isDirty = true; }

  setTime(time) { this.pause(); this.playback.setTime(time); this.update(); this.isDirty = true; }

  look(view) { this.cameras.look(view); this.isDirty = true; }

  select(hit) {
    this.scene.selected = hit;
    this.panel.show(hit, this.theme);
    this.repaint();
  }

  setColor(color) {
    const option = [...this.colorSelect.options].find((one) => one.value === color && !one.disabled);
    this.scene.color = option ? color : "plain";
    this.colorSelect.value = this.scene.color;
    this.drawLegend();
    this.repaint();
  }

  setTheme(name) {
    this.themeName = name;
    document.documentElement.dataset.theme = name;
    this.toggles.dark.setAttribute("aria-pressed", String(name === "dark"));
    this.world.background = new THREE.Color(this.theme.background);
    this.ground.paint(this.theme);
    this.drawLegend();
    this.panel.drawCharts?.call({ charts: this.panel.charts ?? [], motion: this.motion }, this.theme);
    this.repaint();
  }

  toggleDark() { this.setTheme(this.themeName === "dark" ? "light" : "dark"); }

  toggleGrid() {
    this.ground.root.visible = press(this.toggles.grid);
    this.drawLegend();
    this.isDirty = true;
  }

  toggleJoints() {
    this.scene.setJoints(press(this.toggles.joints));
    this.update();
    this.isDirty = true;
  }

  toggleArrows() {
    if (this.toggles.forces.disabled) return;
    this.scene.setArrows(press(this.toggles.forces));
    this.drawLegend();
    this.isDirty = true;
  }

  drawLegend() {
    const notes = [];
    if (this.ground.root.visible) notes.push(`grid ${short(this.ground.spacing)} m`);
    if (this.scene.showsArrows) notes.push(`longest arrow ${short(this.scene.limits.load)} N`);
    if (this.packed.arrays.redundant.some((n) => n > 0)) notes.push("red ring: redundant rows");
    this.legend.draw(this.scene.color, this.scene.limits[this.scene.color], this.theme, notes.join("   ·   "));
  }

  repaint() { this.isDirty = true; }

  // Everything at the time of the clock.
  update() {
    this.motion.moveTo(this.playback.time);
    this.scene.update();
    this.panel.update(this.theme);
    if (!this.slider) return;
    const { start, end, duration } = this.motion, { time } = this.playback;
    this.slider.value = Math.round((10000 * (time - start)) / duration);
    this.clock.textContent = this.timeText(time, end, duration);
  }

  timeText(time, end = this.motion.end, duration = this.motion.duration) {
    const digits = Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(duration))));
    return `${time.toFixed(digits)} / ${end.toFixed(digits)} s`;
  }

  render() {
    this.isDirty = false;
    this.cameras.keepRange();
    this.scene.look(this.cameras.camera, this.renderer.domElement.height, this.theme);
    this.renderer.render(this.world, this.cameras.camera);
    this.axes.draw(this.cameras.camera, this.theme);
    this.frames += 1;
  }

  // ---- for tests and scripts -------------------------------------------------------------

  positions() { return Array.from({ length: this.motion.nBodies }, (_, body) => this.motion.position(body)); }

  // Pixels of a body's center of mass in the window.
  onScreen(body) {
    const point = new THREE.Vector3();
    const m = this.motion.offset(body);
    point.set(...[3, 7, 11].map((k) => this.motion.pose[m + k])).project(this.cameras.camera);
    const frame = this.renderer.domElement.getBoundingClientRect();
    return [frame.left + ((point.x + 1) / 2) * frame.width, frame.top + ((1 - point.y) / 2) * frame.height];
  }
}

function press(button) {
  const pressed = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(pressed));
  return pressed;
}

function plural(n, one, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

function preferred() {
  return window.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
