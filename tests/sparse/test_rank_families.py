"""Ranks of mechanisms that are hard to decide, compared with exact ranks and closed forms."""

import dataclasses

import loops_in_space
import numpy as np
import pytest
from linkages import Builder, Linkage, matrix_at_start
from random_saddles import scaled_rows
from scipy.linalg import qr

import sparsebody as sb
from sparsebody.dynamics import reductions
from sparsebody.model.subgroups.classes import ground_motion
from sparsebody.sparse.rank import independent_rows
from sparsebody.sparse.saddle import constraint_matrix

WORLD = -1


def decisions(system):
    """The decisions with six freedoms a body, and in the plane where there is one."""
    motion, in_plane = ground_motion(system), None
    if motion.is_planar:
        in_plane = reductions.reduction(system, motion, system.initial_state)
    matrix = matrix_at_start(system)
    result = [independent_rows(matrix), reductions.independent_rows(matrix)]
    return result if in_plane is None else [*result, in_plane.decision]


def assert_right(system, dependent):
    for decision in decisions(system):
        assert decision.n_dependent == dependent
        assert decision.certain
        assert decision.doubt == ""


def scissor(pairs, jitter=0.0):
    builder = Builder()
    first, second = builder.bodies(2)
    builder.hinge(WORLD, first, (-0.6, 0.0))
    builder.hinge(WORLD, second, (-0.6, 0.8))
    builder.scissor(first, second, pairs)
    return builder.linkage(jitter)


def ladder(rungs, jitter=0.0):
    builder = Builder()
    builder.ladder(WORLD, WORLD, rungs)
    return builder.linkage(jitter)


def sheet(k, columns=0):
    builder = Builder()
    square = builder.sheet(k, columns or k)
    builder.hinge(WORLD, square[0, 0], (0.0, 0.0))
    return builder.linkage()


def sheets_on_a_ladder(k, rungs, jitter=0.0):
    """Two sheets, and a ladder from one to the other."""
    builder = Builder()
    first = builder.sheet(k, k)
    builder.hinge(WORLD, first[0, 0], (0.0, 0.0))
    edge, y = 1.75 * k, 0.875
    second = builder.sheet(k, k, origin=(edge + rungs, 0.0))
    below, above = builder.ladder(first[0, -1], first[1, -1], rungs, (edge, y), across=(0.0, 1.75))
    builder.hinge(below, second[0, 0], (edge + rungs, y))
    builder.hinge(above, second[1, 0], (edge + rungs, y + 1.75))
    return builder.linkage(jitter)


def grid_of_ladders(k, rungs, jitter=0.0):
    """Nodes in a square grid, neighbours joined by ladders."""
    builder = Builder()
    node = np.array(builder.bodies(k * k)).reshape(k, k)
    builder.hinge(WORLD, node[0, 0], (0.0, 0.0))

    def join(a, b, at, step, across):
        at, step, across = map(np.array, (at, step, across))
        first, second = builder.ladder(a, a, rungs, at, step, across)
        builder.hinge(first, b, at + rungs * step)
        builder.hinge(second, b, at + rungs * step + across)

    spacing = rungs + 1.0
    for r in range(k):
        for c in range(k):
            x, y = c * spacing, r * spacing
            if c + 1 < k:
                join(node[r, c], node[r, c + 1], (x + 0.5, y), (1.0, 0.0), (0.0, 0.4))
            if r + 1 < k:
                join(node[r, c], node[r + 1, c], (x, y + 0.5), (0.0, 1.0), (0.4, 0.0))
    return builder.linkage(jitter)


LINKAGES = {
    "scissor": scissor(150),
    "disordered scissor": scissor(150, 0.1),
    "disordered ladder": ladder(120, 0.1),
    "sheet": sheet(9),
    "strip": sheet(4, 90),
    "sheets on a ladder": sheets_on_a_ladder(7, 40),
    "disordered sheets on a ladder": sheets_on_a_ladder(6, 30, 0.03),
    "grid of ladders": grid_of_ladders(4, 5),
    "disordered grid of ladders": grid_of_ladders(4, 5, 0.05),
}


@pytest.mark.parametrize("name", LINKAGES)
def test_linkages_have_as_many_dependent_rows_as_are_exactly_dependent(name):
    linkage = LINKAGES[name]
    assert_right(linkage.mechanism().compile(), linkage.dependent)


@pytest.mark.parametrize("name", ["scissor", "sheet", "sheets on a ladder"])
def test_masses_over_six_decades_do_not_matter(name):
    linkage = LINKAGES[name]
    masses = 10 ** np.random.default_rng(0).uniform(-3, 3, linkage.n_bodies)
    assert_right(linkage.mechanism(masses).compile(), linkage.dependent)


