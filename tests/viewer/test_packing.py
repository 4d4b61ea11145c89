import numpy as np
import pytest
from page_documents import quaternions, unpacked

from sparsebody.viewer.page_file import document, packed_quaternions, quantized


def test_a_document_is_read_back_as_it_was_written():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 65536, (7, 5)).astype(np.uint16)
    time, position = rng.normal(size=7), rng.normal(size=(3, 2))
    flags, index = np.array([True, False, True]), np.array([-1, 5], dtype=np.intp)
    arrays = {"a": levels, "time": time, "b": position, "c": flags, "d": index}
    header, read = unpacked(document({"title": "α"}, arrays))
    assert header["title"] == "α"
    for name in ("a", "time", "c", "d"):  # exactly
        np.testing.assert_array_equal(read[name], arrays[name])
    np.testing.assert_allclose(read["b"], position, rtol=6e-8)


def test_quantized_numbers_err_by_half_a_step_of_their_own_range():
    values = np.cumsum(np.random.default_rng(1).normal(size=(50, 4)), axis=0)
    values[:, 3] = 7.0  # does not move: exact
    level, low, step = quantized(values)
    error = np.abs(low + step * level - values).max(axis=0)
    assert (error <= 0.5 * np.ptp(values, axis=0) / 65535 * (1 + 1e-9)).all()
    assert error[3] == 0.0


@pytest.mark.parametrize("turn", range(4))
def test_packed_quaternions_are_the_same_rotations(turn):
    q = np.random.default_rng(turn).normal(size=(200, 4))
    q[:, turn] *= 3.0  # each component is the largest one often
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    angle = 2 * np.arccos(np.clip(np.abs(np.sum(quaternions(packed_quaternions(q)) * q, 1)), 0, 1))
    assert angle.max() < 1e-4
    same = packed_quaternions(q) == packed_quaternions(-q)
    assert same.all()


def test_smooth_motions_deflate_well():
    t = np.linspace(0, 1, 400)[:, None]
    smooth = quantized(np.sin(2 * np.pi * t + np.arange(100))).level
    assert len(document({}, {"x": smooth})) < 0.55 * smooth.nbytes
