"""Restores the terminal when the app ends, also when a signal ends it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from fuzztui.tui.base.background_query import BackgroundQuery

Handler = Callable[[int, FrameType | None], Any] | int | None

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that end the app. SIGKILL ends it too, but cannot be caught."""

RESTORE = (
    "\x1b\\"  # ends a half-sent escape sequence
    "\x1b[?2026l\x1b[0m"  # synchronised output, colours
    "\x1b[?2004l\x1b[?7h\x1b[?2048l"  # bracketed paste, line wrap, in-band resize
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[<u"  # kitty's keyboard protocol: a state of the alternate screen, so before leaving it
    "\x1b[?1049l\x1b[?25h\x1b[?1004l"  # alternate screen, cursor, focus reports
)
"""Reverts everything that :class:`LinuxDriver` switches on."""

TICK_S = 0.1
"""Seconds without input after which a lone escape is a key, as in Textual."""

STUCK_S = 1.0
"""Seconds to wait for a terminal that accepts no output (flow control, a hanging link)."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which can also restore the terminal at once if it is in use."""

    drawing = False
    """True from before the first escape sequence until after the last one was written."""

    def start_application_mode(self) -> None:
        """Switch the terminal to application mode."""
        self.drawing = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._query is not None and (before := self._query.take_attributes()) is not None:
            self.attrs_before = before  # not those with which it was asked for its background

    @property
    def _query(self) -> BackgroundQuery | None:
        """The question for the terminal's background; None if it was not asked."""
        query = getattr(self._app, "background_query", None)
        return query if isinstance(query, BackgroundQuery) else None

    def run_input_thread(self) -> None:
        """Read the input. Until the terminal has answered all, without its answers."""
        if self._query is not None and not self.exit_event.is_set():
            self._read_until_answered(self._query)
        super().run_input_thread()

    def _read_until_answered(self, query: BackgroundQuery) -> None:
        parser = XTermParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        waiting, query.typed = query.typed, b""
        while True:
            for event in (*parser.feed(decode(waiting)), *parser.tick()) if waiting else ():
                self.process_message(event)
            if self.exit_event.is_set():
                return
            if select.select([self.fileno], [], [], TICK_S)[0]:
                data = os.read(self.fileno, 4096)
                if not data:
                    return
                waiting = query.feed(data)
            else:
                waiting = query.answers.tick()
                for event in parser.tick():
                    self.process_message(event)
                if not waiting and query.answers.complete.is_set():
                    return  # Textual's parser takes over, and no key is half read

    def disable_input(self) -> None:
        """Stop reading. An answer that may still come must not go to the shell or an editor."""
        if self._query is not None and self._key_thread is not None:
            self._query.wait_at_end()
        super().disable_input()

    def stop_application_mode(self) -> None:
        """Restore the terminal; Textual forgets to switch off mouse reports in pixels."""
        self.write("\x1b[?1016l")
        super().stop_application_mode()

    def close(self) -> None:
        """Close the driver after everything was written."""
        super().close()
        self.drawing = False

    def restore(self) -> None:
        """Revert the escape sequences at once, whatever the state of the application.

        The terminal's attributes are left to :func:`restored_at_exit`.

        For a process that is about to end: nothing can be drawn afterwards. Does nothing if the
        terminal is not in use; neither blocks nor raises if the terminal is gone.
        """
        if not self.drawing:
            return
        self.drawing = False
        # The process may be in the background (kill -STOP, kill -CONT): no SIGTTOU.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        assert self._file is not None  # it was a terminal when the screen was opened
        screen = self._file.fileno()
        with contextlib.suppress(OSError):
            terminal = _opened_again(screen)
            # Output that the writer thread has not sent yet must not follow the restoring.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, screen)
            _write(terminal, RESTORE.encode())


@contextlib.contextmanager
def restored_at_exit(fd: int) -> Iterator[list[Callable[[], None]]]:
    """Context manager: restore the terminal at ``fd`` before the process ends, whatever ends it.

    The caller adds what the application itself reverts. A signal of :data:`SIGNALS` then ends the
    process as if it had not been caught, so that the shell reports 128 plus its number. The
    campaign continues: the supervisor is another process.
    """
    first: list[Callable[[], None]] = []
    attributes: list[Any] | None = None
    with contextlib.suppress(termios.error):
        attributes = termios.tcgetattr(fd)

    def restore() -> None:
        """Restore the terminal; neither blocks nor raises if the terminal is gone."""
        for revert in first:
            revert()
        with contextlib.suppress(OSError, termios.error):
            # The background query changes the attributes too, before there is a driver.
            if (
                attributes is not None
                and os.tcgetpgrp(fd) == os.getpgrp()
                and termios.tcgetattr(fd) != attributes
            ):
                # Pending reports of the mouse would be typed into the shell.
                termios.tcflush(fd, termios.TCIFLUSH)
                termios.tcsetattr(fd, termios.TCSANOW, attributes)

    def end(signum: int, _frame: FrameType | None) -> None:
        # The application is not closed regularly: its event loop may be blocked, and without a
        # terminal its threads would wait for it.
        restore()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    before: dict[signal.Signals, Handler] = {}
    for signum in SIGNALS:
        # An ignored signal (nohup) stays ignored, except SIGHUP: the terminal is lost then.
        if signal.getsignal(signum) != signal.SIG_IGN or signum == signal.SIGHUP:
            before[signum] = signal.signal(signum, end)
    try:
        yield first
    finally:
        restore()  # Textual itself may have failed on its way out
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _opened_again(fd: int) -> int:
    """Open the terminal of ``fd`` again, so that O_NONBLOCK does not affect the shell."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:  # no /dev/pts in this container
        return os.dup(fd)


def _write(fd: int, data: bytes) -> None:
    while data and select.select([], [fd], [], STUCK_S)[1]:
        with contextlib.suppress(BlockingIOError):
            data = data[os.write(fd, data) :]
