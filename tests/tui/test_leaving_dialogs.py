"""Ctrl-C and Ctrl-Q leave the app from any dialog, as from a screen."""

import pytest
from fakes import running
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.worker import WorkerFailed

from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen, Dialog


async def opened(d, kind):
    """Open a dialog, and wait until it is on top."""
    if kind is ConfirmScreen:
        d.app.push_screen(ConfirmScreen("Title", "Question?", "Yes", "No"))
    elif kind is AskScreen:
        d.app.push_screen(AskScreen("Title", "Question?", ""))
    elif kind is not None:
        await d.press("ctrl+p" if kind is CommandPalette else "T")
    await d.until(lambda: kind is None or isinstance(d.app.screen, kind))


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
@pytest.mark.parametrize("kind", [None, ConfirmScreen, AskScreen, Dialog, CommandPalette])
async def test_a_key_that_leaves_the_app(drive, kind, key):
    async with drive(running()) as d:
        await opened(d, kind)
        await d.press(key)
        await d.until(lambda: d.app._exit)


async def test_ctrl_c_copies_what_is_selected_in_a_question(drive):
    async with drive(running()) as d:
        await opened(d, AskScreen)
        await d.press(*"abc", "shift+home", "ctrl+c")
        assert d.app.clipboard == "abc"
        assert not d.app._exit


async def test_what_waits_for_the_log_is_not_drawn_while_the_app_closes(drive, monkeypatch):
    """Textual removes the widgets before it cancels the worker that follows the log."""
    async with drive(running()) as d:
        waiting = []
        monkeypatch.setattr(d.app._feed, "when_free", waiting.append)
        await d.press("2")  # the Corpus screen waits until it may read the state
        await d.until(lambda: waiting)
        await d.screen.query_one("#body").remove()
        monkeypatch.setattr(d.app, "_running", False)
        for look in waiting:
            look()
        monkeypatch.undo()


async def test_a_worker_that_misses_a_widget_while_the_app_closes_is_no_failure(drive, monkeypatch):
    async with drive(running()) as d:
        monkeypatch.setattr(d.app, "_running", False)
        d.app._handle_exception(WorkerFailed(NoMatches("No nodes match")))
        assert d.app.failure is None
        monkeypatch.undo()
