"""What a robot file holds that a mechanism does not: collected, then raised or warned of."""

from __future__ import annotations

from pathlib import Path

from sparsebody.errors import FileFormatError


class Findings:
    """Things left out or changed, by reason; constraints left out are errors where `strict`.

    Parameters
    ----------
    path : Path
        The file, for the messages.
    strict : bool
        Whether `check` raises.
    """

    def __init__(self, path: Path, *, strict: bool) -> None:
        self._path = path
        self._strict = strict
        self._notes: dict[str, list[str]] = {}
        self._constraints: list[str] = []

    def note(self, reason: str, what: str = "") -> None:
        """Record a difference; what shares its reason is told in one message."""
        self._notes.setdefault(reason, []).extend([what] if what else [])

    def unsupported(self, what: str) -> None:
        """Record a constraint that cannot be represented."""
        self._constraints.append(what)

    def check(self) -> None:
        """Raise FileFormatError if a constraint was left out and that is an error."""
        if self._constraints and self._strict:
            raise FileFormatError(
                f"{self._path}: cannot represent {'; '.join(self._constraints)}. Take this out of "
                "the file, or pass on_unsupported='warn' to read the rest"
            )

    def texts(self) -> list[str]:
        """Return one message per reason."""
        left_out = [f"{self._path}: left out: {what}" for what in self._constraints]
        return left_out + [
            f"{self._path}: {reason}" + (f": {', '.join(items)}" if items else "")
            for reason, items in self._notes.items()
        ]
