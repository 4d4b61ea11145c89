// The lights of the scene, as three.js has them, and what a matt face reflects of them: in a batch of boxes
// the color of each face is computed here, because lights cost a software renderer most of its time.
import * as THREE from "three";

const SKY = 0xffffff, EARTH = 0x9aa4ae, AMBIENT = 1.9;

export class Lights {
  constructor({ up, front, right }) {
    const sky = new THREE.HemisphereLight(SKY, EARTH, AMBIENT);
    sky.position.copy(up);
    const sun = new THREE.DirectionalLight(0xffffff, 1.7);
    sun.position.copy(up).addScaledVector(front, 0.9).addScaledVector(right, 0.6);
    const fill = new THREE.DirectionalLight(0xffffff, 0.5);
    fill.position.copy(up).multiplyScalar(0.2).addScaledVector(front, -0.8).addScaledVector(right, -0.8);
    this.all = [sky, sun, fill];
    this.up = up;
    this.beams = [sun, fill].map((light) => light.position.clone().normalize().multiplyScalar(light.intensity / Math.PI));
    this.below = sky.groundColor.clone().multiplyScalar(AMBIENT / Math.PI);
    this.above = sky.color.clone().multiplyScalar(AMBIENT / Math.PI);
  }

  // Red, green and blue that a white face with a unit normal reflects.
  reflected(x, y, z, out, at) {
    const { up, beams, below, above } = this;
    let direct = 0;
    for (const beam of beams) direct += Math.max(0, beam.x * x + beam.y * y + beam.z * z);
    const part = 0.5 + 0.5 * (up.x * x + up.y * y + up.z * z);
    out[at] = direct + below.r + part * (above.r - below.r);
    out[at + 1] = direct + below.g + part * (above.g - below.g);
    out[at + 2] = direct + below.b + part * (above.b - below.b);
  }
}
