"""Arrays on their way into and out of the native core."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sparsebody import _core
from sparsebody._core import dynamics, graph, model

ORDER = [2, 0, 3, 1]


def test_read_arrays_are_taken_in_any_layout_and_any_safe_type():
    expected = graph.positions(np.array(ORDER, dtype=np.intp))
    strided = np.repeat(ORDER, 2)[::2]
    for order in (np.array(ORDER, dtype=np.int32), strided, np.array(ORDER, dtype=">i8")):
        np.testing.assert_array_equal(graph.positions(order), expected)


def test_an_array_of_another_kind_or_shape_is_refused():
    for wrong in (np.array(ORDER, dtype=float), np.array([ORDER]), ORDER):
        with pytest.raises(TypeError, match="positions"):
            graph.positions(wrong)


def test_results_own_their_memory_and_are_writeable():
    rotations = model.rotations(np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    assert rotations.shape == (3, 3, 3)
    assert rotations.flags.writeable
    np.testing.assert_array_equal(rotations, np.tile(np.eye(3), (3, 1, 1)))
    assert model.rotations(np.zeros((0, 4))).shape == (0, 3, 3)


def test_structs_go_over_as_tuples_of_arrays_that_own_their_memory():
    start, edge, other = graph.incidence(3, np.array([[-1, 0], [0, 1], [1, 2], [2, 2]]))
    assert (list(start), list(edge), list(other)) == (
        [0, 2, 4, 6],
        [0, 1, 1, 2, 2, 3],
        [-1, 1, 0, 2, 1, -1],
    )
    del start, edge
    other += 1
    np.testing.assert_array_equal(other, [0, 2, 1, 3, 2, 0])
    assert len(graph.incidence(0, np.zeros((0, 2), dtype=np.intp))[1]) == 0


def test_an_object_that_keeps_arrays_takes_no_copies_of_them():
    numbers, parameter = np.zeros(2, dtype=np.intp), np.zeros(2)
    before = sys.getrefcount(numbers)
    functions = model.TimeFunctions(numbers, numbers, parameter)
    assert sys.getrefcount(numbers) > before
    del functions
    assert sys.getrefcount(numbers) == before
    for copied in (numbers.astype(np.int32), np.repeat(numbers, 2)[::2]):
        with pytest.raises(TypeError):
            model.TimeFunctions(copied, numbers, parameter)


def test_arrays_that_belong_to_an_object_keep_it():
    numbers, kinds = np.zeros(3, dtype=np.intp), np.zeros(1, dtype=np.uint32)
    joints = numbers, np.array([[-1, 0]]), kinds, np.zeros((1, 3)), numbers.astype(np.uint32)
    rows = dynamics.RowTable(np.arange(3), (*joints, np.zeros(1, dtype=np.intp)), 6).rows
    assert rows.shape == (3, 2, 6)
    rows[:] = 1.0
    assert rows.sum() == 36.0


def test_the_build_in_use_can_be_chosen_by_name():
    assert _core.level in (*_core.available_levels(), "sanitized")
    environment = os.environ | {"SPARSEBODY_LEVEL": "x86_64_v9"}
    command = [sys.executable, "-c", "import sparsebody._core"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "SPARSEBODY_LEVEL is 'x86_64_v9'; available here: " in result.stderr
