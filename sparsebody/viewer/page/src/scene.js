// The mechanism in three.js: primitives by their parts, beams and springs as instanced pieces, reactions
// as arrows. Nothing is allocated while it moves.
import * as THREE from "three";
import { instanced } from "./batches.js";
import { LINEAR, shade } from "./colors.js";
import { BODY, GROUND, JOINT, Parts, REDUNDANT, cylinder } from "./parts.js";

const BEAM_PIECES = 10;
const FORCE = 3; // first component of the force in a wrench

export class MechanismScene {
  constructor(document, motion) {
    this.document = document;
    this.motion = motion;
    this.root = new THREE.Group();
    this.size = document.header.size;
    this.color = document.header.color;
    this.selected = null;
    this.showsArrows = false;
    this.parts = new Parts(document, motion, this.root);
    this.strands = this.makeStrands();
    this.arrows = motion.hasReactions ? this.makeArrows() : null;
    this.limits = this.makeLimits();
    this.rgb = new Float64Array(3);
    this.axes = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
    this.jointLoad = new Float64Array(motion.nJoints);
    this.bodyLoad = new Float64Array(motion.nBodies);
  }

  // ---- rods, springs, beams --------------------------------------------------------------

  makeStrands() {
    const { strand_kind: kind } = this.document.arrays;
    let straight = 0, coils = 0;
    for (const k of kind) {
      if (k === 1) coils += 1; else straight += k === 0 ? 1 : BEAM_PIECES;
    }
    const rods = instanced(cylinder(straight > 4000 ? 6 : 12), new THREE.MeshLambertMaterial(), straight);
    const springs = instanced(coil(), new THREE.MeshLambertMaterial(), coils);
    for (const mesh of [rods, springs]) if (mesh.count) this.root.add(mesh);
    return { rods, springs, points: new Float32Array(12), ends: new Float32Array(6) };
  }

  placeStrands() {
    const { strand_kind: kind, strand_body: body, strand_point: point, strand_radius: radius } =
      this.document.arrays;
    const { rods, springs, points, ends } = this.strands;
    let rod = 0, spring = 0;
    for (let s = 0; s < kind.length; s++) {
      for (let k = 0; k < 4; k++) {
        const p = 12 * s + 3 * k;
        this.motion.point(body[4 * s + k], point[p], point[p + 1], point[p + 2], points, 3 * k);
      }
      if (kind[s] === 2) {
        for (let piece = 0; piece < BEAM_PIECES; piece++) {
          bezier(points, piece / BEAM_PIECES, ends, 0);
          bezier(points, (piece + 1) / BEAM_PIECES, ends, 3);
          this.stretch(rods, rod++, ends, radius[s], radius[s]);
        }
        continue;
      }
      for (let i = 0; i < 3; i++) [ends[i], ends[3 + i]] = [points[i], points[9 + i]];
      if (kind[s] === 0) this.stretch(rods, rod++, ends, radius[s], radius[s]);
      else this.stretch(springs, spring++, ends, 3.2 * radius[s], 3.2 * radius[s]);
    }
    rods.instanceMatrix.needsUpdate = springs.instanceMatrix.needsUpdate = true;
  }

  // Put an instance along z from ends[0 ..] to ends[3 ..].
  stretch(mesh, index, ends, width, depth) {
    const [x, y, z] = this.axes, out = mesh.instanceMatrix.array, o = 16 * index;
    z.set(ends[3] - ends[0], ends[4] - ends[1], ends[5] - ends[2]);
    const length = z.length() || 1e-30;
    z.divideScalar(length);
    x.set(Math.abs(z.x) < 0.6 ? 1 : 0, Math.abs(z.x) < 0.6 ? 0 : 1, 0);
    x.addScaledVector(z, -x.dot(z)).normalize();
    y.crossVectors(z, x);
    x.multiplyScalar(width).toArray(out, o);
    y.multiplyScalar(depth).toArray(out, o + 4);
    z.multiplyScalar(length).toArray(out, o + 8);
    for (let i = 0; i < 3; i++) out[o + 12 + i] = 0.5 * (ends[i] + ends[3 + i]);
  }

  // ---- reactions -------------------------------------------------------------------------

