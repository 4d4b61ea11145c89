"""Proofs that the fronts of a family stay bounded: from the pattern of its eliminations.

Each kind has a theorem, which holds for all sizes, and a premise, which is compared with what
family and ordering give at some sizes:

forest
    If every pivot couples to one later block at most, fronts are two blocks.
rules
    Rules, closed under growth, derive elimination trees of all sizes out of finitely many
    productions (`sparse/subtree_rules.py`): one for each size, or some where a subtree has
    alternatives. The premise is that family and ordering give these; it is compared node by node.
types
    Whatever is put together from finitely many productions has no other fronts. The premise is
    that no others come, which is less: it says nothing about how trees grow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

import numpy as np

from sparsebody.certificates.eliminations import Eliminated
from sparsebody.sparse.subtree_rules import Productions, Rules, affine_rules, closed, merged

Members = Sequence[Eliminated]  # of a family, in the order of their sizes

SAMPLE = 48  # consecutive members, up to half of the largest, that rules are read off
_PERIODS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)  # steps of the size parameter
_VIEWS = ((0, 1), (20, 2), (40, 4), (80, 8))  # blocks of small subtrees, productions of context
_LAST = 8  # sizes within this factor of the largest must need no new production


@dataclass(frozen=True)
class Proof:
    """Why fronts stay bounded."""

    kind: str  # "forest", "rules" or "types"
    width: int  # scalar rows that no front exceeds
    statement: str  # what is proved
    premise: str  # for which sizes, and what was compared
    smallest: int  # bodies from which on it holds
    compared: tuple[int, ...]  # numbers of bodies at which the premise was found to hold
    n_productions: int = 0  # different ways in which fronts come from those of subtrees
    n_rules: int = 0
    period: int = 0  # bodies by which the elimination grows; 0 where it has no period
    is_exact: bool = False  # there is one tree for each size
    is_sweep: bool = False  # all growth is on one branch of the elimination tree


def proof_of_bounded_fronts(
    eliminate: Callable[[int], Eliminated], first: int, measured: Members
) -> Proof | None:
    """Return a proof that fronts stay bounded, None where none is found.

    `eliminate`: the elimination at a value of the size parameter. `first`: the least value of it.
    `measured`: members of growing size, much larger ones than the first SAMPLE among them.
    """
    largest, most = measured[-1], measured[-1].member.n_bodies / 2
    halves = [one for one in measured if one.member.n_bodies <= most]
    if all(one.largest_front < largest.largest_front for one in halves):
        return None
    consecutive = map(eliminate, range(first, first + SAMPLE))
    sample = list(takewhile(lambda one: one.member.n_bodies <= most, consecutive))
    forest = _forest([*sample, *measured])
    if forest is not None:
        return forest
    known = max((one.member.n_bodies for one in sample), default=0)
    larger = [one for one in measured if one.member.n_bodies > known]
    return _by_rules(sample, larger) or _by_types(sample, measured, larger)


def _forest(measured: Members) -> Proof | None:
    """Return the proof for trees that are eliminated from their leaves."""
    if any(_most_coupled(one) > 1 for one in measured):
        return None
    bodies = tuple(sorted(set(_bodies(measured))))
    width = max(one.largest_front for one in measured)
    return Proof(
        kind="forest",
        width=width,
        statement="every pivot couples to one later block at most, so that nothing fills in and a "
        f"front is that of two blocks, {width} rows at most",
        premise="bodies and joints form a forest, eliminated from its leaves, and are no larger; "
        f"they do and are at {len(bodies)} sizes from {bodies[0]} to {bodies[-1]} bodies",
        smallest=bodies[0],
        compared=bodies,
    )


def _most_coupled(one: Eliminated) -> int:
    """Return the most later blocks that a pivot couples to, or 2 if there are more."""
    (indptr, indices), parent, _ = one.elimination
    row = np.repeat(np.arange(len(parent)), np.diff(indptr))
    later = indices[indices > row]
    counts = np.bincount(row[indices > row], minlength=len(parent))
    fills = len(later) and bool((parent[row[indices > row]] != later).any())
    return 2 if fills else int(counts.max(initial=0))


def _by_rules(sample: Members, larger: Members) -> Proof | None:
    """Return the proof by rules that derive every larger member, too."""
    derivation = None
    for small, context in _VIEWS:
        productions = Productions(small, context)
        derivation = _read_off(sample, productions, exact=True)
        if derivation is not None:
            break
    else:
        productions = Productions()
        derivation = _read_off(sample, productions, exact=False)
    if derivation is None:
        return None
    rules, begin, n_steps = derivation
    derivations = (productions.derivations(one.elimination, one.labels) for one in larger)
    if not all(map(rules.predicts, derivations)):
        return None
    sample = sample[begin:]
    used = rules.productions
    width = max(productions.widths[number] for number in used)
    smallest = sample[0].member.n_bodies
    period = sample[n_steps].member.n_bodies - smallest
    compared = _bodies([*sample, *larger])
    exactly = "exactly" if rules.is_exact else "(by one of alternatives for some subtrees)"
    where = "on one branch" if rules.is_sweep else "on several branches"
    return Proof(
        kind="rules",
        width=width,
        statement=f"from {_count(smallest)} on the elimination tree grows {where}, with a period "
        f"of {_count(period)}: {rules.n_rules} rules and {len(rules.listed)} small subtrees are "
        f"closed under growth, so that all sizes have the same {len(used)} productions, with "
        f"fronts of {width} rows at most (induction over the size of subtrees)",
        premise=f"family and ordering go on as the rules say, which they do {exactly} at "
        f"{len(sample)} sizes from {smallest} to {sample[-1].member.n_bodies} bodies and at "
        f"{_listed(_bodies(larger))}",
        smallest=smallest,
        compared=compared,
        n_productions=len(used),
        n_rules=rules.n_rules,
        period=period,
        is_exact=rules.is_exact,
        is_sweep=rules.is_sweep,
    )


def _read_off(
    sample: Members, productions: Productions, exact: bool
) -> tuple[Rules, int, int] | None:
    """Return closed rules, the member from which on they hold, and their period in members."""
    table = merged(productions.derivations(one.elimination, one.labels) for one in sample)
    if exact and any(len(values) > 1 for values in table.values()):
        return None
    blocks = [len(one.kinds) for one in sample]
    for n_steps in _PERIODS:
        grown = {after - n for n, after in zip(blocks, blocks[n_steps:], strict=False)}
        if len(grown) != 1 or min(grown) <= 0:
            continue
        affine = affine_rules(table, grown.pop())
        for begin in range(len(blocks) - 2 * n_steps):
            rules = closed(affine, blocks[begin : begin + n_steps])
            if rules is not None:
                return rules, begin, n_steps
    return None


def _by_types(sample: Members, measured: Members, larger: Members) -> Proof | None:
    """Return the proof by productions, if the largest members need none of their own."""
    end = measured[-1].member.n_bodies / _LAST
    last = [one for one in larger if one.member.n_bodies > end]
    productions = Productions()
    for one in chain(sample, (one for one in measured if one not in last)):
        productions.derivations(one.elimination, one.labels)
    known = len(productions.numbers)
    for one in last:
        productions.derivations(one.elimination, one.labels)
    if any(shape.front for shape in list(productions.numbers)[known:]):
        return None
    width, smallest = max(productions.widths), measured[0].member.n_bodies
    return Proof(
        kind="types",
        width=width,
        statement=f"whatever size has an elimination tree of these {known} productions has fronts "
        f"of {width} rows at most",
        premise=f"no other production comes; none did at {_listed(_bodies(last))}",
        smallest=smallest,
        compared=_bodies(last),
        n_productions=known,
    )


def _bodies(members: Members) -> tuple[int, ...]:
    return tuple(one.member.n_bodies for one in members)


def _count(n_bodies: int) -> str:
    return "1 body" if n_bodies == 1 else f"{n_bodies} bodies"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) + " bodies" if numbers else "no larger one"
