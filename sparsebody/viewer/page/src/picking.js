// What is clicked at: the part under the pointer, by a ray through the instanced meshes.
import * as THREE from "three";

const BODY = 0, JOINT = 1;
const CLICK = 4; // pixels that a pointer may move in a click

export class Picking {
  constructor(element, camera, scene, picked, refresh) {
    this.ray = new THREE.Raycaster();
    this.pointer = new THREE.Vector2();
    Object.assign(this, { element, camera, scene, refresh });
    let start = null;
    element.addEventListener("pointerdown", (event) => { start = [event.clientX, event.clientY]; });
    element.addEventListener("pointerup", (event) => {
      const moved = start && Math.hypot(event.clientX - start[0], event.clientY - start[1]);
      if (start && moved < CLICK && event.button === 0) picked(this.at(event.clientX, event.clientY));
      start = null;
    });
  }

  // {role, index} of the body or joint at a point of the window, or null.
  at(x, y) {
    this.refresh(); // instances are where the last picture shows them
    const frame = this.element.getBoundingClientRect();
    this.pointer.set((2 * (x - frame.left)) / frame.width - 1, 1 - (2 * (y - frame.top)) / frame.height);
    this.ray.setFromCamera(this.pointer, this.camera);
    const { batches, role, owner, body } = this.scene.parts;
    let nearest = null;
    for (const batch of batches) {
      const [hit] = this.ray.intersectObject(batch.mesh, false); // sorted by distance
      if (hit && (nearest === null || hit.distance < nearest.distance)) {
        nearest = { distance: hit.distance, part: batch.partOf(hit) };
      }
    }
    if (nearest === null) return null;
    const p = nearest.part;
    if (role[p] === BODY) return { role: BODY, index: body[p] };
    return { role: JOINT, index: owner[p] };
  }
}
