// The packed document of a page: a JSON header and typed arrays (sparsebody/viewer/packing.py).
import { unzlibSync } from "fflate";

const TYPES = {
  f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array,
};
const FORMAT = "sparsebody page 1";

export function decode(text) {
  const bytes = unzlibSync(fromBase64(text.trim()));
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  if (header.format !== FORMAT) throw new Error(`the page is of format ${header.format}`);
  const body = bytes.subarray(4 + size);
  const arrays = {};
  for (const [name, about] of Object.entries(header.arrays)) arrays[name] = read(body, about);
  return { header, arrays };
}

function read(body, { type, shape, first, coding }) {
  const length = shape.reduce((product, n) => product * n, 1);
  if (coding === "delta") return integrated(body.subarray(first, first + 2 * length), shape[0], length);
  const Type = TYPES[type];
  const end = first + length * Type.BYTES_PER_ELEMENT;
  return new Type(body.slice(first, end).buffer);
}

// Sums of differences along the first axis; they are stored column by column, high bytes first.
function integrated(data, n, length) {
  const columns = n ? length / n : 0;
  const levels = new Uint16Array(length);
  for (let c = 0, k = 0; c < columns; c++) {
    let level = 0;
    for (let t = 0; t < n; t++, k++) {
      level = (level + (data[k] << 8) + data[length + k]) & 0xffff;
      levels[t * columns + c] = level;
    }
  }
  return levels;
}

function fromBase64(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}