  makeArrows() {
    const n = this.motion.nJoints;
    const shafts = instanced(cylinder(8), new THREE.MeshLambertMaterial(), n);
    const heads = instanced(new THREE.ConeGeometry(1, 1, 12).rotateX(Math.PI / 2),
      new THREE.MeshLambertMaterial(), n);
    shafts.visible = heads.visible = false;
    this.root.add(shafts, heads);
    const force = new Float64Array(3), ends = new Float64Array(6), origin = new Float64Array(3);
    return { shafts, heads, force, ends, origin };
  }

  // Forces on the successors, from the joints; the largest one of the motion is two bodies long.
  placeArrows() {
    const { shafts, heads, force, ends, origin } = this.arrows;
    const { successor, joint_point: point } = this.document.arrays;
    const { motion } = this, longest = 1.6 * this.size, thick = 0.022 * this.size;
    const largest = this.limits.load || 1;
    for (let j = 0; j < motion.nJoints; j++) {
      motion.wrench(j, FORCE, motion.index, force);
      const body = successor[j], m = motion.offset(body), { pose } = motion;
      motion.point(body, point[3 * j], point[3 * j + 1], point[3 * j + 2], origin, 0);
      const size = Math.hypot(force[0], force[1], force[2]) / largest;
      const length = size < 1e-4 ? 0 : longest * Math.max(0.12, size);
      const scale = length / (size * largest || 1), head = Math.min(0.4 * length, 6 * thick);
      for (let i = 0; i < 3; i++) {
        const r = m + 4 * i;
        const d = scale * (pose[r] * force[0] + pose[r + 1] * force[1] + pose[r + 2] * force[2]);
        ends[i] = origin[i];
        ends[3 + i] = origin[i] + d;
      }
      const body_end = length ? 1 - head / length : 0;
      for (let i = 0; i < 3; i++) origin[i] = ends[i] + body_end * (ends[3 + i] - ends[i]);
      const tip = [ends[3], ends[4], ends[5]];
      for (let i = 0; i < 3; i++) ends[3 + i] = origin[i];
      const width = length ? thick : 0;
      this.stretch(shafts, j, ends, width, width);
      for (let i = 0; i < 3; i++) { ends[i] = origin[i]; ends[3 + i] = tip[i]; }
      this.stretch(heads, j, ends, 2.6 * width, 2.6 * width);
    }
    shafts.instanceMatrix.needsUpdate = heads.instanceMatrix.needsUpdate = true;
  }

  setArrows(visible) {
    if (!this.arrows) return;
    this.showsArrows = visible;
    this.arrows.shafts.visible = this.arrows.heads.visible = visible;
    if (visible) this.placeArrows();
  }

  // ---- colors ----------------------------------------------------------------------------

  // The largest numbers of the whole motion, at which the colors end.
  makeLimits() {
    const { arrays } = this.document, { motion } = this;
    const limits = { speed: 65535 * arrays.speed_step[0], energy: 65535 * arrays.energy_step[0] };
    limits.order = "order" in arrays ? Math.max(...sampleMax(arrays.order)) : 0;
    if (motion.hasReactions) {
      limits.load = 0;
      for (let t = 0; t < motion.nFrames; t++) {
        for (let j = 0; j < motion.nJoints; j++) {
          limits.load = Math.max(limits.load, motion.load(j, FORCE, t));
        }
      }
    }
    return limits;
  }

  computeLoads() {
    const { predecessor, successor } = this.document.arrays, { motion, jointLoad, bodyLoad } = this;
    bodyLoad.fill(0);
    for (let j = 0; j < motion.nJoints; j++) {
      const load = jointLoad[j] = motion.load(j, FORCE, motion.index);
      for (const body of [predecessor[j], successor[j]]) {
        if (body >= 0) bodyLoad[body] = Math.max(bodyLoad[body], load);
      }
    }
  }

  // Value between 0 and 1 of a body or joint in the chosen color, negative for none.
  value(role, owner) {
    const { motion } = this, { order } = this.document.arrays;
    switch (this.color) {
      case "speed": case "energy":
        return role === BODY ? motion.channel(this.color, owner) / (this.limits[this.color] || 1) : -1;
      case "load":
        return (role === BODY ? this.bodyLoad[owner] : this.jointLoad[owner]) / (this.limits.load || 1);
      case "order": {
        const place = order[role === BODY ? owner : motion.nBodies + owner];
        return place < 0 ? -1 : place / (this.limits.order || 1);
      }
    }
    return -1;
  }

