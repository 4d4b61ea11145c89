"""The algorithms of the literature: kernels, their sources and growth, in one table."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, Motion
from sparsebody.classical.kernels import lagrangians, newton_euler, operator_recursions
from sparsebody.classical.operators import SpatialOperators
from sparsebody.errors import ModelError, SingularSystemError, check_name


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as its paper has it, for any arm of revolute and prismatic joints.

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
        qdd_or_tau: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> FloatArray:
        """Return tau, or of forward dynamics qdd; for the arguments see `Arm.motion`.

        Raises ModelError if an argument does not fit, or the result is out of the range of numbers;
        SingularSystemError, of forward dynamics, if a joint moves nothing that has inertia along
        it.
        """
        if wrench is not None and not self.takes_wrenches:
            raise ModelError(
                f"{self.name} takes no wrenches on links; leave them out, or take luh-walker-paul"
            )
        motion = arm.motion(q, qd, qdd_or_tau, wrench)
        try:
            if self.is_forward:  # raises where a joint moves no inertia beyond rounding
                _ = SpatialOperators(arm.links, motion, arm.n - 1, np.eye(6)).articulated
            with np.errstate(over="ignore", invalid="ignore", divide="raise"):
                result = self.kernel(arm.links, motion)
        except SingularSystemError as error:
            raise SingularSystemError(f"{self.name}: {error}") from error
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


_UICKER_KAHN, _OPERATORS = "Uicker (1965), Kahn (1969)", "Rodriguez, Jain (1992)"
_GIBBS = "Gibbs (1879), Appell (1900), Popov"
_TENSORS = "Balafoutis, Patel, Misra (1988)"
_FOUR_STAGES = "Vukobratovic, Stepanenko (1973), spatial form"
_TABLE = (  # name, source, kernel, growth, is it forward dynamics, does it take wrenches
    ("uicker-kahn", _UICKER_KAHN, lagrangians.uicker_kahn, 4, False, False),
    ("waters", "Waters (1979)", lagrangians.waters, 2, False, False),
    ("hollerbach-4x4", "Hollerbach (1980)", lagrangians.hollerbach_4x4, 1, False, False),
    ("hollerbach-3x3", "Hollerbach (1980)", lagrangians.hollerbach_3x3, 1, False, False),
    ("vukobratovic-stepanenko", _FOUR_STAGES, newton_euler.vukobratovic_stepanenko, 1, False, True),
    ("luh-walker-paul", "Luh, Walker, Paul (1980)", newton_euler.luh_walker_paul, 1, False, True),
    ("balafoutis-patel-misra", _TENSORS, newton_euler.balafoutis_patel_misra, 1, False, True),
    ("gibbs-appell", _GIBBS, newton_euler.gibbs_appell, 3, False, False),
    ("spatial-operators", _OPERATORS, operator_recursions.operator_inverse, 1, False, True),
    ("kane", "Kane, Levinson (1985); Ma, Xu", newton_euler.kane, 2, False, True),
    ("uicker-kahn-forward", _UICKER_KAHN, lagrangians.uicker_kahn_forward, 4, True, False),
    ("gibbs-appell-forward", "Popov", newton_euler.gibbs_appell_forward, 3, True, False),
    ("walker-orin-1", "Walker, Orin (1982), method 1", newton_euler.walker_orin_1, 3, True, True),
    ("walker-orin-2", "Walker, Orin (1982), method 2", newton_euler.walker_orin_2, 3, True, True),
    ("walker-orin-3", "Walker, Orin (1982), method 3", newton_euler.walker_orin_3, 3, True, True),
    ("spatial-operators-forward", _OPERATORS, operator_recursions.operator_forward, 1, True, True),
)
ALGORITHMS: dict[str, Algorithm] = {line[0]: Algorithm(*line) for line in _TABLE}


def algorithm(name: str) -> Algorithm:
    """Return a line of ALGORITHMS; UnknownNameError if there is none."""
    check_name(name, ALGORITHMS, "algorithm")
    return ALGORITHMS[name]
