// Pictures of the page without its controls, for files: #capture=t,t,...&width=..&height=..
// They are left in the document as data URLs, where a headless browser's dump shows them.
import { make } from "./dom.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

export function capture(page) {
  const { asked, motion } = page;
  const width = Number(asked.get("width")) || 1280, height = Number(asked.get("height")) || 720;
  const times = asked.get("capture").split(",").map((text) => (text === "" ? motion.start : Number(text)));
  page.renderer.setPixelRatio(2); // smoothed below
  page.setSize(width, height);
  page.cameras.look(asked.get("view"));
  const picture = make("canvas", { width, height });
  const shots = times.map((time) => {
    page.playback.setTime(time);
    page.update();
    page.render();
    return shot(page, picture, width, height);
  });
  document.body.append(make("pre", { id: "captured", hidden: true }, JSON.stringify(shots)));
}

function shot(page, picture, width, height) {
  const pen = picture.getContext("2d"), { theme, legend, axes, motion } = page;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(page.renderer.domElement, 0, 0, width, height);
  pen.fillStyle = theme.ink;
  pen.font = `600 17px ${FONT}`;
  pen.fillText(page.packed.header.title, 20, 32);
  if (motion.nFrames > 1) {
    pen.font = `14px ${FONT}`;
    pen.textAlign = "right";
    pen.fillText(`t = ${page.timeText(page.playback.time).split(" /")[0]} s`, width - 20, 32);
    pen.textAlign = "left";
  }
  for (const [canvas, x, y] of [[legend.element, 20, height - 74], [axes.element, width - 92, height - 92]]) {
    pen.drawImage(canvas, x, y, parseFloat(canvas.style.width), parseFloat(canvas.style.height));
  }
  return picture.toDataURL("image/png");
}
