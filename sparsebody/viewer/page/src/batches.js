// Many solids in one draw call: instances of a geometry, or faces of boxes whose corners are written one by one.
// A software renderer takes some 10 us for an instance, however small, and 1 us for a face.
import * as THREE from "three";

const ROOM = 64; // solids or faces at first; a buffer much larger than what is drawn would be copied whole at every frame
const CORNERS = [-1, -1, 1, -1, 1, 1, -1, 1]; // along the sides of a face, in the order of a loop
const TRIANGLES = [0, 1, 2, 0, 2, 3];

class Batch {
  constructor(mesh) {
    this.mesh = mesh;
    this.part = new Int32Array(ROOM); // of the picture, by solid or face
    this.count = 0;
    mesh.frustumCulled = false;
  }

  clear() { this.count = 0; }

  // A place for one more, which stands for a part.
  add(part) {
    if (this.count === this.part.length) {
      this.mesh.dispose?.();
      this.grow();
      const longer = new Int32Array(2 * this.part.length);
      longer.set(this.part);
      this.part = longer;
    }
    this.part[this.count] = part;
    return this.count++;
  }
}

// Copies of a geometry, each in an affine frame.
export class Instances extends Batch {
  constructor(geometry, material) {
    super(instanced(geometry, material, ROOM));
  }

  // Put a copy: its middle, and its axes, one after the other.
  put(part, x, y, z, axes) {
    const o = 16 * this.add(part), out = this.mesh.instanceMatrix.array;
    for (let k = 0; k < 3; k++) for (let i = 0; i < 3; i++) out[o + 4 * k + i] = axes[3 * k + i];
    out[o + 12] = x;
    out[o + 13] = y;
    out[o + 14] = z;
    out[o + 15] = 1;
  }

  grow() {
    this.mesh.instanceMatrix = doubled(this.mesh.instanceMatrix, THREE.InstancedBufferAttribute);
    this.mesh.instanceColor = doubled(this.mesh.instanceColor, THREE.InstancedBufferAttribute);
  }

  finish() {
    this.mesh.count = this.count;
    this.mesh.boundingSphere = null; // instances have moved
    upload(this.mesh.instanceMatrix, 16 * this.count);
  }

  // Color all copies: `color(part, rgb)` puts linear red, green and blue into rgb.
  paint(color, rgb) {
    const { instanceColor } = this.mesh, out = instanceColor.array;
    for (let j = 0; j < this.count; j++) {
      color(this.part[j], rgb);
      for (let i = 0; i < 3; i++) out[3 * j + i] = rgb[i];
    }
    upload(instanceColor, 3 * this.count);
  }

  partOf(hit) { return this.part[hit.instanceId]; }
}

// Faces of boxes, in the light that they are in.
export class Faces extends Batch {
  constructor() {
    const material = new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide });
    super(new THREE.Mesh(faceGeometry(ROOM), material));
    this.light = new Float32Array(3 * ROOM); // red, green and blue that a white face reflects
    this.lights = null;
    this.length = new Float64Array(3);
    this.area = new Float64Array(3);
  }

  get places() { return this.mesh.geometry.getAttribute("position"); }
  get colors() { return this.mesh.geometry.getAttribute("color"); }

  grow() {
    const { geometry } = this.mesh, larger = faceGeometry(2 * this.part.length);
    for (const name of ["position", "color"]) larger.getAttribute(name).array.set(geometry.getAttribute(name).array);
    geometry.dispose();
    this.mesh.geometry = larger;
    const { light } = this;
    this.light = new Float32Array(2 * light.length);
    this.light.set(light);
  }

  // Put a box: its middle, its half sides, one after the other, that lead to the three faces which are seen, and
  // the direction of view; or that face alone which looks the largest.
  put(part, x, y, z, sides, dx, dy, dz, isSmall) {
    const { length, area } = this;
    for (let n = 0; n < 3; n++) {
      const [u, v, w] = [sides[3 * n], sides[3 * n + 1], sides[3 * n + 2]];
      length[n] = Math.sqrt(u * u + v * v + w * w) || 1e-30;
      area[n] = Math.abs(u * dx + v * dy + w * dz) / length[n] ** 2; // over the volume
    }
    const largest = area[0] >= area[1] && area[0] >= area[2] ? 0 : area[1] >= area[2] ? 1 : 2;
    for (let n = 0; n < 3; n++) if (!isSmall || n === largest) this.face(part, x, y, z, sides, n);
  }

  face(part, x, y, z, sides, n) {
    const j = this.add(part), out = this.places.array, a = 3 * ((n + 1) % 3), b = 3 * ((n + 2) % 3);
    const [u, v, w] = [sides[3 * n], sides[3 * n + 1], sides[3 * n + 2]];
    for (let k = 0, o = 12 * j; k < 8; k += 2) {
      const s = CORNERS[k], t = CORNERS[k + 1];
      out[o++] = x + u + s * sides[a] + t * sides[b];
      out[o++] = y + v + s * sides[a + 1] + t * sides[b + 1];
      out[o++] = z + w + s * sides[a + 2] + t * sides[b + 2];
    }
    const l = this.length[n];
    this.lights.reflected(u / l, v / l, w / l, this.light, 3 * j);
  }

  finish() {
    this.mesh.geometry.setDrawRange(0, TRIANGLES.length * this.count);
    upload(this.places, 12 * this.count);
  }

  paint(color, rgb) {
    const { colors, light } = this, out = colors.array;
    for (let j = 0, o = 0; j < this.count; j++) {
      if (j === 0 || this.part[j] !== this.part[j - 1]) color(this.part[j], rgb);
      const r = rgb[0] * light[3 * j], g = rgb[1] * light[3 * j + 1], b = rgb[2] * light[3 * j + 2];
      for (let k = 0; k < 4; k++, o += 3) [out[o], out[o + 1], out[o + 2]] = [r, g, b];
    }
    upload(colors, 12 * this.count);
  }

  partOf(hit) { return this.part[hit.faceIndex >> 1]; }
}

function faceGeometry(n) {
  const geometry = new THREE.BufferGeometry(), index = new Uint32Array(6 * n);
  for (let i = 0; i < index.length; i++) index[i] = 4 * Math.floor(i / 6) + TRIANGLES[i % 6];
  geometry.setIndex(new THREE.BufferAttribute(index, 1));
  for (const name of ["position", "color"]) {
    geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(12 * n), 3).setUsage(THREE.DynamicDrawUsage));
  }
  geometry.boundingSphere = new THREE.Sphere(new THREE.Vector3(), Infinity); // rays are tested against all faces
  return geometry;
}

function doubled({ array, itemSize }, Attribute) {
  const larger = new Float32Array(2 * array.length);
  larger.set(array);
  return new Attribute(larger, itemSize).setUsage(THREE.DynamicDrawUsage);
}

// Send the first n numbers to the renderer.
function upload(attribute, n) {
  attribute.clearUpdateRanges();
  attribute.addUpdateRange(0, n);
  attribute.needsUpdate = true;
}

export function instanced(geometry, material, n) {
  const mesh = new THREE.InstancedMesh(geometry, material, n);
  mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
  if (n) mesh.setColorAt(0, new THREE.Color(1, 1, 1));
  if (n) mesh.instanceColor.array.fill(1);
  mesh.frustumCulled = false;
  return mesh;
}
