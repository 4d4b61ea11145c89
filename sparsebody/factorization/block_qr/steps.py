"""The reflections of a small front in registers, as straight-line code for every shape."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from sparsebody.factorization.straight import (
    root,
    shuffled,
    straight_line,
    with_lane,
    with_sign,
)


def front_step(size, n_rows, lanes):
    """Make the step of a front of `lanes` columns whose first ones are its own, `size` of them.

    The scratch holds the rows, then the accelerations asked for and the forces (n_rows,). The rows
    of R go to their storage, Q' f - R'^-1 b of them to the place of the forces, and what is left
    over to the stack, each row in `others` numbers and its force, then the accelerations.
    """

    @straight_line()
    def step(front, values, start, stack, at, others):
        asked, forces = n_rows * lanes, (n_rows + 1) * lanes
        rows = [front.load(i * lanes, lanes) for i in range(n_rows)]
        force = [front[forces + i] for i in range(n_rows)]
        wanted = front.load(asked, lanes)
        for t in range(size):
            pivot = _reflect(rows, force, t)
            inverse = 1.0 / pivot
            reached = wanted[t] * inverse
            wanted = wanted - rows[t] * reached
            front[forces + t] = force[t] - reached
            values.store(start + t * lanes, with_lane(rows[t], t, inverse))
        later = [*range(size, lanes), *range(size)]
        for row, effect in zip(rows[size:], force[size:], strict=True):
            stack.store(at, shuffled(row, row, later))
            stack[at + others] = effect
            at = at + others + 1
        stack.store(at, shuffled(wanted, wanted, later))

    return step


def _reflect(rows, force, t):
    """Make column t zero below row t, but for storing the zeros; return what is there."""
    v = [row[t] for row in rows[t:]]
    square = _added([x * x for x in v])
    pivot = -with_sign(root(square), v[0])
    share = 1.0 / (square - pivot * v[0])
    products = [row * x for row, x in zip(rows[t + 1 :], v[1:], strict=True)]
    effects = [f * x for f, x in zip(force[t + 1 :], v[1:], strict=True)]
    v[0] = v[0] - pivot  # last in the sums, which need not wait for it
    total = _added([*products, rows[t] * v[0]]) * share
    effect = _added([*effects, force[t] * v[0]]) * share
    for i, x in enumerate(v):
        rows[t + i] = rows[t + i] - total * x
        force[t + i] = force[t + i] - effect * x
    return pivot


def _added(terms):
    """Return the sum of terms, the last one added last."""
    *first, last = terms
    while len(first) > 1:
        first = [
            first[i] + first[i + 1] if i + 1 < len(first) else first[i]
            for i in range(0, len(first), 2)
        ]
    return first[0] + last if first else last
