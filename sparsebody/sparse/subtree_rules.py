"""Induction over elimination trees: rules that tell the tree of any size from those of a few.

A subtree of the elimination tree is told by its slot and its number of blocks m, if equal keys have
equal derivations wherever they occur. A *rule* says more: from some size on, all subtrees in one
slot with m = start + t period, t = 0, 1, ..., have one production, and their children grow by fixed
steps. If every subtree that the rules lead to has a rule, or is one of finitely many that are
listed, then rules and list derive the elimination of every size, and only finitely many
productions, hence fronts, occur in it: induction over m, since children are smaller.

A sweep has one child that grows by the whole period; dissection has two that grow by half of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sparsebody.sparse.subtree_types import TOP, Derivation, Key, Slot

Table = Mapping[Key, Derivation]
_LEAST = 3  # subtrees that a rule is read off


class Rule(NamedTuple):
    """The derivations of all subtrees in a slot with m = start + t period, t = 0, 1, ..."""

    start: int
    first: Derivation  # at t = 0
    steps: tuple[int, ...]  # how much each child grows when t does by one

    def at(self, t: int) -> Derivation:
        """Return the derivation of one of them."""
        children = zip(self.first.children, self.steps, strict=True)
        return Derivation(
            self.first.production, tuple([(slot, m + t * step) for (slot, m), step in children])
        )


@dataclass(frozen=True, eq=False)
class Rules:
    """What derives the elimination trees of a family from some size on."""

    period: int  # blocks
    rules: Mapping[tuple[Slot, int], Rule]  # by slot and m modulo the period
    listed: Table  # subtrees that no rule is needed for

    def derivation(self, key: Key) -> Derivation | None:
        """Return how a subtree is derived; None if that is not known."""
        slot, m = key
        rule = self.rules.get((slot, m % self.period))
        if rule is not None and m >= rule.start:
            return rule.at((m - rule.start) // self.period)
        return self.listed.get(key)

    @property
    def productions(self) -> set[int]:
        """All that occur."""
        used = {rule.first.production for rule in self.rules.values()}
        return used | {derivation.production for derivation in self.listed.values()}

    @property
    def is_sweep(self) -> bool:
        """Whether all growth goes to one child, everywhere."""
        return all(set(rule.steps) <= {0, self.period} for rule in self.rules.values())

    def predicts(self, derived: Iterable[tuple[Key, Derivation]]) -> bool:
        """Tell whether an elimination tree is exactly the one that the rules derive."""
        return all(self.derivation(key) == derivation for key, derivation in derived)


def merged(eliminations: Iterable[Iterable[tuple[Key, Derivation]]]) -> Table | None:
    """Return the derivations of all subtrees; None if equal keys have different ones."""
    table: dict[Key, Derivation] = {}
    for derived in eliminations:
        for key, derivation in derived:
            if table.setdefault(key, derivation) != derivation:
                return None
    return table


def affine_rules(table: Table, period: int) -> Rules:
    """Return the rules that the largest subtrees of each slot and remainder follow.

    Parameters
    ----------
    table : dict of Key to Derivation
        Of some eliminations; all of it is listed.
    period : int
        What all that grows grows by [blocks].
    """
    sizes: dict[tuple[Slot, int], list[int]] = defaultdict(list)
    for slot, m in table:
        sizes[slot, m % period].append(m)
    rules = {}
    for of_class, found in sizes.items():
        rule = _affine_end(table, of_class[0], sorted(found), period)
        if rule is not None:
            rules[of_class] = rule
    return Rules(period, rules, table)


def closed(known: Rules, tops: Iterable[int]) -> Rules | None:
    """Return what derives the forests of m + t period blocks, m in `tops`; None if it does not do.

    Parameters
    ----------
    known : Rules
        With more than is needed.
    tops : iterable of int
        Numbers of blocks of whole mechanisms, one for each remainder that occurs.
    """
    rules: dict[tuple[Slot, int], Rule] = {}
    listed: dict[Key, Derivation] = {}
    waiting = [(TOP, m, known.period) for m in tops]
    while waiting:
        needed = _needed(known, *waiting.pop())
        if needed is None:
            return None
        for slot, m in needed:
            of_class = (slot, m % known.period)
            rule = known.rules.get(of_class)
            if rule is not None and m >= rule.start:
                if of_class not in rules:
                    rules[of_class] = rule
                    children = zip(rule.first.children, rule.steps, strict=True)
                    waiting += [(*child, step) for child, step in children]
            elif (slot, m) not in listed:
                listed[slot, m] = known.listed[slot, m]
                waiting += [(*child, 0) for child in listed[slot, m].children]
    return Rules(known.period, rules, listed)


def _needed(known: Rules, slot: Slot, first: int, step: int) -> list[Key] | None:
    """Return subtrees of sizes first + t step that stand for all t >= 0; None if one is unknown.

    They are all up to where rules begin, and then one for each remainder.
    """
    found: list[Key] = []
    ruled, m = set[int](), first
    while True:
        if known.derivation((slot, m)) is None:
            return None
        found.append((slot, m))
        if step == 0:
            return found
        remainder = m % known.period
        rule = known.rules.get((slot, remainder))
        if rule is None or m < rule.start:
            ruled.clear()
        elif remainder in ruled:
            return found
        else:
            ruled.add(remainder)
        m += step


def _affine_end(table: Table, slot: Slot, sizes: list[int], period: int) -> Rule | None:
    """Return the rule that as many as possible of the largest sizes follow."""
    if len(sizes) < _LEAST:
        return None
    last, before = table[slot, sizes[-1]], table[slot, sizes[-2]]
    if last.production != before.production:
        return None
    times = (sizes[-1] - sizes[-2]) // period
    pairs = zip(last.children, before.children, strict=True)
    steps = tuple([(m - other) // times for (_, m), (_, other) in pairs])
    rule, count = Rule(sizes[-1], last, steps), 0
    if min(steps, default=0) < 0:
        return None
    for m in reversed(sizes):
        t = (m - rule.start) // period
        if rule.at(t) != table[slot, m]:
            break
        rule, count = Rule(m, table[slot, m], steps), count + 1
    return rule if count >= _LEAST else None
