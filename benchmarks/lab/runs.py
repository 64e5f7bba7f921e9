"""Engine instances run as the supervisor runs them, without one; and what they leave."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cpu_clock import CpuClock
from lab.subjects import Subject

_REPOSITORY = Path(__file__).resolve().parent.parent.parent
_LIVE: set[subprocess.Popen[Any]] = set()


class RunFailed(Exception):
    """An engine failed or took too long; the message contains the end of its output, if any."""


def stop() -> None:
    """End all that runs now (for Ctrl-C: engines and campaigns have sessions of their own)."""
    for process in list(_LIVE):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)


@contextlib.contextmanager
def ended_by_stop(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Until its end, :func:`stop` and any exception in the body end the process and its group."""
    _LIVE.add(process)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        _LIVE.discard(process)


def call(
    argv: list[str],
    root: Path,
    said: Path,
    *,
    limit_s: float,
    env: Mapping[str, str] | None = None,
    package: Path | None = None,
    clock: CpuClock | None = None,
) -> str:
    """Run a program to its end, with its output in the file ``said``. Returns the output.

    ``package``: see :func:`environment`. ``clock``: watches the program's workers.
    Raises :class:`RunFailed` if the exit status is not 0, or after ``limit_s`` seconds.
    """
    with said.open("wb") as out:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**environment(root, package), **(env or {})},
            start_new_session=True,
        )
        _LIVE.add(process)
        try:
            with clock.watching(process.pid) if clock else contextlib.nullcontext():
                status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{' '.join(argv)}: did not end within {limit_s:g} s") from None
        finally:
            _LIVE.discard(process)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    text = said.read_text(errors="replace")
    if status:
        raise RunFailed(f"{' '.join(argv)}: exit status {status}\n{text[-2000:]}")
    return text


def environment(root: Path, package: Path | None = None) -> dict[str, str]:
    """The environment of an engine that runs below ``root``.

    ``package``: the directory with the ``fuzztui`` to run; None: that of this checkout. The cache
    of compiled sources is below ``root``: empty at first, as for a program that was never fuzzed.
    """
    if package is None:
        package = root / "pkg"
        package.mkdir(parents=True, exist_ok=True)
        link = package / "fuzztui"
        if not link.is_symlink():
            with contextlib.suppress(FileExistsError):
                link.symlink_to(_REPOSITORY / "fuzztui")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return kept | {
        "PYTHONPATH": str(package),
        "FUZZTUI_RUN": str(root),
        "PYTHONHASHSEED": "0",
        "XDG_CACHE_HOME": str(root / "cache"),
    }


@dataclass(frozen=True)
class Instance:
    """One engine on one subject, in a separate directory below ``root``."""

    subject: Subject
    kind: str
    root: Path
    seed: int = 0
    python: str = sys.executable
    package: Path | None = None
    """The directory with the ``fuzztui`` to run; None: that of this checkout."""

    @property
    def directory(self) -> Path:
        return self.root / f"{self.kind}-{self.subject.name}-{self.seed}"

    @property
    def queue(self) -> Path:
        return self.directory / "queue"

    def spec(self, engine: dict[str, Any] | None = None, **top: Any) -> Path:
        """Write ``spec.json`` and return its path. ``engine`` adds keys to the table ``engine`` of
        the subject, ``top`` to the whole file.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        data = {"proto": 1, "instance": "main", "dir": str(self.directory),
                "sync_dir": str(self.directory / "alone"), "seed": self.seed,
                "engine": self.subject.engine(self.kind, **(engine or {})),
                "target": self.subject.target(), **top}  # fmt: skip
        file = self.directory / "spec.json"
        file.write_text(json.dumps(data))
        return file

    def run(self, spec: Path, *, limit_s: float, clock: CpuClock | None = None) -> None:
        """Run the engine to its budget, watched by ``clock``. Raises :class:`RunFailed`."""
        argv = [self.python, "-P", "-m", "fuzztui.engines", str(spec)]
        said = self.directory / "worker.log"
        call(argv, self.root, said, limit_s=limit_s, package=self.package, clock=clock)

    def stats(self) -> dict[str, str]:
        """``fuzzer_stats``, by key."""
        text = (self.directory / "fuzzer_stats").read_text()
        pairs = (line.partition(":") for line in text.splitlines())
        return {key.strip(): value.strip() for key, _, value in pairs}

    def events(self, kind: str) -> Iterator[dict[str, Any]]:
        """The events of this kind (key ``k``) in ``events.jsonl``."""
        with (self.directory / "events.jsonl").open() as lines:
            for line in lines:
                event = json.loads(line)
                if event.get("k") == kind:
                    yield event


@dataclass(frozen=True)
class Score:
    """The exact mutation score of a corpus: ``total`` mutants, and those killed, with how."""

    total: int
    invalid: int
    inputs: int
    killed: dict[str, tuple[str, str]]
    """By mutant id: the oracle of the kill, and the file name of the input that killed it."""

    @property
    def score(self) -> float:
        """Killed mutants as a share of all valid ones."""
        return len(self.killed) / max(1, self.total - self.invalid)


def score(instance: Instance, *queues: Path, limit_s: float = 7200) -> Score:
    """Run every mutant of the subject on every input of ``queues``, until one kills it.

    Raises :class:`RunFailed`.
    """
    judge = Instance(instance.subject, "mu2", instance.directory / "score", instance.seed)
    spec = judge.spec()
    argv = [instance.python, "-P", "-m", "fuzztui.engines", str(spec), "--score", *map(str, queues)]
    text = call(argv, instance.root, instance.directory / "score.jsonl", limit_s=limit_s)
    lines = [line for line in text.splitlines() if line.startswith('{"result"')]
    if not lines:
        raise RunFailed(f"{' '.join(argv)}: no result\n{text[-2000:]}")
    found = json.loads(lines[-1])["result"]
    killed = {
        m["id"]: (m["oracle"], Path(m["killer"]).name)
        for m in found["mutants"]
        if m["state"] == "killed"
    }
    return Score(found["total"], found["invalid"], found["inputs"], killed)


def check(
    subjects: Sequence[Subject],
    python: str = sys.executable,
    trials: int = 200,
    package: Path | None = None,
) -> None:
    """Run each subject for a few trials of zest, before any figure is measured.

    ``package``: see :class:`Instance`. Raises SystemExit, with all subjects that do not run or for
    which no trial was valid.
    """
    problems = []
    with tempfile.TemporaryDirectory(prefix="subjects-") as folder:
        for n, subject in enumerate(subjects, 1):
            print(f"[{n}/{len(subjects)}] checking {subject.name}", end="\r", file=sys.stderr)
            instance = Instance(subject, "zest", Path(folder), 1, python, package)
            try:
                instance.run(instance.spec(budget_trials=trials), limit_s=120)
            except RunFailed as e:
                problems.append(f"{subject.name}: {e}")
                continue
            if not int(instance.stats().get("valid_inputs", 0)):
                problems.append(f"{subject.name}: none of {trials} trials was valid")
    if problems:
        raise SystemExit("\n".join([*problems, f"{python} -m pip install -e '.[bench]'"]))


def queue_of(subject: Subject, trials: int) -> list[bytes]:
    """The queue of a zest run of this many trials, the oldest entry first."""
    with tempfile.TemporaryDirectory(prefix="mu2-bench-") as folder:
        instance = Instance(subject, "zest", Path(folder), 1)
        instance.run(instance.spec(budget_trials=trials), limit_s=1200)
        return [file.read_bytes() for file in sorted(instance.queue.glob("id:*"))]
