// The camera: presets by gravity and the plane of the mechanism, and the distance that fits it.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export const VIEWS = ["default", "front", "side", "top", "iso"];
const SLENDER = 9; // length over width, and over that of a body, from which on
const INSETS = { bottom: 84, side: 24 }; // pixels that controls cover

export class Cameras {
  constructor(header, { box, balls }, element) {
    this.camera = new THREE.PerspectiveCamera(28, 1, 0.1, 1000);
    this.box = box;
    this.balls = balls;
    this.bodySize = header.size;
    this.up = new THREE.Vector3(...header.up);
    this.front = frontOf(header, this.up);
    this.right = new THREE.Vector3().crossVectors(this.up, this.front);
    this.isPlanar = header.normal !== null;
    this.isLying = this.isPlanar && Math.abs(new THREE.Vector3(...header.normal).dot(this.up)) > 0.7;
    this.camera.up.copy(this.up);
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.view = "default";
    this.size = [1, 1];
    this.insetTop = 0;
  }

  // A window, and the height of it that controls cover at its top [pixels].
  resize(width, height, insetTop) {
    this.size = [width, height];
    this.insetTop = insetTop;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  direction(view) {
    const { up, front, right } = this;
    const mix = (f, r, u) => new THREE.Vector3()
      .addScaledVector(front, f).addScaledVector(right, r).addScaledVector(up, u).normalize();
    switch (view) {
      case "front": return mix(1, 0, 0);
      case "side": return mix(0, 1, 0);
      case "top": return mix(1e-4, 0, 1);
      case "iso": return mix(1, 0.75, 0.65);
    }
    if (this.isLying) return mix(0.75, 0.25, 1);
    return this.isPlanar ? mix(1, 0.32, 0.2) : mix(1, 0.6, 0.48);
  }

  // Look along a preset at the whole motion; by default along what is too slender to be seen whole.
  look(view) {
    this.view = VIEWS.includes(view) ? view : "default";
    this.fit(this.direction(this.view));
    if (this.view === "default") this.lookAlong();
  }

  // Near the foot, or one end, of a slender mechanism, with the other end far away.
  lookAlong() {
    const { box, camera, controls, up, front, right } = this;
    const size = box.getSize(new THREE.Vector3());
    const [, width, length] = size.toArray().sort((a, b) => a - b);
    if (length < SLENDER * Math.max(width, this.bodySize)) return;
    const axis = new THREE.Vector3().setComponent(size.toArray().indexOf(length), 1);
    const isUpright = Math.abs(axis.dot(up)) > 0.7;
    const outward = isUpright ? up.clone().negate() : axis.multiplyScalar(axis.dot(right) > 0 ? -1 : 1);
    const end = box.getCenter(new THREE.Vector3()).addScaledVector(outward, 0.5 * length);
    const [out, aside, upward] = isUpright ? [0, 1.5, 1] : [3, 0, 1.8];
    camera.position.copy(end).addScaledVector(outward, out * width).addScaledVector(right, aside * width)
      .addScaledVector(front, (isUpright ? 7 : 3.2) * width).addScaledVector(up, upward * width);
    controls.target.copy(end).addScaledVector(outward, -(isUpright ? 2 : 3.5) * width);
    controls.update();
  }

  // Keep the direction, and look at the whole motion from the least distance that shows it.
  fit(direction = null) {
    const { camera, controls, box, insetTop, size: [width, height] } = this;
    const from = direction ?? camera.position.clone().sub(controls.target).normalize();
    const center = box.getCenter(new THREE.Vector3());
    camera.position.copy(center).add(from);
    camera.lookAt(center);
    camera.updateMatrixWorld();
    const [x, y, z] = [0, 1, 2].map((i) => new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, i));
    const slope = Math.tan((camera.fov * Math.PI) / 360);
    const freeY = slope * (1 - (insetTop + INSETS.bottom) / height);
    const freeX = slope * camera.aspect * (1 - (2 * INSETS.side) / width);
    const { distance: least, across, upward } = framing(this.balls, center, [x, y, z], freeX, freeY);
    center.addScaledVector(x, across).addScaledVector(y, upward);
    let distance = Math.max(least, 1e-6);
    distance *= 1.03;
    const radius = box.getSize(new THREE.Vector3()).length() / 2 || 1;
    camera.near = Math.max(1e-3 * radius, distance - 4 * radius, 0.002 * distance);
    camera.far = distance + 12 * radius;
    camera.updateProjectionMatrix();
    // The middle of the free part of the window is above that of the window.
    const shift = (slope * distance * (INSETS.bottom - insetTop)) / height;
    controls.target.copy(center).addScaledVector(y, -shift);
    camera.position.copy(controls.target).addScaledVector(from, distance);
    controls.minDistance = 0.002 * radius;
    controls.maxDistance = 10 * distance;
    controls.update();
  }

  // What is near must not be cut off, however far the camera has gone.
  keepRange() {
    const { camera, controls, box } = this;
    const radius = box.getSize(new THREE.Vector3()).length() / 2 || 1;
    const far = camera.position.distanceTo(box.getCenter(new THREE.Vector3()));
    camera.near = Math.max(2e-5 * radius, far - 4 * radius, 0.02 * camera.position.distanceTo(controls.target));
    camera.far = far + 12 * radius;
    camera.updateProjectionMatrix();
  }
}

// How far from the center the camera sees all balls, and how far the middle of its view is from there.
function framing(balls, center, axes, freeX, freeY) {
  const along = (k, axis) => axis.x * (balls[k] - center.x) + axis.y * (balls[k + 1] - center.y) + axis.z * (balls[k + 2] - center.z);
  const middle = axes.slice(0, 2).map((axis) => {
    let low = Infinity, high = -Infinity;
    for (let k = 0; k < balls.length; k += 4) {
      const place = along(k, axis);
      low = Math.min(low, place - balls[k + 3]);
      high = Math.max(high, place + balls[k + 3]);
    }
    return 0.5 * (low + high) || 0;
  });
  let distance = 0;
  for (let k = 0; k < balls.length; k += 4) {
    const r = balls[k + 3], near = along(k, axes[2]);
    const x = Math.abs(along(k, axes[0]) - middle[0]) + r, y = Math.abs(along(k, axes[1]) - middle[1]) + r;
    distance = Math.max(distance, near + x / freeX, near + y / freeY);
  }
  return { distance, across: middle[0], upward: middle[1] };
}

// The side that is looked at: along the hinges of a planar mechanism, with x or y to the right.
function frontOf(header, up) {
  const axes = [0, 1, 2].map((i) => new THREE.Vector3().setComponent(i, 1));
  const normal = header.normal && new THREE.Vector3(...header.normal);
  let front = normal && Math.abs(normal.dot(up)) < 0.7 ? normal : axes[1].clone().negate();
  front = front.clone().addScaledVector(up, -front.dot(up));
  if (front.lengthSq() < 1e-6) front = axes[2].clone().addScaledVector(up, -up.z);
  front.normalize();
  const right = new THREE.Vector3().crossVectors(up, front);
  const parts = right.toArray(), main = parts.reduce((m, p, i) => (Math.abs(p) > Math.abs(parts[m]) + 1e-9 ? i : m), 0);
  return parts[main] < 0 ? front.negate() : front;
}
