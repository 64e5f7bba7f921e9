"""Send a request to an engine outside of a campaign: list mutants, measure a corpus, check a start.

The engine runs under the target's interpreter, as in a campaign, and prints JSON lines.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import Diagnostic
from fuzztui.engines.base.spec import LOAD_LIMIT_S
from fuzztui.engines.execute.overseer import Overseer
from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import read_tail, temporary_directory
from fuzztui.kernel.base.suggest import meant, near_last
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, Unfit
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.process.identity import MARK_INSTANCE, MARK_RUN, kill_marked

_MAX_STDERR = 64 * 1024


class NoAnswer(SupervisorError):
    """The engine could not answer; the text is the reason."""


def ask(
    campaign: Campaign,
    request: Sequence[str],
    directory: Path | None = None,
    *,
    limit_s: float = 0.0,
) -> Generator[dict[str, Any], None, None]:
    """Run the campaign's engine with ``request`` as arguments; yields the objects it prints.

    ``directory``: an instance's directory, whose state is then used; None: no state. ``limit_s``:
    seconds after which the engine is ended; 0: no limit. Raises :class:`NoAnswer` with the
    engine's reason. Closing the iterator ends the engine and all its processes.
    """
    with temporary_directory() as temporary:
        run_dir = RunDir(Path(temporary))
        run_dir.supervisor.mkdir()
        spec = run_dir.path / "spec.json"
        try:
            write_spec(spec, campaign, directory or run_dir.instance("main"))
            process = _start(campaign, run_dir, [str(spec), *request])
        except OSError as e:
            raise NoAnswer(f"{e.filename}: {e.strerror}") from None
        except SupervisorError as e:
            raise NoAnswer(str(e)) from None
        overseer = Overseer(process.pid, lambda: kill_marked(run_dir.path), limit_s)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if answer := load_object(line):
                    yield answer
            if process.wait() and overseer.why:
                raise NoAnswer(overseer.why)
            if process.returncode:
                raise NoAnswer(_reason(run_dir.stderr, process.returncode))
        finally:
            overseer.close()
            kill_marked(run_dir.path)
            process.wait()


@contextmanager
def asked(
    campaign: Campaign,
    option: str,
    request: Mapping[str, Any],
    directory: Path | None = None,
    *,
    limit_s: float = 0.0,
) -> Iterator[Generator[dict[str, Any], None, None]]:
    """Context manager: the answers of :func:`ask` to a request in a file, which ``option`` names.

    Raises :class:`NoAnswer`, OSError.
    """
    with temporary_directory() as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request))
        with closing(ask(campaign, [option, str(file)], directory, limit_s=limit_s)) as answers:
            yield answers


def _start(campaign: Campaign, run_dir: RunDir, arguments: list[str]) -> subprocess.Popen[bytes]:
    python: str = campaign.target["python"]
    env = {
        **os.environ,
        "PYTHONHASHSEED": "0",  # as in a campaign
        **campaign.target["env"],
        "PYTHONPATH": str(run_dir.expose_package(campaign.kind)),
        MARK_RUN: str(run_dir.path),
        MARK_INSTANCE: "main",
    }
    run_dir.stderr.write_bytes(b"")
    with run_dir.stderr.open("ab") as stderr:  # the engine opens it again: neither overwrites
        return subprocess.Popen(
            [python, "-P", "-m", "fuzztui.engines", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=run_dir.path,
            env=env,
            start_new_session=True,
        )


def _reason(stderr: Path, status: int) -> str:
    """The engine's last message for the user; if there is none, the last line of ``stderr``."""
    lines = read_tail(stderr, _MAX_STDERR).splitlines()
    messages = [line for line in lines if line.startswith("fuzztui: ")]
    if messages:
        return messages[-1].removeprefix("fuzztui: ")
    last = next((line for line in reversed(lines) if line.strip()), "nothing was printed")
    return f"the engine ended with exit status {status}: {last}"


_LEEWAY_S = 30.0
"""Seconds for everything except importing the target: start the interpreter, answer."""

_KEY = r"(?:target|engine|oracle|text)\.\w+"


@dataclass(slots=True)
class Ready:
    """The result of a passed check; ``made``: number of inputs made to try the generator."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    """Messages by alias, for aliases without effect."""
    made: int = 0

    @property
    def unguided(self) -> str:
        """Why coverage would guide nothing, as text; empty if it would guide."""
        return self.warning("target.include")

    def warning(self, key: str) -> str:
        """Return the first warning about a key, as text; empty if there is none."""
        return next((d.words for d in self.diagnostics if d.warns and d.key == key), "")


def ready(campaign: Campaign, progress: Callable[[str], None] = lambda text: None) -> Ready:
    """Import a Python target, as an engine does, and make some inputs if it has a generator.

    Takes about a second and the time of the import, at most :data:`LOAD_LIMIT_S`; ``progress`` is
    called with a message if the import is slow. Raises :class:`Unfit` if no engine can start, or
    the generator fails.
    """
    found = Ready()
    loaded = False
    try:
        request = ["--ready", f"{LOAD_LIMIT_S:g}"]
        with closing(ask(campaign, request, limit_s=LOAD_LIMIT_S + _LEEWAY_S)) as answers:
            for answer in answers:
                if isinstance(text := answer.get("refused"), str):
                    raise Unfit(text, _key_in(text))
                if isinstance(text := answer.get("progress"), str):
                    progress(text)
                loaded |= answer.get("ready") is True
                found.aliases |= texts(answer.get("aliases"))
                if isinstance(made := answer.get("made"), int):
                    found.made = made
                if isinstance(text := answer.get("words"), str):
                    key = str(answer.get("key"))
                    found.diagnostics.append(Diagnostic(text, key, answer.get("warns") is True))
    except NoAnswer as e:
        if loaded:  # only diagnostics were still to come
            return found
        raise _no_answer(campaign, str(e)) from None
    if not loaded:
        raise _no_answer(campaign, "it exited without an answer")
    return found


def unknown_aliases(aliases: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """Return messages by alias, for types that no branch depends on.

    ``known``: the types that branches depend on.
    """
    types = sorted(known)
    return {
        name: f"no branch depends on such a type{meant(near_last(name, types))}"
        for name in aliases
        if types and name not in types
    }


def _no_answer(campaign: Campaign, reason: str) -> Unfit:
    python = campaign.target["python"]
    answer = "does not answer as a Python 3.11 or newer would"
    return Unfit(f'target.python = "{python}" {answer}: {reason}', "target.python")


def _key_in(text: str) -> str:
    """The key that an error is about: at its beginning, before " = ", or anywhere in it."""
    found = re.match(_KEY, text) or re.search(rf"{_KEY}(?= = )", text) or re.search(_KEY, text)
    return found[0] if found else "target.function"


def texts(value: object) -> dict[str, str]:
    """Return the texts in ``value`` by name; skip all else, because the target may have made it."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}
