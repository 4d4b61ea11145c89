// Colors: themes, and the map from numbers to colors (viridis, Smith and van der Walt 2015, without its darkest part).

export const THEMES = {
  light: {
    background: 0xf8fafb, ink: "#1f2933", faint: "#c3ccd4", panel: "rgba(255,255,255,.88)",
    bodies: [0x3f78ad, 0x7ba7cc], joint: 0x28333d, ground: 0x8794a0, selected: 0xe8731a,
    redundant: 0xc8312b, arrow: 0xb8301f, grid: 0xd5dce2, neutral: 0xb4bfc9,
  },
  dark: {
    background: 0x12161b, ink: "#e6ebf0", faint: "#46525d", panel: "rgba(28,34,41,.88)",
    bodies: [0x5b97cf, 0x92bce0], joint: 0xdde4ea, ground: 0x66727d, selected: 0xff9a3d,
    redundant: 0xff6259, arrow: 0xff7a5c, grid: 0x2a333c, neutral: 0x59646f,
  },
};

const VIRIDIS = [
  [70, 50, 127], [62, 73, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];

// Color of a number between 0 and 1, as parts of 255, into out[at ..].
export function shade(part, out, at) {
  const x = Math.min(1, Math.max(0, part)) * (VIRIDIS.length - 1);
  const k = Math.min(VIRIDIS.length - 2, Math.floor(x)), f = x - k;
  for (let i = 0; i < 3; i++) out[at + i] = VIRIDIS[k][i] + f * (VIRIDIS[k + 1][i] - VIRIDIS[k][i]);
}

export function cssShade(part) {
  const rgb = [0, 0, 0];
  shade(part, rgb, 0);
  return `rgb(${rgb.map(Math.round).join(",")})`;
}

// sRGB, as parts of 255, to the linear values that the renderer lights.
export const LINEAR = Float32Array.from({ length: 256 }, (_, i) => {
  const x = i / 255;
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
});

// A number with three digits, for labels.
export function short(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(1).replace("e+", "e") : String(Number(x.toPrecision(3)));
}
