"""The options of ForwardDynamics, checked together."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody.dynamics.compliant_reactions import Compliance
from sparsebody.equations.accelerations import REACTIONS
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.sparse.rank.tolerances import RANK_TOLERANCE

REDUNDANCY = ("remove", "keep", "krylov", "auto")
REDUCTION = ("auto", "none")
RESIDUALS = ("double", "extended")


@dataclass(frozen=True, eq=False)
class SolverOptions:
    """What a user asks of a ForwardDynamics; see there.

    Raises
    ------
    UnknownNameError, ModelError
        For a value that there is not, or values that contradict each other.
    """

    redundancy: str = "remove"
    reduction: str = "auto"
    reactions: str = "minimum-norm"
    compliance: Compliance | None = None
    baumgarte: float | None = None
    ordering: str = "auto"
    factorization: str = "auto"
    residuals: str = "double"
    threads: int = 1
    rank_tolerance: float = RANK_TOLERANCE  # looser where a pose is nearly singular

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.redundancy, REDUNDANCY, "redundancy"),
            (self.reactions, (*REACTIONS, "compliance"), "reactions"),
            (self.reduction, REDUCTION, "reduction"),
            (self.residuals, RESIDUALS, "residuals"),
        ):
            if value not in known:
                raise UnknownNameError(f"{what} is {value!r}; give one of {', '.join(known)}")
        if self.baumgarte is not None and not self.baumgarte > 0.0:
            raise ModelError(
                f"the Baumgarte time constant is {self.baumgarte}; it must be positive"
            )
        if self.threads < 1:
            raise ModelError(f"threads is {self.threads}; give the number of them, 1 or more")
        if (self.reactions == "compliance") != (self.compliance is not None):
            raise ModelError(
                "give compliance=... together with reactions='compliance', and only then"
            )
