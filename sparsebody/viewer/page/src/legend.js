// The legend of colors with its units, and the axes of the world: canvases that pictures copy.
import * as THREE from "three";
import { cssShade, short } from "./colors.js";
import { canvas } from "./dom.js";

const TEXTS = {
  speed: "speed of the center of mass [m/s]",
  energy: "kinetic energy [J]",
  load: "largest reaction force [N]",
  order: "place in the elimination order",
};
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

export class Legend {
  constructor() {
    this.element = canvas(420, 64, "legend");
  }

  draw(color, limit, theme, notes) {
    const pen = this.element.getContext("2d");
    pen.clearRect(0, 0, 420, 64);
    pen.font = FONT;
    pen.fillStyle = theme.ink;
    pen.textBaseline = "alphabetic";
    if (color in TEXTS) {
      pen.fillText(TEXTS[color], 0, 12);
      for (let x = 0; x < 200; x++) {
        pen.fillStyle = cssShade(x / 199);
        pen.fillRect(x, 18, 1.5, 10);
      }
      pen.fillStyle = theme.ink;
      const first = color === "order" ? "1" : "0", last = color === "order" ? String(limit + 1) : short(limit);
      for (const [text, x, align] of [
        [first, 0, "left"],
        [color === "order" ? "" : short(limit / 2), 100, "center"], [last, 200, "right"],
      ]) {
        pen.textAlign = align;
        pen.fillText(text, x, 41);
      }
      pen.textAlign = "left";
    }
    pen.fillText(notes, 0, 59);
  }
}

export class Axes {
  constructor() {
    this.size = 76;
    this.element = canvas(this.size, this.size, "axes");
    this.axis = new THREE.Vector3();
    this.turn = new THREE.Quaternion();
  }

  draw(camera, theme) {
    const pen = this.element.getContext("2d"), half = this.size / 2, arm = 0.62 * half;
    pen.clearRect(0, 0, this.size, this.size);
    pen.font = FONT;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineWidth = 2;
    this.turn.copy(camera.quaternion).invert();
    ["x", "y", "z"].forEach((name, i) => {
      this.axis.set(0, 0, 0).setComponent(i, 1).applyQuaternion(this.turn);
      const { x, y } = this.axis;
      pen.strokeStyle = pen.fillStyle = ["#c8433b", "#3b8f5a", "#2f72b8"][i];
      pen.beginPath();
      pen.moveTo(half, half);
      pen.lineTo(half + arm * x, half - arm * y);
      pen.stroke();
      const reach = Math.hypot(x, y) > 0.15 ? arm + 9 : 0;
      const length = Math.hypot(x, y) || 1;
      if (reach) pen.fillText(name, half + (reach * x) / length * Math.max(length, 0.45), half - (reach * y) / length * Math.max(length, 0.45));
    });
  }
}
