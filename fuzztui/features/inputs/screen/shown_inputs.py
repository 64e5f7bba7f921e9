"""Reads what generators made of inputs: one record of the log each. Blocking; used in threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.wire.events import InputShown

_MAX_KEPT = 100


class ShownInputs:
    """Records by their numbers, from a reader of its own."""

    def __init__(self, open_reader: Callable[[], LogReader]) -> None:
        self._open = open_reader
        self._reader: LogReader | None = None
        self._kept: OrderedDict[int, InputShown] = OrderedDict()
        self._turn = threading.Lock()

    def read(self, seq: int) -> InputShown | None:
        """Return record ``seq``; None for 0, for another kind, or if it cannot be read."""
        if seq <= 0:
            return None
        with self._turn:
            if seq not in self._kept:
                event = self._read(seq)
                if not isinstance(event, InputShown):
                    return None
                self._kept[seq] = event
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[seq]

    def _read(self, seq: int) -> object:
        try:
            if self._reader is None:
                self._reader = self._open()
            self._reader.refresh()
            record = next(iter(self._reader.records(seq - 1, 1)), None)
        except (LogError, OSError):
            self._reader = None
            return None
        return record.event if record is not None and record.seq == seq else None
