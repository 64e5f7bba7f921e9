"""How a smaller input is searched and written: where to, and only as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import check_writable, read_regular
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.service import Progress
from fuzztui.run.triage.afl import MAX_INPUT


@dataclass(frozen=True, slots=True)
class Search:
    """Limits and callbacks of a search for a smaller input.

    Whenever the search ends, the smallest input found is written.
    """

    progress: Progress
    longest_s: float
    """Seconds after which the search ends; infinite: no limit."""
    stop: Callable[[], bool] = lambda: False
    """Called repeatedly; once it returns True, the search ends."""
    mark: ProcessMark | None = None
    """Marks the processes, so that they can be killed if this process dies."""


def minimised_path(run_dir: RunDir, file: Path) -> Path:
    """Return the output path for a file: ``minimised/INSTANCE/NAME`` in the run directory."""
    instance = instance_of(run_dir, file)
    return run_dir.path / "minimised" / (instance.name if instance else "") / file.name


def instance_of(run_dir: RunDir, file: Path) -> Path | None:
    """Return the instance directory that contains a file; None if none does."""
    file, out = file.absolute(), run_dir.out.absolute()
    return out / file.relative_to(out).parts[0] if file.is_relative_to(out) else None


async def rewrite(
    file: Path, output: Path, shorten: Callable[[bytes], Awaitable[tuple[bytes, str]]]
) -> str:
    """Write the input that ``shorten`` makes of ``file`` to ``output``. Returns a summary.

    ``shorten`` returns the smaller input and a note for the summary. Raises
    :class:`SupervisorError`.
    """
    try:
        data = read_regular(file, MAX_INPUT)
        _check(output)  # the search may take minutes
        shorter, note = await shorten(data)
        _write(output, shorter)
    except OSError as e:
        raise SupervisorError(f"{e.filename or file}: {e.strerror or e}") from None
    return f"{len(data)} -> {several(len(shorter), 'byte')}: {output}{note}"


def _check(output: Path) -> None:
    """Raise OSError if the folder of ``output``, or its first existing parent, is not writable."""
    folder = next(parent for parent in output.absolute().parents if parent.exists())
    try:
        check_writable(folder)
    except OSError as e:
        raise OSError(e.errno, e.strerror or str(e), str(folder)) from None


def _write(output: Path, data: bytes) -> None:
    """Write the result, completely or not at all, readable for the user only."""
    output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_bytes(output, data)
