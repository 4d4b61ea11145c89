"""HTML file of a page: the bundled script, and the packed document that it shows.

Arrays are quantized, differenced in time, deflated and written in base64. A document is a JSON
header and arrays in one stream of bytes: the length of the header (uint32), the header, then the
arrays, little-endian. The header's "arrays" tell name, type, shape, first byte, counted from the
end of the header, and coding of each. Header and arrays are padded to multiples of 8 bytes. With
coding "delta" an array (n, m) of uint16 is stored as differences along n, column by column, all
high bytes before all low ones: what moves smoothly then deflates well.
"""

import base64
import html
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, NDArray
from sparsebody.writing import write_text

FORMAT = "sparsebody page 1"
_LAST_LEVEL = 65535  # of 16 bits
_LAST_COMPONENT_LEVEL = 32767  # of 15 bits, for the components of quaternions
_TYPES = {"float32": "f4", "float64": "f8", "int32": "i4", "uint8": "u1", "uint16": "u2"}


class Quantized(NamedTuple):
    """Numbers low + step * level."""

    level: NDArray[np.uint16]  # (n, ...) along time
    low: NDArray[np.float64]  # (...)
    step: NDArray[np.float64]  # (...)


def quantized(values: FloatArray) -> Quantized:
    """Return (n, ...) numbers in 65536 levels between the least and the largest of each column."""
    low, high = values.min(axis=0), values.max(axis=0)
    step = (high - low) / _LAST_LEVEL
    level = (values - low) / np.where(step > 0.0, step, 1.0)
    return Quantized(np.rint(level).astype(np.uint16), low, step)


def packed_quaternions(quaternion: FloatArray) -> NDArray[np.uint16]:
    """Return (..., 3) words of unit quaternions (..., 4): the three smallest components.

    The largest one follows from the norm, its sign is made positive; its index is in the highest
    bits: bit 0 in the first word, bit 1 in the second; the others follow in their order w x y z,
    in [-1, 1] / sqrt(2), as 15 bits.
    """
    largest = np.abs(quaternion).argmax(axis=-1)[..., None]
    sign = np.where(np.take_along_axis(quaternion, largest, axis=-1) < 0.0, -1.0, 1.0)
    others = np.arange(3) + (np.arange(3) >= largest)
    small = np.take_along_axis(quaternion * sign, others, axis=-1) * np.sqrt(2.0)
    part = 0.5 + 0.5 * np.clip(small, -1.0, 1.0)
    words = np.rint(part * _LAST_COMPONENT_LEVEL).astype(np.uint16)
    words[..., 0] |= ((largest[..., 0] & 1) << 15).astype(np.uint16)
    words[..., 1] |= ((largest[..., 0] >> 1) << 15).astype(np.uint16)
    return words


def document(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the deflated stream of a header and arrays.

    uint16 arrays are stored as differences along their first axis, floats in single precision
    unless they are called "time".
    """
    listed, chunks, first = {}, [], 0
    for name, array in arrays.items():
        kind = array.dtype
        if kind == np.float64 and name != "time":
            kind = np.dtype(np.float32)
        elif kind in (np.dtype(np.intp), np.dtype(bool)):
            kind = np.dtype(np.int32) if kind != np.dtype(bool) else np.dtype(np.uint8)
        is_delta = kind == np.dtype(np.uint16)
        data = _differences(array) if is_delta else np.ascontiguousarray(array, kind).tobytes()
        listed[name] = {
            "type": _TYPES[kind.name],
            "shape": array.shape,
            "first": first,
            "coding": "delta" if is_delta else "raw",
        }
        padding = -len(data) % 8
        chunks.append(data + bytes(padding))
        first += len(data) + padding
    text = json.dumps({"format": FORMAT, **header, "arrays": listed}, separators=(",", ":"))
    head = text.encode()
    head += b" " * (-(len(head) + 4) % 8)
    return zlib.compress(b"".join([np.uint32(len(head)).tobytes(), head, *chunks]), 9)


def _differences(array: NDArray[np.uint16]) -> bytes:
    """Return the bytes of differences along the first axis, modulo 2^16."""
    columns = array.reshape(len(array), -1).T
    change = np.diff(columns, axis=1, prepend=np.uint16(0)).astype(np.uint16)
    return (change >> 8).astype(np.uint8).tobytes() + (change & 255).astype(np.uint8).tobytes()


# ---- the file ---------------------------------------------------------------------------------


_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
</head>
<body>
<noscript>This page draws by a script of its own; allow scripts to see it.</noscript>
<script type="text/plain" id="document">{document}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def bundled_script() -> str:
    """Return the script of all pages, with the licenses of what it contains."""
    return files("sparsebody.viewer").joinpath("page", "bundle.js").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Page:
    """A page that needs only a browser; in a notebook it shows itself."""

    document: bytes = field(repr=False)  # packed
    title: str
    height: int = 560  # of the frame in a notebook [pixels]

    @property
    def html(self) -> str:
        """The whole page."""
        return _TEMPLATE.format(
            title=html.escape(self.title),
            document=base64.b64encode(self.document).decode("ascii"),
            script=bundled_script(),
        )

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; OutputError if the file cannot be written."""
        return write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        style = "width: 100%; border: 0; border-radius: 6px"
        source = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{source}" height="{self.height}" style="{style}"></iframe>'
