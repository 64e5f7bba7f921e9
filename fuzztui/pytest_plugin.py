"""A pytest plugin: ``pytest --fuzz-corpus DIR`` replays a corpus, one test for each entry.

Every pytest of an environment with fuzztui imports this module: it imports pytest only, and the
rest when a corpus is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fuzztui.testing.replay import Replay

_DIRECTORIES = pytest.StashKey[list[Path]]()
_REPLAYS = pytest.StashKey["dict[tuple[Path, Path], Replay]"]()
_CAMPAIGNS = pytest.StashKey["dict[Path, Path | None]"]()
_SHOWN = 400


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("fuzztui")
    group.addoption(
        "--fuzz-corpus",
        metavar="DIR",
        action="append",
        default=[],
        help="replay the inputs in DIR with the target of their campaign (may be repeated)",
    )
    group.addoption(
        "--fuzz-campaign",
        metavar="FILE",
        default=None,
        help="the campaign file for --fuzz-corpus; default: campaign.toml, or pyproject.toml with "
        "[tool.fuzztui], in DIR or above",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the corpus directories to the places where tests are searched."""
    given: list[str] = config.getoption("--fuzz-corpus")
    if not given:
        return
    directories = [Path(config.invocation_params.dir, name).resolve() for name in given]
    for directory, name in zip(directories, given, strict=True):
        if not directory.is_dir():
            raise pytest.UsageError(f"--fuzz-corpus {name}: there is no such directory")
    config.stash[_DIRECTORIES], config.stash[_REPLAYS] = directories, {}
    config.stash[_CAMPAIGNS] = {}
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    config.args[:] = [*(config.args if chosen else ()), *map(str, directories)]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Load the targets, so that an error ends pytest before it collects."""
    for directory in session.config.stash.get(_DIRECTORIES, ()):
        _replay_of(session.config, directory)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a file of a corpus as a test."""
    directories = parent.config.stash.get(_DIRECTORIES, None)
    if not directories or file_path.name.startswith(".") or file_path.name == "README.txt":
        return None
    above = next((d for d in directories if file_path.is_relative_to(d)), None)
    if above is None or _is_no_input(parent.config, file_path, above):
        return None
    collector: _EntryFile = _EntryFile.from_parent(parent, path=file_path)
    collector.directory = above
    return collector


def _is_no_input(config: pytest.Config, file: Path, directory: Path) -> bool:
    from fuzztui.testing.replay import is_constants

    return file == _campaign_file(config, directory) or is_constants(file, directory)


def _campaign_file(config: pytest.Config, directory: Path) -> Path | None:
    from fuzztui.testing.replay import campaign_file

    given = config.getoption("--fuzz-campaign")
    if given:
        return Path(config.invocation_params.dir, given).resolve()
    found = config.stash[_CAMPAIGNS]
    if directory not in found:
        found[directory] = campaign_file(directory)
    return found[directory]


def _replay_of(config: pytest.Config, directory: Path) -> Replay:
    """The loaded target of the campaign, once for each corpus."""
    from fuzztui.testing.replay import CannotReplay, Replay

    file = _campaign_file(config, directory)
    if file is None:
        raise pytest.UsageError(
            f"--fuzz-corpus {directory}: there is no campaign.toml, and no pyproject.toml with "
            "[tool.fuzztui], in it or above; name the campaign file with --fuzz-campaign FILE"
        )
    replays, key = config.stash[_REPLAYS], (file, directory)
    if key not in replays:
        try:
            replays[key] = Replay.of(file, directory)
        except CannotReplay as e:
            raise pytest.UsageError(f"--fuzz-corpus: {e}") from None
    return replays[key]


class _EntryFile(pytest.File):
    directory: Path

    def collect(self) -> Iterator[pytest.Item]:
        replay = _replay_of(self.config, self.directory)
        name = self.path.name.partition(",")[0]
        item: _Entry = _Entry.from_parent(self, name=name)
        item.replay = replay
        yield item


class _Entry(pytest.Item):
    """One input: it passes if the target returns, or raises an expected exception.

    It is an expected failure if the user has called its group ``known`` or ``wont-fix``.
    """

    replay: Replay

    def runtest(self) -> None:
        error = self.replay.failure(self.path)
        if error is None:
            return
        if reason := self.replay.excuse(self.path):
            pytest.xfail(reason)
        raise error

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        own = excinfo.traceback.cut(path=__file__)[1:]  # without the frames of pytest
        excinfo.traceback = own or excinfo.traceback
        shown = self.replay.shown(self.path)[:_SHOWN]
        return f"input: {shown}\n{excinfo.getrepr(style='short')}"