  // Put the linear color of a part into rgb.
  partColor(theme, p, rgb) {
    const { selected } = this, { role, owner, body } = this.parts, { part_color: color } = this.document.arrays;
    const r = role[p], isBody = r === BODY;
    const value = isBody || r === JOINT ? this.value(r, owner[p]) : -1;
    if (selected && r !== GROUND && selected.role === (isBody ? BODY : JOINT) && selected.index === owner[p]) {
      split(theme.selected, rgb);
    } else if (value >= 0) shade(value, rgb, 0);
    else if (r === JOINT) split(theme.joint, rgb);
    else if (r === GROUND) split(theme.ground, rgb);
    else if (r === REDUNDANT) split(theme.redundant, rgb);
    else if (this.color === "plain") split(color?.[p] >= 0 ? color[p] : theme.bodies[this.tint(body[p])], rgb);
    else split(theme.neutral, rgb);
    for (let i = 0; i < 3; i++) rgb[i] = LINEAR[Math.round(rgb[i])];
  }

  paint(theme) {
    if (this.color === "load") this.computeLoads();
    this.parts.paint((p, rgb) => this.partColor(theme, p, rgb), this.rgb);
    const { rods, springs } = this.strands;
    this.tintAll(rods, theme.bodies[1]);
    this.tintAll(springs, theme.ground);
    if (this.arrows) for (const mesh of [this.arrows.shafts, this.arrows.heads]) this.tintAll(mesh, theme.arrow);
  }

  tint(body) { return this.document.arrays.tint[body]; }

  tintAll(mesh, color) { mesh.material.color.setHex(color); }

  setJoints(visible) { this.parts.hidesJoints = !visible; }

  // Move strands and arrows to where `motion` is.
  update() {
    this.placeStrands();
    if (this.arrows && this.showsArrows) this.placeArrows();
  }

  // Place and color what a camera sees on a screen of a height [pixels].
  look(camera, height, theme) {
    this.parts.place(camera, height);
    this.paint(theme);
  }

  // Box of all parts over some frames, from the center of the scene, and where their middles are.
  bounds() {
    const { motion } = this;
    const box = new THREE.Box3(), corner = new THREE.Vector3();
    const n = motion.nFrames, step = Math.max(1, Math.floor(n / 8));
    const balls = []; // x, y, z, radius
    for (let t = 0; t < n; t += step) {
      motion.moveTo(motion.time[t]);
      this.growByStrands(box, balls, corner);
      this.parts.bound(box, balls);
    }
    return { box, balls: Float32Array.from(balls) };
  }

  growByStrands(box, balls, point) {
    const { strand_body: body, strand_point: local } = this.document.arrays, { points } = this.strands;
    for (let k = 0; k < body.length; k++) {
      this.motion.point(body[k], local[3 * k], local[3 * k + 1], local[3 * k + 2], points, 0);
      box.expandByPoint(point.fromArray(points));
      balls.push(point.x, point.y, point.z, 0);
    }
  }
}

function* sampleMax(order) {
  let largest = 0;
  for (const place of order) largest = Math.max(largest, place);
  yield largest;
}

function split(hex, out) {
  out[0] = (hex >> 16) & 255;
  out[1] = (hex >> 8) & 255;
  out[2] = hex & 255;
}

function bezier(p, s, out, at) {
  const u = 1 - s, a = u * u * u, b = 3 * s * u * u, c = 3 * s * s * u, d = s * s * s;
  for (let i = 0; i < 3; i++) out[at + i] = a * p[i] + b * p[3 + i] + c * p[6 + i] + d * p[9 + i];
}

// A spring of unit length and radius about z; its wire is round where it is 20 radii long.
function coil() {
  const slenderness = 20, turns = 9;
  class Helix extends THREE.Curve {
    getPoint(s, target = new THREE.Vector3()) {
      const radius = Math.min(1, 14 * s, 14 * (1 - s)), angle = 2 * Math.PI * turns * s;
      return target.set(radius * Math.cos(angle), radius * Math.sin(angle), slenderness * (s - 0.5));
    }
  }
  return new THREE.TubeGeometry(new Helix(), 20 * turns, 0.24, 6).scale(1, 1, 1 / slenderness);
}
