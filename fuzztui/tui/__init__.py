"""The screens. Importing this room costs nothing: Textual is loaded by :func:`run_app`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from fuzztui.kernel.base.text import visible
from fuzztui.tui.base.pauses import short_pauses

if TYPE_CHECKING:
    from fuzztui.kernel.model.state import State
    from fuzztui.kernel.remote.mirrored import RunUser
    from fuzztui.kernel.session import Session
    from fuzztui.tui.app.app import Opening
    from fuzztui.tui.app.config import Config
    from fuzztui.tui.app.home import HomeApp, HomeOpening
    from fuzztui.tui.base.themed import ThemedApp
    from fuzztui.tui.base.themes import ThemeFile
    from fuzztui.tui.labels.status import Status

__all__ = ["BROWSER", "run_app", "run_home", "run_still", "screen_scopes"]

_App = TypeVar("_App", bound="ThemedApp")

BROWSER = "fuzztui.tui.base.browser:BrowserDriver"
"""What TEXTUAL_DRIVER is in a process of ``fuzztui serve``: a browser is the terminal."""


@short_pauses()
def run_app(
    run: Path | None,
    log_path: Path,
    *,
    mode: Literal["live", "replay"],
    speed: float = 1.0,
    at: float | None = None,
    theme: str | None = None,
    control: bool = True,
    died: Callable[[], str] = lambda: "",
    opened: Callable[[Session], Session] = lambda session: session,
    user: RunUser | None = None,
) -> int:
    """Show a campaign until the user leaves. Returns an exit status for the shell.

    ``run`` is the run directory; None: a log without one, or a watched campaign of someone else.
    ``log_path`` is what :class:`~fuzztui.kernel.log.reader.LogReader` opens. ``speed`` and ``at``
    (campaign time, seconds) apply to replays. ``control`` False: no commands can be sent. ``died``
    (must not block) returns why the log's writer ended, an empty string while the writer lives;
    only for watched campaigns. ``opened`` is called with the new session and returns the session
    to show. ``user``: of a run that another user owns, or that is on another machine. Must be
    called in the main thread, on a terminal.
    """
    setup = _set_up("`fuzztui status` prints the same state", theme)
    if setup is None:
        return 2
    from fuzztui.tui.app.app import FuzzApp
    from fuzztui.tui.app.feed import default_hz
    from fuzztui.tui.base.user_state import ViewOptions, last_look, remember_look

    opening = _opening(run, log_path, mode=mode, speed=speed, at=at, control=control)
    if user is not None and run is not None:
        opening = _seen_by(user, opening, run, died)
    open_log = opening.session
    opening = replace(
        opening,
        config=setup.config,
        choices=ViewOptions(stored=True),
        tour=True,
        died=died,
        hz=default_hz(setup.config.file.refresh),
        remember=setup.remember,
        session=lambda: opened(open_log()),
    )
    if run is not None and mode == "live":
        looked_at = run if user is None or user.origin is None else Path(user.origin.spec)
        opening = replace(
            opening,
            last_look=lambda: last_look(looked_at),
            remember_look=lambda look: remember_look(looked_at, look),
        )

    def make(name: str) -> FuzzApp:
        return FuzzApp(opening, setup.themes, name, setup.problems)

    again = f"; try again: {opening.come_back}" if opening.come_back else ""
    app = _shown(make, setup.theme, again)
    if app is None:
        return 1
    if mode == "live":
        if not _in_browser():
            _last_words(opening, app.campaign, app.status)
        if app.campaign.state == "failed":
            return 1
    return app.return_code or 0


def _last_words(opening: Opening, seen: State, status: Status) -> None:
    """Print, after a live screen has closed, the campaign's result or how to come back to it."""
    from fuzztui.kernel.model.selectors import ENDED
    from fuzztui.tui.base.text import plain
    from fuzztui.tui.labels.closing import closing_text, closing_title

    if seen.state == "failed":
        print(_failure(seen), file=sys.stderr)
    if opening.run is None:
        return
    state = latest_state(opening, seen)
    if seen.state in ENDED and state == seen.state:
        if state != "failed":
            print(plain(closing_title(state, seen.reason)))
        print(closing_text(seen, status, opening.run))
    elif state in ENDED:  # since the last frame
        print(f"{closing_title(state, '')}. Look at it with: {opening.come_back}")
    elif state == "stopping":
        print(f"The campaign is being stopped. See its end with: {opening.come_back}")
    elif status.orphaned or (state == "empty" and opening.running() is None):
        print(f"No supervisor is running. Resume with: {opening.go_on}")
    else:
        state = "starting" if state == "empty" else state
        print(f"The campaign continues ({state}). Come back with: {opening.come_back}")


def run_still(
    make: Callable[[Iterable[ThemeFile], str], ThemedApp], theme: str | None = None
) -> int:
    """Show an application that follows no campaign until the user leaves.

    ``make`` gets the themes, and the name of the one to use. Returns an exit status for the shell.
    """
    setup = _set_up("leave out --screen", theme, follows=False)
    if setup is None:
        return 2
    app = _shown(lambda name: make(setup.themes.values(), name), setup.theme)
    return 1 if app is None else app.return_code or 0


