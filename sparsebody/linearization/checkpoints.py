"""Steps of a simulation for its reverse sweep, stored or recomputed from checkpoints.

With a checkpoint every m steps, the steps of one interval at a time are recomputed, the last
interval first: n steps need the memory of n / m + m of them, least for m near sqrt(n), and one
more simulation. Griewank and Walther (2008), Evaluating Derivatives, ch. 12.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Start = TypeVar("Start")
Plan = TypeVar("Plan")
Step = TypeVar("Step")


class CheckpointedSteps(Generic[Start, Plan, Step]):
    """Steps that are appended as a simulation makes them, and returned last interval first.

    repeat(start, plans) recomputes steps from the state at the start of the first one, and for each
    its plan: whatever it depends on besides the previous step, such as its length. Steps since the
    last checkpoint are stored; with an interval of 1 there are no checkpoints and all are.
    """

    def __init__(self, interval: int, repeat: Callable[[Start, list[Plan]], list[Step]]) -> None:
        self.interval, self._repeat = interval, repeat
        self._starts, self._plans, self._newest = list[Start](), list[Plan](), list[Step]()

    @property
    def is_due(self) -> bool:
        """Whether the next step begins at a checkpoint."""
        return self.interval > 1 and len(self._plans) % self.interval == 0

    @property
    def n_stored(self) -> int:
        """The number of steps and checkpoints in memory."""
        return len(self._starts) + len(self._newest)

    def append(self, step: Step, plan: Plan, start: Start | None) -> None:
        """Store a step and its plan; `start` where a checkpoint is due."""
        if self.is_due:
            assert start is not None
            self._starts.append(start)
            self._newest.clear()
        self._newest.append(step)
        if self.interval > 1:
            self._plans.append(plan)

    def intervals(self) -> Iterator[list[Step]]:
        """Return the steps of each interval, in order of time, the last interval first."""
        yield self._newest
        for k in reversed(range(len(self._starts) - 1)):
            first = k * self.interval
            yield self._repeat(self._starts[k], self._plans[first : first + self.interval])
