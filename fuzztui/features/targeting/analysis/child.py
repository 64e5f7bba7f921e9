"""Run the analysis in a child process, because mypy needs hundreds of MB and holds the GIL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fuzztui.features.targeting.analysis.document import (
    DocumentError,
    Request,
    TargetingAnalysis,
    TargetsError,
)
from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import temporary_file, temporary_place
from fuzztui.kernel.base.user_dirs import cache_dir
from fuzztui.run.campaign.extras import missing_extra

_MAX_STDERR = 4096
_PATIENCE_S = 3.0


def find_targets(
    request: Request,
    progress: Callable[[str], None] = lambda words: None,
    *,
    cache: Path | None = None,
) -> TargetingAnalysis:
    """Find the goals of an application, with their influencing types.

    ``progress``: called with messages. ``cache``: the directory that keeps results while no source
    changes; None: ``~/.cache/fuzztui``. Raises :class:`TargetsError`.
    """
    if missing := missing_extra("spoton"):
        raise TargetsError(f"the analysis needs mypy, which finds the types; {missing}")
    directory = _usable(cache) if cache is not None else _cache()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MYPY")}
    with temporary_file() as stderr:
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "fuzztui.features.targeting.analysis", str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
                env=environment,
            )
        except OSError as e:
            raise TargetsError(f"{sys.executable}: {e.strerror or e}") from None
        try:
            answer = _converse(child, request, progress)
        finally:
            _end(child)
        if not answer:
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _MAX_STDERR))
            raise TargetsError(_last_words(stderr.read(), child.returncode))
    if "error" in answer:
        raise TargetsError(answer["error"])
    try:
        return TargetingAnalysis.loads(answer["document"])
    except DocumentError as e:
        raise TargetsError(f"{directory}: {e}; remove it") from None


def _converse(
    child: subprocess.Popen[str], request: Request, progress: Callable[[str], None]
) -> dict[str, str]:
    """Return the child's reply; {} if it ended without one."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(request.dumps())
        child.stdin.close()
    except BrokenPipeError:
        return {}
    for line in child.stdout:
        answer = load_object(line)  # None: printed by mypy
        if answer is not None and "progress" in answer:
            progress(str(answer["progress"]))
        elif answer is not None:
            child.wait()
            return answer
    child.wait()
    return {}


def _end(child: subprocess.Popen[str]) -> None:
    """Terminate the child, which has directories to remove, and runs of the target to end."""
    child.terminate()
    try:
        child.wait(_PATIENCE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def _last_words(stderr: bytes, status: int) -> str:
    if status < 0:
        return (
            f"the analysis was killed by signal {-status}; if memory was too small for mypy, name"
            " fewer packages in target.include"
        )
    last = stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f"the analysis ended with exit status {status}: {last or 'without any output'}"


def _cache() -> Path:
    """Return fuzztui's directory below the user's cache directory, or a temporary one."""
    try:
        return _usable(cache_dir())
    except (OSError, TargetsError):
        return _usable(temporary_place() / f"fuzztui-{os.geteuid()}")


def _usable(directory: Path) -> Path:
    """Make a directory private to the user, and return it. Raises :class:`TargetsError`."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        raise TargetsError(f"{directory}: {e.strerror or e}") from None
    if not os.access(directory, os.W_OK) or directory.stat().st_uid != os.geteuid():
        raise TargetsError(f"{directory}: not writable or not owned by you; set XDG_CACHE_HOME")
    return directory
