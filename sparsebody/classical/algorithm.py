"""What an algorithm of the literature is here: a kernel, and what it claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.classical.arm import Arm
from sparsebody.classical.links import Links, Motion
from sparsebody.errors import ModelError


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as its paper has it, which takes any arm of hinges and slides.

    Called with an Arm, q, qd and qdd (n,) it returns tau (n,); if it is one of forward dynamics,
    called with tau instead of qdd it returns qdd.
    """

    name: str
    source: str
    kernel: Callable[[Links, Motion], FloatArray]
    growth: int  # operations are a polynomial of this degree in n
    is_forward: bool = False
    takes_wrenches: bool = False  # on the links from outside

    def __call__(
        self,
        arm: Arm,
        q: ArrayLike,
        qd: ArrayLike,
        given: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> FloatArray:
        """Return tau, or of forward dynamics qdd; for the arguments see `Arm.motion`."""
        if wrench is not None and not self.takes_wrenches:
            raise ModelError(
                f"{self.name} has no place for wrenches on links; leave them out, or take "
                "luh-walker-paul"
            )
        return self.kernel(arm.links, arm.motion(q, qd, given, wrench))
