"""Text files of other people, line by line, with errors that name the line."""

from __future__ import annotations

from pathlib import Path

from sparsebody.errors import FileFormatError


def lines_of(file: Path) -> list[str]:
    """Return the lines of a text file.

    Raises
    ------
    FileFormatError
        If it cannot be read, or is no text.
    """
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{file}: not a text file") from error


def whole(word: str, file: Path, line: int) -> int:
    """Return a whole number.

    Raises
    ------
    FileFormatError
        If the word is none, or has more digits than an index.
    """
    try:
        number = int(word)
    except ValueError as error:
        raise FileFormatError(
            f"{file}: line {line}: {word[:40]!r} is not a whole number; give indices"
        ) from error
    if abs(number) >= 2**62:
        raise FileFormatError(f"{file}: line {line}: {word[:40]} is no index; give smaller ones")
    return number
