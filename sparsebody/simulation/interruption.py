"""Ctrl-C and SIGTERM end a run between two steps, with everything kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether a signal has asked to stop, and which."""

    def __init__(self) -> None:
        self.signal: str | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:  # the second time: at once
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Turn SIGINT and SIGTERM into a request; outside the main thread, do nothing."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request._ask) for number in _SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
