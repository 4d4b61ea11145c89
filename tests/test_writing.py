import errno
import os
from pathlib import Path

import pytest

from sparsebody.errors import OutputError
from sparsebody.writing import check_writable, write_errors, write_text


def test_a_path_that_can_be_written_is_left_as_it_is(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("mine")
    check_writable(old)
    check_writable(new)
    assert old.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [old]


def test_a_path_that_cannot_be_written_is_named_with_the_reason(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, code in ((tmp_path / "no" / "file", errno.ENOENT), (loop, errno.ELOOP)):
        with pytest.raises(OutputError) as caught:
            check_writable(path)
        assert str(caught.value) == f"cannot write {str(path)!r}: {os.strerror(code)}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes")
def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_to_a_file_that_is_not_there_stays_a_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    check_writable(link)
    assert list(tmp_path.iterdir()) == [link]
    assert link.is_symlink()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no /dev/full")
def test_a_full_disk_is_the_reason_given(tmp_path):
    with (
        pytest.raises(OutputError, match="cannot write 'file': No space left on device"),
        write_errors(Path("file")),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"0")


def test_an_error_that_names_a_file_already_stays_as_it_is(tmp_path):
    error = OutputError("cannot write 'a.h5': disk full")
    with pytest.raises(OutputError) as caught, write_errors(tmp_path / "draft"):
        raise error
    assert caught.value is error
