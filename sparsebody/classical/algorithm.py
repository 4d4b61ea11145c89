"""What an algorithm of the literature is here: a kernel, and what it claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, Motion
from sparsebody.classical.kernels.operator_recursions import free_joint
from sparsebody.errors import ModelError, SingularSystemError


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
        """Return tau, or of forward dynamics qdd; for the arguments see `Arm.motion`.

        Raises
        ------
        ModelError
            If an argument does not fit, or the result is out of the range of numbers.
        SingularSystemError
            Of forward dynamics, if a joint moves nothing that has inertia along it.
        """
        if wrench is not None and not self.takes_wrenches:
            raise ModelError(
                f"{self.name} has no place for wrenches on links; leave them out, or take "
                "luh-walker-paul"
            )
        motion = arm.motion(q, qd, given, wrench)
        if self.is_forward:
            self._check_joints(arm, motion)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="raise"):
                result = self.kernel(arm.links, motion)
        except (ZeroDivisionError, FloatingPointError) as error:
            raise SingularSystemError(
                f"{self.name}: the inertia matrix of the {arm.n} links is singular to rounding; "
                "take spatial-operators-forward, which does not form it"
            ) from error
        if not np.isfinite(result).all():
            joint = int(np.argmin(np.isfinite(result)))
            raise ModelError(
                f"{self.name}: joint {joint + 1} gets {result[joint]}; give coordinates, rates and "
                "forces of moderate size"
            )
        return result

    def _check_joints(self, arm: Arm, motion: Motion) -> None:
        link = free_joint(arm.links, motion)
        if link >= 0:
            raise SingularSystemError(
                f"{self.name}: joint {link + 1} moves nothing that resists; give the links that it "
                "carries an inertia about its axis, or mass along it"
            )
