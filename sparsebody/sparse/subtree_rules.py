"""Induction over elimination trees: rules that give the tree of any size from those of a few.

A subtree of the elimination tree is coupled to the other blocks by its front: the blocks that its
root couples to, all of them above it. A *production* states how a front follows from those of the
children: which blocks take part, by kind and size, which of them the pivot couples to in the
matrix, and at which positions the blocks of each child's front stand. Positions are counted from
the pivot upwards, so that productions depend neither on the numbering of the blocks nor on the
choice among equivalent orders. Equal productions all the way down mean equal parts of the
mechanism, eliminated alike. A small subtree is not derived, but a part of its parent's production.

The *slot* of a subtree are the productions above its root, and which child it is of each. Subtrees
of one slot and one number of blocks m have one derivation, or one of a few. A *rule* states more:
from some size on, subtrees in one slot with m = start + t period, t = 0, 1, ..., have one
production, and their children grow by fixed steps. If every subtree that the rules lead to has a
rule, or is one of finitely many that are listed, then rules and list derive eliminations of every
size, and only finitely many productions, hence fronts, occur in them: induction over m, since
children are smaller.

A sweep has one child that grows by the whole period; dissection has two that grow by half of it.
Where several rules are for the same subtrees, as for the longer half on either side, they are
alternatives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from sparsebody._core import graph
from sparsebody.sparse.elimination_tree import Elimination

Slot = tuple[tuple[int, int], ...]  # of a subtree: the productions above it, child by child
Key = tuple[Slot, int]  # a slot, and the number of blocks of its subtree
Label = tuple[int, int]  # of a block: its kind, and its scalar rows
Glue = tuple[tuple[int, ...], int]  # positions of a child's front in that of its parent, and the
#   production of a child that is small, -1 for others

TOP: Slot = ()  # the slot of the complete forest


class Derivation(NamedTuple):
    """A node of an elimination tree."""

    production: int
    children: tuple[Key, ...]  # without small ones


Derived = tuple[Key, Derivation]  # a subtree, and its root


class Shape(NamedTuple):
    """The parts of a production."""

    front: tuple[Label, ...]  # the pivot first; nothing at TOP
    coupled: tuple[bool, ...]  # whether the pivot couples to each other block in the matrix
    glues: tuple[Glue, ...]  # of the children, sorted


@dataclass(eq=False)
class Productions:
    """The productions of several eliminations, numbered as they come.

    Subtrees of up to `small` blocks are taken as a whole; `context` productions above make a slot.
    """

    small: int = 0
    context: int = 1
    numbers: dict[Shape, int] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)  # scalar rows of the largest front of each

    def derivations(self, tree: Elimination, labels: Sequence[Label]) -> list[Derived]:
        """Return the nodes of a forest, of `labels` by position, from TOP downwards."""
        forest = _Forest(tree, labels)
        number, growing = self._numbered(forest)
        n = len(labels)
        slots: dict[int, Slot] = {n: TOP}
        derived: list[Derived] = []
        for j in range(n, -1, -1):
            slot = slots.pop(j, None)
            if slot is None:
                continue
            own = []
            for i, c in enumerate(growing[j]):
                slots[c] = (*slot, (number[j], i))[-self.context :]
                own.append((slots[c], forest.sizes[c]))
            derived.append(((slot, forest.sizes[j]), Derivation(number[j], tuple(own))))
        return derived

    def _numbered(self, forest: _Forest) -> tuple[list[int], list[list[int]]]:
        """Return the production of every node, and its children that are not small."""
        number: list[int] = []
        growing = []
        for j, children in enumerate(forest.children):
            kinds = [-1 if forest.sizes[c] > self.small else number[c] for c in children]
            glued = sorted(
                (forest.glue(c, j), kind, forest.sizes[c], c)
                for c, kind in zip(children, kinds, strict=True)
            )
            shape = Shape(*forest.front(j), tuple([(glue, kind) for glue, kind, *_ in glued]))
            number.append(self.numbers.setdefault(shape, len(self.numbers)))
            growing.append([c for _, kind, _, c in glued if kind < 0])
            if number[j] == len(self.widths):
                wide = (self.widths[kind] for _, kind in shape.glues if kind >= 0)
                self.widths.append(max([sum(size for _, size in shape.front), *wide]))
        return number, growing


class _Forest:
    """An elimination forest by position; the last node stands for the top of all."""

    def __init__(self, tree: Elimination, labels: Sequence[Label]) -> None:
        start, rows = graph.column_structures(*tree)
        first, below, n = start.tolist(), rows.tolist(), len(labels)
        entry, near = (part.tolist() for part in tree.graph)
        self.labels = labels
        self.fronts = [[j, *below[first[j] : first[j + 1]]] for j in range(n)] + [[]]
        self.coupled = [set(near[entry[j] : entry[j + 1]]) for j in range(n)] + [set()]
        self.children: list[list[int]] = [[] for _ in range(n + 1)]
        self.sizes = [1] * n + [0]
        for j, parent in enumerate(tree.parent.tolist()):
            self.children[parent].append(j)  # -1 is the last one
            self.sizes[parent] += self.sizes[j]

    def front(self, j: int) -> tuple[tuple[Label, ...], tuple[bool, ...]]:
        """Return the blocks of a front, and which of them couple to the pivot."""
        front, coupled = self.fronts[j], self.coupled[j]
        labels = tuple([self.labels[row] for row in front])
        return labels, tuple([row in coupled for row in front[1:]])

    def glue(self, child: int, j: int) -> tuple[int, ...]:
        """Return the positions of the blocks of a child's front, without its pivot."""
        position = {row: i for i, row in enumerate(self.fronts[j])}
        return tuple([position[row] for row in self.fronts[child][1:]])


