// Primitives of bodies and joints, a batch for each kind, which holds what the camera sees: what is small
// on the screen is drawn as a face of the box about it, or left out.
import * as THREE from "three";
import { Faces, Instances } from "./batches.js";

export const BODY = 0, JOINT = 1, GROUND = 2, REDUNDANT = 3; // roles
const BOX = 0, CYLINDER = 1, SPHERE = 2, PRISM = 3, RING = 4, MESH = 5; // kinds; MESH is the first mesh
// Half the sides of the box about a primitive.
const HALVES = { [BOX]: [0.5, 0.5, 0.5], [CYLINDER]: [1, 1, 0.5], [SPHERE]: [1, 1, 1], [PRISM]: [1, 1, 0.5], [RING]: [1.16, 1.16, 0.16] };
const SPECK = 0.1; // radius [pixels] below which nothing is drawn
const DETAIL = 0.4; // radius over the largest one of the body, below which a part is a detail

export class Parts {
  constructor(document, motion, root) {
    const { part_kind: kind, part_role: role, part_owner: owner, part_body: body, part_frame: frame } = document.arrays;
    Object.assign(this, { motion, kind, role, owner, body, frame });
    this.n = kind.length;
    this.hidesJoints = false;
    // Radii [pixels] below which parts are boxes, and details are left out: larger where there are many.
    [this.coarse, this.least] = this.n < 600 ? [1.5, 0.5] : this.n < 4000 ? [2.5, 0.7] : [4, 1];
    this.measure();
    const geometries = [...primitives(this.n), ...meshes(document.arrays)];
    this.batches = [new Faces(), ...geometries.map((geometry, k) => new Instances(geometry, material(CYLINDER + k)))];
    for (const { mesh } of this.batches) root.add(mesh);
    this.sides = new Float64Array(9);
  }

  // The radius of every part, and which are details.
  measure() {
    const { n, body, role, frame, kind, motion } = this;
    this.radius = new Float32Array(n);
    this.isDetail = new Uint8Array(n);
    const largest = new Float32Array(motion.nBodies + 1);
    for (let p = 0; p < n; p++) {
      const half = halves(kind[p]);
      let sum = 0;
      for (let row = 0; row < 3; row++) {
        for (let k = 0; k < 3; k++) sum += (half[k] * frame[12 * p + 4 * row + k]) ** 2;
      }
      this.radius[p] = Math.sqrt(sum);
      if (role[p] === BODY) largest[body[p]] = Math.max(largest[body[p]], this.radius[p]);
    }
    for (let p = 0; p < n; p++) {
      this.isDetail[p] = role[p] !== BODY || this.radius[p] < DETAIL * largest[body[p]] ? 1 : 0;
    }
  }

  light(lights) { this.batches[BOX].lights = lights; }

  // Fill the batches with what a camera sees on a screen of a height [pixels].
  place(camera, height) {
    const { n, kind, role, body, frame, motion, radius, isDetail, batches, sides, hidesJoints, coarse, least } = this;
    camera.updateMatrixWorld();
    const { pose } = motion, axes = camera.matrixWorld.elements;
    const slopeY = Math.tan((camera.fov * Math.PI) / 360), slopeX = slopeY * camera.aspect;
    const marginX = Math.hypot(1, slopeX), marginY = Math.hypot(1, slopeY), focal = height / (2 * slopeY);
    const [cx, cy, cz] = [axes[12], axes[13], axes[14]];
    for (const batch of batches) batch.clear();
    for (let p = 0; p < n; p++) {
      if (hidesJoints && role[p] !== BODY) continue;
      const f = 12 * p, m = motion.offset(body[p]), r = radius[p];
      const lx = frame[f + 3], ly = frame[f + 7], lz = frame[f + 11];
      const x = pose[m] * lx + pose[m + 1] * ly + pose[m + 2] * lz + pose[m + 3];
      const y = pose[m + 4] * lx + pose[m + 5] * ly + pose[m + 6] * lz + pose[m + 7];
      const z = pose[m + 8] * lx + pose[m + 9] * ly + pose[m + 10] * lz + pose[m + 11];
      const dx = x - cx, dy = y - cy, dz = z - cz;
      const depth = -(axes[8] * dx + axes[9] * dy + axes[10] * dz);
      if (depth + r < camera.near) continue;
      if (Math.abs(axes[0] * dx + axes[1] * dy + axes[2] * dz) > slopeX * depth + marginX * r) continue;
      if (Math.abs(axes[4] * dx + axes[5] * dy + axes[6] * dz) > slopeY * depth + marginY * r) continue;
      const pixels = (focal * r) / Math.max(depth, camera.near);
      if (pixels < (isDetail[p] ? least : SPECK)) continue;
      const isBox = kind[p] === BOX || (kind[p] !== PRISM && pixels < coarse), half = halves(kind[p]);
      for (let k = 0; k < 3; k++) {
        const a = frame[f + k], b = frame[f + 4 + k], c = frame[f + 8 + k];
        const u = pose[m] * a + pose[m + 1] * b + pose[m + 2] * c;
        const v = pose[m + 4] * a + pose[m + 5] * b + pose[m + 6] * c;
        const w = pose[m + 8] * a + pose[m + 9] * b + pose[m + 10] * c;
        // the face of a box that is seen is that on the camera's side of its middle
        const scale = isBox ? (u * dx + v * dy + w * dz > 0 ? -half[k] : half[k]) : 1;
        sides[3 * k] = scale * u;
        sides[3 * k + 1] = scale * v;
        sides[3 * k + 2] = scale * w;
      }
      if (isBox) batches[BOX].put(p, x, y, z, sides, dx, dy, dz, pixels < coarse);
      else batches[kind[p]].put(p, x, y, z, sides);
    }
    for (const batch of batches) batch.finish();
  }

