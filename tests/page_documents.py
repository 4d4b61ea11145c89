"""The packed document of a page, read by the description of its format alone."""

import json
import zlib

import numpy as np

TYPES = {"f4": np.float32, "f8": np.float64, "i4": np.int32, "u1": np.uint8, "u2": np.uint16}


def unpacked(document):
    """The header and the arrays."""
    stream = zlib.decompress(document)
    size = int(np.frombuffer(stream, np.uint32, 1)[0])
    header, body = json.loads(stream[4 : 4 + size]), stream[4 + size :]
    return header, {name: _read(body, **about) for name, about in header["arrays"].items()}


def _read(body, type, shape, first, coding):
    n = int(np.prod(shape))
    if coding == "raw":
        return np.frombuffer(body, TYPES[type], n, first).reshape(shape)
    parts = np.frombuffer(body, np.uint8, 2 * n, first).reshape(2, -1, shape[0]).astype(int)
    levels = np.cumsum(256 * parts[0] + parts[1], axis=1) % 65536
    return levels.T.reshape(shape)


def quaternions(words):
    """(..., 4) unit quaternions of (..., 3) words, the largest component positive."""
    largest = (words[..., 0] >> 15) | (words[..., 1] >> 15) << 1
    small = ((words & 32767) / 32767 * 2 - 1) * np.sqrt(0.5)
    rest = np.sqrt(1 - np.sum(small**2, axis=-1))
    result = np.zeros((*words.shape[:-1], 4))
    for index in np.ndindex(largest.shape):
        result[index] = np.insert(small[index], largest[index], rest[index])
    return result
