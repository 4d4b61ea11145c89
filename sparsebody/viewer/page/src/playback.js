// The clock: time of the motion against that of the viewer.

export class Playback {
  constructor(motion) {
    this.motion = motion;
    this.time = motion.start;
    this.isPlaying = false;
    this.rates = rates(motion.duration);
    this.rate = this.rates.find((rate) => motion.duration / rate <= 16) ?? this.rates.at(-1);
    if (motion.duration >= 3 && motion.duration <= 16) this.rate = 1;
    this.last = 0;
  }

  get canPlay() { return this.motion.nFrames > 1; }

  toggle(now) {
    if (!this.canPlay) return;
    this.isPlaying = !this.isPlaying;
    this.last = now;
    if (this.isPlaying && this.time >= this.motion.end) this.time = this.motion.start;
  }

  // Advance to a time of the viewer [ms]; at the end go on from the start.
  advance(now) {
    const { start, end, duration } = this.motion;
    const passed = Math.min(0.25, Math.max(0, (now - this.last) / 1000)); // not while the page was hidden
    this.last = now;
    this.time += this.rate * passed;
    if (this.time > end) this.time = start + ((this.time - start) % duration);
  }

  setTime(time) {
    this.time = Math.min(this.motion.end, Math.max(this.motion.start, time));
  }

  // Go to the frame that lies n frames from the present one.
  step(n) {
    const { motion } = this;
    const present = motion.part > 0.5 ? motion.index + 1 : motion.index;
    this.setTime(motion.time[Math.min(motion.nFrames - 1, Math.max(0, present + n))]);
  }
}

// Rates 1, 2, 5 times powers of ten, around those at which the motion takes some seconds, and 1.
function rates(duration) {
  if (!(duration > 0)) return [1];
  const middle = Math.floor(Math.log10(duration / 5));
  const all = [];
  for (let power = middle - 1; power <= middle + 1; power++) {
    for (const digit of [1, 2, 5]) all.push(Number((digit * 10 ** power).toPrecision(1)));
  }
  if (!all.includes(1)) all.push(1);
  return all.sort((a, b) => a - b);
}
