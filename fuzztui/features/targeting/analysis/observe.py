"""Observe the types of parameters without annotation in runs of the target.

The runs are in a child process of the target's interpreter (``fuzztui.engines.observe``).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzztui
from fuzztui.engines.base.errors import CANNOT_START
from fuzztui.engines.execute.overseer import Overseer
from fuzztui.features.targeting.analysis.application import AnalysedApplication
from fuzztui.features.targeting.analysis.definitions import parameters
from fuzztui.features.targeting.analysis.document import Request
from fuzztui.features.targeting.analysis.overlay import RETURN, functions_of, returned_type
from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import several

_INPUTS = 64
_PATIENCE_S = 60.0
"""Time limit of all runs together, in seconds."""

Wanted = dict[str, dict[str, list[str]]]
"""Names of parameters, and ``return``, by module and function."""


def unannotated(application: AnalysedApplication) -> Wanted:
    """Return the parameters and results to observe; {} if all parameters have annotations."""
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
            is_named = makes and (module, name) == (entry.module, entry.function)
            of = of[bool(is_named) :]
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
    """Return types by function and parameter, and why they are missing or incomplete, or ""."""
    progress("observing types: the target runs some inputs")
    with temporary_directory() as folder:
        home = Path(folder)
        (home / "pkg").mkdir()
        (home / "pkg/fuzztui").symlink_to(Path(fuzztui.__file__).parent, target_is_directory=True)
        spec = {"instance": "observed", "dir": folder, **request.run}
        (home / "spec.json").write_text(json.dumps(spec))
        asked = {"functions": wanted, "inputs": _INPUTS}
        (home / "request.json").write_text(json.dumps(asked))
        command = [request.python, "-P", "-m", "fuzztui.engines", str(home / "spec.json")]
        command += ["--observe", str(home / "request.json"), "--parent", str(os.getpid())]
        # A fixed hash seed: sets of strings iterate in the same order each time.
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
            answer, why = _answer(child, progress)
            stderr.seek(0)
            words = stderr.read().decode("utf-8", "replace")
    if why:
        return {}, f"the runs were ended: {why}"
    if not answer:
        return {}, _why(words, child.returncode)
    return answer["observed"], _shortfall(answer["inputs"], answer["of"], answer["lost"])


def _shortfall(inputs: int, of: int, lost: int) -> str:
    """Return a message about inputs that were not observed; "" if all were."""
    words = [f"{several(lost, 'input')} killed the process or took too long"] * bool(lost)
    if inputs < of:
        were = "was" if inputs == 1 else "were"
        words.append(f"only {inputs} of {several(of, 'input')} {were} run")
    return ", ".join(words)


def _answer(
    child: subprocess.Popen[bytes], progress: Callable[[str], None]
) -> tuple[dict[str, Any], str]:
    """Return the last reply, and why the process was ended before it; empty if there is none."""
    assert child.stdout is not None
    overseer = Overseer(child.pid, lambda: _kill(child), _PATIENCE_S)
    answer: dict[str, Any] = {}
    try:
        for line in child.stdout:
            said = load_object(line) or {}  # the target may print, too
            if "progress" in said:
                progress(str(said["progress"]))
            elif "observed" in said:
                answer = said
    finally:
        overseer.close()
        _kill(child)
        child.wait()
    return answer, "" if answer else overseer.why


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and its descendants: it leads a separate session."""
    if child.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)


def _why(stderr: str, status: int) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    if status == CANNOT_START:
        lines = [line for line in lines if line.startswith("fuzztui: ")]
    last = lines[-1].removeprefix("fuzztui: ") if lines else "without any output"
    return last if status == CANNOT_START else f"exit status {status}: {last}"
