"""Files written as a whole or not at all, with OutputError that names the path and the reason."""

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
    except OutputError:  # names them already
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {str(path)!r}: {reason}") from error


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a draft beside `path` that takes its place as a whole, or not at all.

    A device or a pipe is yielded itself: it must not be replaced by a file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):
        with write_errors(path):
            yield target
        return
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
        target = Path(os.path.realpath(path))  # the target of a link
        if target.exists():
            target.open("ab").close()
            return
        try:
            target.write_bytes(b"\0")  # a full disk shows only here
        finally:
            if target.exists():
                target.unlink()