Table = Mapping[Key, frozenset[Derivation]]
BySize = Mapping[int, frozenset[Derivation]]
Class = tuple[Slot, int]  # the subtrees in a slot with one remainder of m
_LEAST_SUBTREES = 3  # that must follow a rule: two of one production mostly fit some rule
_NEIGHBOURS = 4  # next smaller sizes tried for the steps of a rule: some follow other rules


class Rule(NamedTuple):
    """One derivation of each subtree with m = start + t period, t = 0, 1, ..."""

    start: int
    first: Derivation  # at t = 0
    steps: tuple[int, ...]  # how much each child grows when t does by one

    def at(self, t: int) -> Derivation:
        """Return the derivation of one of them; t < 0 goes on downwards."""
        children = zip(self.first.children, self.steps, strict=True)
        return Derivation(
            self.first.production, tuple([(slot, m + t * step) for (slot, m), step in children])
        )

    def moved(self, t: int, period: int) -> Rule:
        """Return the rule with its start `t` periods later."""
        return Rule(self.start + t * period, self.at(t), self.steps)


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules and subtrees that derive a family's trees; rules of a class begin together."""

    period: int  # blocks
    rules: Mapping[Class, tuple[Rule, ...]]
    listed: Table  # subtrees that no rule is needed for

    def derivations(self, key: Key) -> frozenset[Derivation]:
        """Return the derivations of a subtree; none if they are unknown."""
        rules = self.rules_of(key)
        derived = [rule.at((key[1] - rule.start) // self.period) for rule in rules]
        return frozenset(derived) if rules else self.listed.get(key, frozenset())

    def rules_of(self, key: Key) -> tuple[Rule, ...]:
        """Return the rules that a subtree follows; none if it is too small."""
        slot, m = key
        rules = self.rules.get((slot, m % self.period), ())
        return rules if rules and m >= rules[0].start else ()

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        return sum(map(len, self.rules.values()))

    @property
    def productions(self) -> set[int]:
        """All that occur."""
        used = {rule.first.production for rules in self.rules.values() for rule in rules}
        return used | {node.production for nodes in self.listed.values() for node in nodes}

    @property
    def is_exact(self) -> bool:
        """Whether there is one tree for each size."""
        return all(len(nodes) == 1 for nodes in (*self.rules.values(), *self.listed.values()))

    @property
    def is_sweep(self) -> bool:
        """Whether all growth goes to one child, everywhere."""
        steps = {step for rules in self.rules.values() for rule in rules for step in rule.steps}
        return steps <= {0, self.period}

    def predicts(self, derived: Iterable[Derived]) -> bool:
        """Tell whether an elimination tree is one that the rules derive."""
        return all(derivation in self.derivations(key) for key, derivation in derived)


def merged(eliminations: Iterable[Iterable[Derived]]) -> Table:
    """Return the derivations of all subtrees of some eliminations."""
    table: dict[Key, set[Derivation]] = defaultdict(set)
    for derived in eliminations:
        for key, derivation in derived:
            table[key].add(derivation)
    return {key: frozenset(nodes) for key, nodes in table.items()}


def affine_rules(table: Table, period: int) -> Rules:
    """Return the rules that the largest subtrees of each slot and remainder follow.

    `table`: of some eliminations, all of it listed; `period`: growth from one member to the next.
    """
    classes: dict[Class, dict[int, frozenset[Derivation]]] = defaultdict(dict)
    for (slot, m), nodes in table.items():
        classes[slot, m % period][m] = nodes
    rules = {of: _affine_end(by_size, period) for of, by_size in classes.items()}
    return Rules(period, {of: some for of, some in rules.items() if some}, table)


def closed(known: Rules, tops: Iterable[int]) -> Rules | None:
    """Return the rules of the forests of m + t period blocks, m in `tops`; None if unknown.

    `tops`: numbers of blocks of whole mechanisms, one for each remainder that occurs.
    """
    rules: dict[Class, tuple[Rule, ...]] = {}
    listed: dict[Key, frozenset[Derivation]] = {}
    waiting = [(TOP, m, known.period) for m in tops]
    while waiting:
        needed = _needed(known, *waiting.pop())
        if needed is None:
            return None
        for slot, m in needed:
            of_class = (slot, m % known.period)
            if its_rules := known.rules_of((slot, m)):
                if of_class not in rules:
                    rules[of_class] = its_rules
                    waiting += [
                        (*child, step)
                        for rule in its_rules
                        for child, step in zip(rule.first.children, rule.steps, strict=True)
                    ]
            elif (slot, m) not in listed:
                listed[slot, m] = known.listed[slot, m]
                waiting += [(*child, 0) for node in listed[slot, m] for child in node.children]
    return Rules(known.period, rules, listed)


def _needed(known: Rules, slot: Slot, first: int, step: int) -> list[Key] | None:
    """Return subtrees of sizes first + t step that stand for all t >= 0; None if one is unknown.

    They are all up to where rules begin, and then one for each remainder.
    """
    needed: list[Key] = []
    ruled, m = set[int](), first
    while True:
        if not known.derivations((slot, m)):
            return None
        needed.append((slot, m))
        if step == 0:
            return needed
        remainder = m % known.period
        if not known.rules_of((slot, m)):
            ruled.clear()
        elif remainder in ruled:
            return needed
        else:
            ruled.add(remainder)
        m += step


def _affine_end(by_size: BySize, period: int) -> tuple[Rule, ...]:
    """Return rules for as many as possible of the largest sizes of a class, none if for few."""
    by_size, rules = dict(sorted(by_size.items(), reverse=True)), list[Rule]()
    begin, n_rules = -1, 0
    for m in by_size:
        known = {rule.at((m - rule.start) // period) for rule in rules if m >= rule.start}
        own = [_best_rule(by_size, m, node, period) for node in sorted(by_size[m] - known)]
        if None in own:
            break
        rules += [rule for rule in own if rule is not None]
        begin, n_rules = m, len(rules)
    begin = max([begin, *(rule.start for rule in rules[:n_rules])])
    return tuple([rule.moved((begin - rule.start) // period, period) for rule in rules[:n_rules]])


def _best_rule(by_size: BySize, m: int, node: Derivation, period: int) -> Rule | None:
    """Return the rule through a derivation that most sizes, descending, have; None if few do."""
    best, most = None, _LEAST_SUBTREES - 1
    for other in islice((size for size in by_size if size < m), _NEIGHBOURS):
        times = (m - other) // period
        for before in by_size[other]:
            if before.production != node.production:
                continue
            pairs = zip(node.children, before.children, strict=True)
            rises = [after - size for (_, after), (_, size) in pairs]
            if any(rise < 0 or rise % times for rise in rises):
                continue
            rule = Rule(m, node, tuple([rise // times for rise in rises]))
            its = [size for size in by_size if rule.at((size - m) // period) in by_size[size]]
            if len(its) > most:
                best, most = rule.moved((its[-1] - m) // period, period), len(its)
    return best