@short_pauses()
def run_home(opening: HomeOpening, theme: str | None = None) -> tuple[int, HomeApp | None]:
    """Show the home screen until the user leaves, or has chosen something.

    Returns an exit status for the shell, and the application, which has the choice; None: an error.
    """
    setup = _set_up("see `fuzztui --help`, and `fuzztui runs`", theme)
    if setup is None:
        return 2, None
    from fuzztui.tui.app.home import HomeApp

    opening = replace(opening, config=setup.config, remember=setup.remember)

    def make(name: str) -> HomeApp:
        return HomeApp(opening, setup.themes, name, setup.problems)

    app = _shown(make, setup.theme)
    return (1, None) if app is None else (app.return_code or 0, app)


class _Setup(NamedTuple):
    """What the user has configured."""

    themes: Mapping[str, ThemeFile]
    theme: str
    """The name of the user's theme; "": the one that fits the terminal."""
    config: Config
    problems: Sequence[str]

    def remember(self, name: str) -> None:
        """Store the name of a theme."""
        from fuzztui.tui.base.user_state import remember

        remember(name, self.config.file.theme)


def _set_up(instead: str, theme: str | None, *, follows: bool = True) -> _Setup | None:
    """Read the user's themes, configuration and stored choices.

    Returns None after printing the reason if there is no terminal, or if the wanted theme does
    not exist. ``instead``: ends the message about the missing terminal with what works without
    one. ``follows``: whether the application shows a campaign, so that its keys are checked too.
    """
    if not (_in_browser() or (sys.stdin.isatty() and sys.stdout.isatty())):
        print(f"fuzztui: the screens need a terminal; {instead}.", file=sys.stderr)
        return None
    from textual.theme import BUILTIN_THEMES

    from fuzztui.tui.app.config import config_path, load_config, theme_of
    from fuzztui.tui.base.themes import load_themes
    from fuzztui.tui.base.user_state import recall

    themes, problems = load_themes()
    known = {*themes, *BUILTIN_THEMES}
    config, wrong = load_config(config_path(), known, screen_scopes() if follows else ())
    remembered, unfit = recall(known, config.file.theme)
    wanted, origin = theme_of(
        os.environ, option=theme or "", remembered=remembered, configured=config.file.theme
    )
    if wanted and wanted not in known:
        print(
            f"fuzztui: {origin}: the theme {wanted!r} does not exist; "
            f"choose one of {', '.join(themes)}.",
            file=sys.stderr,
        )
        return None
    problems += [*wrong, *([unfit] if unfit and not wanted else [])]
    return _Setup(themes, wanted, config, problems)


def _in_browser() -> bool:
    """Whether the terminal is a browser: nothing but the screens may be printed on stdout."""
    return os.environ.get("TEXTUAL_DRIVER") == BROWSER


def screen_scopes() -> Iterator[Sequence[str]]:
    """Yield the scopes of each screen, to find keys that clash.

    The campaign's screens are imported only when the iterator is used: 0.2 s of CPU time, which a
    user without own keys does not wait for at the home screen.
    """
    from fuzztui.tui.app.app import FuzzApp
    from fuzztui.tui.frame.actions import HOME_SCREENS

    yield from HOME_SCREENS
    for screen in FuzzApp.MODES.values():
        yield screen.scopes()


def _shown(make: Callable[[str], _App], theme: str, again: str = "") -> _App | None:
    """Run an application on the terminal, and restore the terminal whatever happens.

    ``make`` gets the name of the theme: ``theme``, or the one that fits the terminal. None: the
    application has failed, which was printed with ``again``.
    """
    from fuzztui.tui.app.config import fitting_theme, has_few_colours
    from fuzztui.tui.base.background_query import asked, light_by_variable
    from fuzztui.tui.base.terminal import restored_at_exit
    from fuzztui.tui.base.themes import PLAIN

    if _in_browser():
        app = make(theme or fitting_theme(False))
        app.run()
        return _ended(app, again)
    with ExitStack() as stack:
        reverts = stack.enter_context(restored_at_exit(sys.stdin.fileno()))
        query = None
        if not theme and has_few_colours(os.environ):
            theme = PLAIN
        if not theme:
            terminal = asked(os.environ, sys.stdin.fileno(), sys.stdout.fileno())
            query = stack.enter_context(terminal)
            light = None if query is None else query.wait()
            theme = fitting_theme(light_by_variable(os.environ) if light is None else light)
        app = make(theme)
        if query is not None:
            app.follow_background(query, fitting_theme)
        reverts.append(app.restore_terminal)
        stack.enter_context(_drawing_on_stdout())
        app.run()
    return _ended(app, again)


def _ended(app: _App, again: str) -> _App | None:
    """Return the application; None if it has failed, which is printed."""
    from fuzztui.tui.app.failure import report_failure

    if app.failure is not None:
        print(f"fuzztui: {report_failure(app.failure)}{again}", file=sys.stderr)
        return None
    return app