  // Color what is drawn: `color(p, rgb)` puts linear red, green and blue of a part into rgb.
  paint(color, rgb) { for (const batch of this.batches) batch.paint(color, rgb); }

  // Let a box hold all parts where they are now; their middles and radii are appended to `balls`.
  bound(box, balls) {
    const { frame, role, kind, body, motion } = this, { pose } = motion, { min, max } = box;
    for (let p = 0; p < this.n; p++) {
      if (role[p] === REDUNDANT) continue;
      const m = motion.offset(body[p]), f = 12 * p, half = halves(kind[p]);
      const middle = [0, 0, 0];
      for (let row = 0; row < 3; row++) {
        const [a, b, c, d] = [pose[m + 4 * row], pose[m + 4 * row + 1], pose[m + 4 * row + 2], pose[m + 4 * row + 3]];
        middle[row] = a * frame[f + 3] + b * frame[f + 7] + c * frame[f + 11] + d;
        let reach = 0;
        for (let k = 0; k < 3; k++) reach += half[k] * Math.abs(a * frame[f + k] + b * frame[f + 4 + k] + c * frame[f + 8 + k]);
        min.setComponent(row, Math.min(min.getComponent(row), middle[row] - reach));
        max.setComponent(row, Math.max(max.getComponent(row), middle[row] + reach));
      }
      balls.push(...middle, this.radius[p]);
    }
  }
}

const MESH_HALVES = [0.5, 0.5, 0.5];

function halves(kind) { return kind >= MESH ? MESH_HALVES : HALVES[kind]; }

function material(kind) {
  if (kind !== PRISM && kind < MESH) return new THREE.MeshLambertMaterial();
  // an affine frame may mirror, and a mesh may be open
  return new THREE.MeshLambertMaterial({ flatShading: true, side: THREE.DoubleSide });
}

// Geometries by Kind of sparsebody/viewer/parts.py from CYLINDER on; fewer facets where there are many parts.
function primitives(nParts) {
  const facets = nParts < 600 ? 20 : 10;
  const ball = new THREE.SphereGeometry(1, facets, Math.round(facets / 2));
  const ring = new THREE.TorusGeometry(1, 0.16, 5, 2 * facets);
  return [cylinder(facets), ball, prism(), ring];
}

export function cylinder(facets) {
  return new THREE.CylinderGeometry(1, 1, 1, facets).rotateX(Math.PI / 2);
}

function prism() {
  const shape = new THREE.Shape([[0, 0], [1, 0], [0, 1]].map(([x, y]) => new THREE.Vector2(x, y)));
  return new THREE.ExtrudeGeometry(shape, { depth: 1, bevelEnabled: false }).translate(0, 0, -0.5);
}

// The meshes of the document, each in the box of sides 1 about its middle.
function meshes({ mesh_vertex: level, mesh_triangle: triangle, mesh_n_vertices: nVertices,
  mesh_n_triangles: nTriangles }) {
  let vertex = 0, corner = 0;
  return Array.from(nVertices ?? [], (n, k) => {
    const end = vertex + 3 * n, last = corner + 3 * nTriangles[k];
    const geometry = new THREE.BufferGeometry();
    const places = Float32Array.from(level.subarray(vertex, end), (at) => at / 65535 - 0.5);
    geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
    geometry.setIndex(new THREE.BufferAttribute(Uint32Array.from(triangle.subarray(corner, last)), 1));
    [vertex, corner] = [end, last];
    return geometry;
  });
}
