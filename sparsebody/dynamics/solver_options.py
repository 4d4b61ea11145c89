"""The options of ForwardDynamics, checked together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparsebody.dynamics.compliant_reactions import Compliance
from sparsebody.dynamics.redundancy import INCONSISTENT, REDUNDANCY, resolved
from sparsebody.equations.accelerations import REACTIONS
from sparsebody.errors import ModelError, UnknownNameError

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

    ordering: str
    factorization: str
    redundancy: str
    inconsistent: str
    reactions: str
    compliance: Compliance | None
    reduction: str
    baumgarte: float | None
    residuals: str
    rank_tolerance: float
    threads: int

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.redundancy, REDUNDANCY, "redundancy"),
            (self.inconsistent, INCONSISTENT, "inconsistent"),
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
        if not 0.0 < self.rank_tolerance < 1.0:
            raise ModelError(
                f"rank_tolerance is {self.rank_tolerance}; give a number between 0 and 1"
            )
        if self.threads < 1:
            raise ModelError(f"threads is {self.threads}; give the number of them, 1 or more")
        if (self.reactions == "compliance") != (self.compliance is not None):
            raise ModelError(
                "give compliance=... together with reactions='compliance', and only then"
            )
        resolved(self.redundancy, self.inconsistent)

    @property
    def dependent_rows(self) -> str:
        """What becomes of them, as redundancy and inconsistent say together."""
        return resolved(self.redundancy, self.inconsistent)

    def but(self, **changes: Any) -> dict[str, Any]:
        """Return these options as keyword arguments, with changes."""
        return vars(self) | changes