def latest_state(opening: Opening, seen: State) -> str:
    """Return the campaign's latest state in the log, which may be newer than ``seen``."""
    from fuzztui.kernel.log.files import LogError
    from fuzztui.kernel.wire.events import CampaignEnded, CampaignState

    state = seen.state
    with suppress(LogError, OSError):
        for record in opening.reader().records(after_seq=seen.seq):
            if isinstance(record.event, (CampaignState, CampaignEnded)):
                state = record.event.state
    return state


def _failure(state: State) -> str:
    """Why the campaign has failed, in full: on the screen the text may have been cut."""
    lines = [f"fuzztui: the campaign {state.name} has failed" + _because(state.reason)]
    lines += [
        f"  {instance.id} has failed" + _because(instance.reason)
        for instance in state.instances.values()
        if instance.state == "failed" and instance.reason != state.reason
    ]
    return "\n".join(visible(line, lines=True) for line in lines)


def _because(reason: str) -> str:
    return f": {reason}" if reason else "."


@contextmanager
def _drawing_on_stdout() -> Iterator[None]:
    """Redirect Textual, which draws on stderr, to stdout if stderr is a file (``2>log``)."""
    stderr = sys.__stderr__
    if stderr is not None and stderr.isatty():
        yield
        return
    sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    try:
        yield
    finally:
        sys.__stderr__ = stderr  # type: ignore[misc]


def _opening(
    run: Path | None,
    log_path: Path,
    *,
    mode: Literal["live", "replay"],
    speed: float,
    at: float | None,
    control: bool,
) -> Opening:
    from fuzztui.kernel.log.reader import LogReader
    from fuzztui.kernel.remote.lock import running, trouble
    from fuzztui.kernel.session import LiveClock, ReplayClock, Session, state_at_end, state_before
    from fuzztui.run.home.earlier import earlier_run
    from fuzztui.run.home.finding import campaign_file
    from fuzztui.tui.app.app import Opening
    from fuzztui.tui.app.replay import Outline, Player
    from fuzztui.tui.frame.command_sender import CommandSender
    from fuzztui.tui.frame.ghost import Ghost
    from fuzztui.tui.labels.run_files import set_file

    if run is not None:
        set_file(run, campaign_file(run))

    def outline() -> Outline:
        # A second session, at the end: checkpoints make this cheap, unlike a scan.
        return Outline.of(state_at_end(log_path))

    def ghost(path: str) -> Ghost | None:
        earlier = None if path or run is None else earlier_run(run)
        where = Path(path).expanduser() if path else earlier
        if where is None:
            return None
        session = Session(where, LiveClock())
        if not path and session.is_long:
            return None  # unasked, a log without checkpoints is not read: that delays the screen
        return Ghost.of(where.absolute().name, session.fold_rest())

    def live() -> Session:
        session = Session(log_path, LiveClock())
        session.draft()
        return session

    if mode == "replay":
        clock = ReplayClock(speed=speed, t=at or 0.0, paused=False)
        return Opening(
            session=lambda: Session(log_path, clock),
            reader=lambda: LogReader(log_path),
            run=run,
            mode=mode,
            player=Player(clock, speed, True),
            outline=outline,
            ghost=ghost,
        )
    return Opening(
        session=live,
        reader=lambda: LogReader(log_path),
        run=run,
        mode=mode,
        running=lambda: None if run is None else running(run),
        unwritten=lambda: "" if run is None else trouble(run),
        ghost=ghost,
        steering=CommandSender(run) if control and run is not None else None,
        past=lambda c: state_at_end(log_path) if c is None else state_before(log_path, c),
        come_back="" if run is None else shlex.join(["fuzztui", "attach", str(run)]),
        go_on="" if run is None else shlex.join(["fuzztui", str(run / "campaign.toml")]),
    )


def _seen_by(user: RunUser, opening: Opening, run: Path, died: Callable[[], str]) -> Opening:
    """Adapt ``opening`` to a run that another user owns, or that is on another machine.

    ``died`` returns why the process that mirrors a run on another machine has ended; "" while the
    process lives.
    """
    from fuzztui.kernel.remote.lock import trouble
    from fuzztui.tui.frame.command_sender import CommandSender
    from fuzztui.tui.labels.run_files import run_command, set_origin

    steering = None if opening.steering is None else CommandSender(run, by=user.by)
    opening = replace(opening, steering=steering, read_only=user.why_not_steer)
    origin = user.origin
    if origin is None:
        return opening
    set_origin(run, origin)
    return replace(
        opening,
        remote=True,
        # Its end says nothing about the supervisor over there.
        running=lambda: -1 if died() else opening.running(),
        unwritten=lambda: died() or trouble(run),
        come_back=shlex.join(["fuzztui", "attach", origin.spec]),
        go_on=run_command(run, ["fuzztui", str(run / "campaign.toml")]),
    )
