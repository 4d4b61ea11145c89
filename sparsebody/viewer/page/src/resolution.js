// Pixels of the picture: fewer while it moves and frames take long, all of them where it stands still.
// A software renderer does not smooth edges, which costs it most; still pictures have two pixels for one.
const SLOW = 36, FAST = 20; // [ms] between frames, from which on there are fewer pixels, or more
const SOME = 8; // frames from one choice to the next

// Whether pictures are drawn by the processor.
export function isSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const about = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

export class Resolution {
  // `least`: pixels over those of the window, while it moves.
  constructor(renderer, isSmoothed, least) {
    this.renderer = renderer;
    this.most = Math.min(window.devicePixelRatio || 1, 2);
    this.still = isSmoothed ? this.most : 2;
    this.moving = this.most;
    this.least = least;
    this.interval = 0; // mean time between frames [ms]
    this.last = null; // time of the last frame, if it moved
    this.frames = 0;
    renderer.setPixelRatio(this.most);
  }

  // Choose the pixels of the next picture; true if they are others than now.
  choose(now, isMoving) {
    if (isMoving && this.last !== null) this.adapt(now - this.last);
    this.last = isMoving ? now : null;
    const ratio = isMoving ? this.moving : this.still;
    if (ratio === this.renderer.getPixelRatio()) return false;
    this.renderer.setPixelRatio(ratio);
    return true;
  }

  adapt(interval) {
    this.interval += (interval - this.interval) / Math.min(++this.frames, SOME);
    if (this.frames < SOME) return;
    if (this.interval > SLOW) this.moving = Math.max(this.least, 0.8 * this.moving);
    else if (this.interval < FAST) this.moving = Math.min(this.most, 1.1 * this.moving);
    this.frames = this.interval = 0;
  }
}
