"""Files that cannot be written: found out early, and said in one way."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparsebody.errors import OutputError

StrPath = str | os.PathLike[str]  # of arguments, as in typeshed


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise OutputError, naming `path` and the reason, where it cannot be written."""
    try:
        yield
    except OutputError:  # which says so already
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {str(path)!r}: {reason}") from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a draft beside `path` that takes its place as a whole, or not at all."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    with write_errors(path):
        try:
            yield draft
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file as a whole, or not at all; return its path."""
    with replaced(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
    return path


def check_writable(path: Path) -> None:
    """Raise OutputError unless `path` can be written; leave everything as it is."""
    with write_errors(path):
        target = Path(os.path.realpath(path))  # of a link, what it points to
        if target.exists():
            target.open("ab").close()
            return
        try:
            target.write_bytes(b"\0")  # a full disk shows only here
        finally:
            if target.exists():
                target.unlink()
