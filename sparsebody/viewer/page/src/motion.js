// Poses of all bodies at any time: positions interpolated linearly, rotations along the shorter arc.
// `pose` holds a 3 x 4 matrix for every body, rows of four; the last one is the world's.

const HALF_ROOT = Math.SQRT1_2;

export class Motion {
  constructor({ header, arrays }) {
    this.arrays = arrays;
    this.time = arrays.time;
    this.nFrames = header.n_frames;
    this.nBodies = header.bodies.length;
    this.nJoints = header.joints.length;
    this.center = arrays.center;
    this.pose = new Float32Array(12 * (this.nBodies + 1));
    const world = 12 * this.nBodies;
    for (let i = 0; i < 3; i++) {
      this.pose[world + 5 * i] = 1;
      this.pose[world + 4 * i + 3] = -this.center[i];
    }
    this.first = new Float64Array(4);
    this.second = new Float64Array(4);
    this.index = 0; // frame before the time, and how far it is to the next one
    this.part = 0;
  }

  get start() { return this.time[0]; }
  get end() { return this.time[this.nFrames - 1]; }
  get duration() { return this.end - this.start; }

  // Find the frames around a time, and fill `pose`.
  moveTo(time) {
    const { time: times, nFrames } = this;
    let low = 0, high = nFrames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    const span = nFrames > 1 ? times[high] - times[low] : 0;
    this.index = low;
    this.part = span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0;
    this.fill();
  }

  fill() {
    const { nBodies, pose, index, part, first, second, nFrames } = this;
    const { position, position_low: low, position_step: step, orientation } = this.arrays;
    const next = Math.min(index + 1, nFrames - 1);
    const at = 3 * nBodies * index, after = 3 * nBodies * next;
    for (let b = 0; b < nBodies; b++) {
      const k = 3 * b, m = 12 * b;
      unpack(orientation, at + k, first);
      if (part > 0) {
        unpack(orientation, after + k, second);
        let dot = 0, norm = 0;
        for (let i = 0; i < 4; i++) dot += first[i] * second[i];
        const sign = dot < 0 ? -part : part;
        for (let i = 0; i < 4; i++) {
          first[i] = (1 - part) * first[i] + sign * second[i];
          norm += first[i] * first[i];
        }
        norm = 1 / Math.sqrt(norm);
        for (let i = 0; i < 4; i++) first[i] *= norm;
      }
      const [w, x, y, z] = first;
      pose[m] = 1 - 2 * (y * y + z * z);
      pose[m + 1] = 2 * (x * y - w * z);
      pose[m + 2] = 2 * (x * z + w * y);
      pose[m + 4] = 2 * (x * y + w * z);
      pose[m + 5] = 1 - 2 * (x * x + z * z);
      pose[m + 6] = 2 * (y * z - w * x);
      pose[m + 8] = 2 * (x * z - w * y);
      pose[m + 9] = 2 * (y * z + w * x);
      pose[m + 10] = 1 - 2 * (x * x + y * y);
      for (let i = 0; i < 3; i++) {
        const level = (1 - part) * position[at + k + i] + part * position[after + k + i];
        pose[m + 4 * i + 3] = low[k + i] + step[k + i] * level;
      }
    }
  }

  // Offset in `pose` of a body; -1 is the world.
  offset(body) { return 12 * (body < 0 ? this.nBodies : body); }

  // The point (x, y, z) of a body, from the center of the scene, into out[at ..].
  point(body, x, y, z, out, at) {
    const { pose } = this, m = this.offset(body);
    for (let i = 0; i < 3; i++) {
      const r = m + 4 * i;
      out[at + i] = pose[r] * x + pose[r + 1] * y + pose[r + 2] * z + pose[r + 3];
    }
  }

  // Center of mass of a body in the world.
  position(body) {
    const m = this.offset(body);
    return [0, 1, 2].map((i) => this.pose[m + 4 * i + 3] + this.center[i]);
  }

  // Speed or energy of a body at a frame, or between frames.
  channel(name, body, frame = null) {
    const level = this.arrays[name], step = this.arrays[`${name}_step`][0], n = this.nBodies;
    if (frame !== null) return step * level[frame * n + body];
    const next = Math.min(this.index + 1, this.nFrames - 1);
    return step * ((1 - this.part) * level[this.index * n + body] + this.part * level[next * n + body]);
  }

  get hasReactions() { return "wrench" in this.arrays; }

  // Components first .. first + 2 of the wrench on the successor, in its axes (moment 0, force 3).
  wrench(joint, first, frame, out) {
    const { wrench, wrench_low: low, wrench_step: step } = this.arrays;
    const k = 6 * joint + first, at = 6 * this.nJoints * frame + k;
    for (let i = 0; i < 3; i++) out[i] = low[k + i] + step[k + i] * wrench[at + i];
    return out;
  }

  // Size of the force or the moment of a joint at a frame.
  load(joint, first, frame) {
    const [x, y, z] = this.wrench(joint, first, frame, this.first);
    return Math.sqrt(x * x + y * y + z * z);
  }
}

// A unit quaternion from its three smallest components (packing.packed_quaternions).
function unpack(words, at, out) {
  const a = words[at], b = words[at + 1], c = words[at + 2];
  const largest = (a >> 15) | ((b >> 15) << 1);
  const x = component(a), y = component(b), z = component(c);
  const rest = Math.sqrt(Math.max(0, 1 - x * x - y * y - z * z));
  out[0] = largest === 0 ? rest : x;
  out[1] = largest === 1 ? rest : largest < 1 ? x : y;
  out[2] = largest === 2 ? rest : largest < 2 ? y : z;
  out[3] = largest === 3 ? rest : z;
}

function component(word) {
  return HALF_ROOT * (2 * (word & 0x7fff) / 32767 - 1);
}