@pytest.mark.parametrize("with_masses", [False, True])
def test_bodies_of_a_millimeter_beside_bodies_of_a_hundred_meters_do_not_matter(with_masses):
    """A fan of similar rhombi, each larger than the one before; grid points stay exact."""
    linkage = scissor(150)
    x, y = linkage.points.T
    size = 0.05 * np.exp(11.5 * x / x.max())
    points = np.column_stack([size * (1.0 + 0.3 * y), size * (y - 0.4)])
    wide = Linkage(linkage.ends, np.round(points * 2.0**16) / 2.0**16)
    masses = 1e3 * wide.spread()[1] if with_masses else 1.0
    assert_right(wide.mechanism(masses).compile(), wide.dependent)


@pytest.mark.parametrize(
    ("kind", "each", "in_ring"),
    [
        (loops_in_space.bennett(), 3, 0),
        (loops_in_space.BRICARD, 1, 0),
        (loops_in_space.sarrus(), 1, 3),  # platforms do not turn: three more rows close the ring
    ],
    ids=["bennett", "bricard", "sarrus"],
)
@pytest.mark.parametrize("n_loops", [1, 7, 60])
def test_loops_that_move_by_special_directions_are_found(kind, each, in_ring, n_loops):
    assert_right(loops_in_space.loops(kind, n_loops, ring=False).compile(), each * n_loops)
    if n_loops > 1:
        ring = loops_in_space.loops(kind, n_loops, ring=True)
        assert_right(ring.compile(), each * n_loops + in_ring)


@pytest.mark.parametrize("n_loops", [1, 20, 45, 300])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-2])
def test_near_a_singular_pose_the_decision_is_right_or_in_doubt(n_loops, distance):
    """Parallelograms that are flat at distance 0, where each has one more freedom."""
    builder = Builder()
    tip = 0.7 * np.array([np.cos(distance), np.sin(distance)])
    last = builder.bodies(1)[0]
    builder.hinge(WORLD, last, np.zeros(2))
    for i in range(1, n_loops + 1):
        bar, crank = builder.bodies(2)
        foot = np.array([i, 0.0])
        builder.hinge(WORLD, crank, foot)
        builder.hinge(last, bar, foot + tip - [1.0, 0.0])
        builder.hinge(bar, crank, foot + tip)
        last = crank
    linkage = Linkage(np.array(builder.ends), np.array(builder.points))
    for decision in decisions(linkage.mechanism().compile()):
        expected = (4 if distance == 0.0 else 3) * n_loops
        assert decision.n_dependent == expected or not decision.certain
        assert decision.certain == (decision.doubt == "")
        if distance in (0.0, 1e-2):
            assert (decision.n_dependent, decision.certain) == (expected, True)
        if not decision.certain:
            assert "nearly singular" in decision.doubt


@pytest.mark.parametrize(
    ("name", "parameters", "mobility"),
    [
        ("five-bar-array", {"loops": 40}, 41),
        ("four-bar-torus", {"rows": 7, "columns": 12}, 15),
        ("four-bar-torus", {"rows": 20, "columns": 20}, 36),
        ("n-four-bar", {"loops": 300}, 1),
        ("scissor", {"pairs": 1000}, 1),
        ("rotating-squares", {"rows": 40, "columns": 40}, 2),
    ],
)
def test_families_have_their_mobility_at_any_size(name, parameters, mobility):
    system = sb.build(name, **parameters).compile()
    assert_right(system, system.n_rows - 6 * system.n_bodies + mobility)


def test_kept_rows_are_about_as_well_conditioned_as_the_best_choice():
    for linkage in (sheet(6), sheets_on_a_ladder(4, 10, 0.03), scissor(12, 0.1)):
        masses = 10 ** np.random.default_rng(1).uniform(-3, 3, linkage.n_bodies)
        for mass in (1.0, masses):
            system = linkage.mechanism(mass).compile()
            for result in decisions(system):
                kept, best = conditioning(system, result)
                assert kept > 0.01 * best


def conditioning(system, result):
    """Smallest singular values of the kept rows, and of those that pivoted QR keeps."""
    matrix = matrix_at_start(system)
    matrix = dataclasses.replace(matrix, rows=scaled_rows(matrix))
    dense = constraint_matrix(matrix).toarray()
    order = qr(dense.T, mode="r", pivoting=True)[1]
    return [
        np.linalg.svd(dense[kept], compute_uv=False)[-1]
        for kept in (result.keep, order[: result.rank])
    ]
