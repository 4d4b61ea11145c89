// What is clicked at: the part under the pointer, by a ray through the instanced meshes.
import * as THREE from "three";

const BODY = 0, JOINT = 1;
const CLICK = 4; // pixels that a pointer may move in a click

export class Picking {
  constructor(element, camera, scene, picked) {
    this.ray = new THREE.Raycaster();
    this.pointer = new THREE.Vector2();
    Object.assign(this, { element, camera, scene });
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
    const frame = this.element.getBoundingClientRect();
    this.pointer.set((2 * (x - frame.left)) / frame.width - 1, 1 - (2 * (y - frame.top)) / frame.height);
    this.ray.setFromCamera(this.pointer, this.camera);
    const { part_role: role, part_owner: owner, part_body: body } = this.scene.document.arrays;
    let nearest = null;
    for (const { mesh, part } of this.scene.groups) {
      mesh.boundingSphere = null; // instances have moved
      for (const hit of this.ray.intersectObject(mesh, false)) {
        if (nearest === null || hit.distance < nearest.distance) {
          nearest = { distance: hit.distance, part: part[hit.instanceId] };
        }
        break; // sorted by distance
      }
    }
    if (nearest === null) return null;
    const p = nearest.part;
    if (role[p] === BODY) return { role: BODY, index: body[p] };
    return { role: JOINT, index: owner[p] };
  }
}
