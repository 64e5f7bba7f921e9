"""Asking the target itself: types that un-annotated parameters have in runs of it.

The runs are a child process of the target's own interpreter (``fuzztui.engines.observe``).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fuzztui
from fuzztui.engines.core.errors import CANNOT_START
from fuzztui.targets.application import Application
from fuzztui.targets.definitions import parameters
from fuzztui.targets.overlay import RETURN, functions_of, returned_type
from fuzztui.targets.request import Request
from fuzztui.wire.text import several

__all__ = ["observe", "unannotated"]

_INPUTS = 64
_PATIENCE_S = 60.0
"""For all runs together."""

Wanted = dict[str, dict[str, list[str]]]
"""Names of parameters, and ``return``, by function, by module."""


def unannotated(application: Application) -> Wanted:
    """What could be observed; {} where all parameters of the application have annotations."""
    wanted: Wanted = {}
    lacking = False
    entry, generator = application.entry, application.generator
    makes = generator.module in application.trees and returned_type(
        application.trees[generator.module], generator.module, generator.function
    )
    for module in [*application.sources, *{entry.module} - {*application.sources}]:
        tree = application.trees.get(module)
        for name, node, bound in functions_of(tree) if tree else ():
            of = [*parameters(node.args)][bound:]
            is_told = makes and (module, name) == (entry.module, entry.function)
            of = of[bool(is_told) :]
            names = [p.arg for p in of if p.annotation is None]
            stars = {a.arg for a in (node.args.vararg, node.args.kwarg) if a}
            lacking |= any(p not in stars for p in names)
            names += [RETURN] * (node.returns is None)
            if names:
                wanted.setdefault(module, {})[name] = names
    return wanted if lacking else {}


def observe(
    request: Request, wanted: Wanted, progress: Callable[[str], None]
) -> tuple[dict[str, dict[str, list[str]]], str]:
    """Types by parameter by function; and why there are none, or not all, in words."""
    progress("observing types: the target runs some inputs")
    with tempfile.TemporaryDirectory(prefix="fuzztui-") as folder:
        home = Path(folder)
        (home / "pkg").mkdir()
        (home / "pkg/fuzztui").symlink_to(Path(fuzztui.__file__).parent, target_is_directory=True)
        spec = {"instance": "observed", "dir": folder, **request.run}
        (home / "spec.json").write_text(json.dumps(spec))
        asked = {"functions": wanted, "inputs": _INPUTS, "parent": os.getpid()}
        (home / "request.json").write_text(json.dumps(asked))
        command = [request.python, "-P", "-m", "fuzztui.engines", str(home / "spec.json")]
        command += ["--observe", str(home / "request.json")]
        # Sets of strings iterate in the same order each time.
        environment = {"PYTHONHASHSEED": "0", **os.environ, "PYTHONPATH": str(home / "pkg")}
        with (home / "stderr").open("w+b") as stderr:
            try:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            except OSError as e:
                return {}, f"{request.python}: {e.strerror or e}"
            answer, late = _answer(child, progress)
            stderr.seek(0)
            words = stderr.read().decode("utf-8", "replace")
    if late:
        return {}, f"the runs took more than {_PATIENCE_S:g} s"
    if not answer:
        return {}, _why(words, child.returncode)
    return answer["observed"], _shortfall(answer["inputs"], answer["of"], answer["lost"])


def _shortfall(inputs: int, of: int, lost: int) -> str:
    """What of the inputs was not seen, in words."""
    words = [f"{lost} killed their process or took too long"] * bool(lost)
    if inputs < of:
        were = "was" if inputs == 1 else "were"
        words.append(f"only {inputs} of {several(of, 'input')} {were} run")
    return ", ".join(words)


def _answer(
    child: subprocess.Popen[bytes], progress: Callable[[str], None]
) -> tuple[dict[str, Any], bool]:
    """The last line that it prints, and whether it was too slow."""
    assert child.stdout is not None
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(child)

    timer = threading.Timer(_PATIENCE_S, end)
    timer.daemon = True  # whoever is told to end at this very moment does not wait for it
    answer: dict[str, Any] = {}
    try:
        timer.start()
        for line in _objects(child.stdout):
            if "progress" in line:
                progress(str(line["progress"]))
            elif "observed" in line:
                answer = line
    finally:
        timer.cancel()
        _kill(child)
        child.wait()
    return answer, late.is_set() and not answer


def _objects(lines: Any) -> Iterator[dict[str, Any]]:
    for line in lines:
        with contextlib.suppress(ValueError):
            data = json.loads(line)
            if isinstance(data, dict):
                yield data


def _kill(child: subprocess.Popen[bytes]) -> None:
    """With all that it started: it leads a session of its own."""
    if child.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)


def _why(stderr: str, status: int) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    if status == CANNOT_START:
        lines = [line for line in lines if line.startswith("fuzztui: ")]
    last = lines[-1].removeprefix("fuzztui: ") if lines else "it said nothing"
    return last if status == CANNOT_START else f"exit status {status}: {last}"
