// A grid below the mechanism, across gravity, with a round spacing that the legend tells.
import * as THREE from "three";

export class Ground {
  constructor(box, up, theme) {
    this.root = new THREE.Group();
    const size = box.getSize(new THREE.Vector3()), center = box.getCenter(new THREE.Vector3());
    const height = size.dot(new THREE.Vector3(...up.toArray().map(Math.abs)));
    const across = size.toArray().map((s, i) => (Math.abs(up.getComponent(i)) > 0.7 ? 0 : s));
    const width = Math.max(...across, 0.25 * height) || 1;
    this.spacing = round(width / 8);
    const n = 2 * Math.ceil((0.62 * width) / this.spacing);
    this.grid = new THREE.GridHelper(n * this.spacing, n);
    this.grid.material.dispose();
    this.grid.geometry.deleteAttribute("color");
    this.grid.material = new THREE.LineBasicMaterial();
    this.grid.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
    this.grid.position.copy(center).addScaledVector(up, -0.5 * height - 0.012 * width);
    this.root.add(this.grid);
    this.paint(theme);
  }

  paint(theme) { this.grid.material.color.setHex(theme.grid); }
}

// The nearest of 1, 2, 5 times a power of ten.
export function round(x) {
  const power = 10 ** Math.floor(Math.log10(x)), part = x / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}
