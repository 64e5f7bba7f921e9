"""The trial of ``bisect``: whether the finding fails, or the mutant survives, at one commit.

The directory of a bisect is a run, with the campaign of the user's run and its paths in the
worktree: ``fuzztui repro`` and ``fuzztui score`` are executed on it.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.cli.bisect_subject import Subject
from fuzztui.cli.output import DAMAGED, DONE, FINDINGS, CliError, duration
from fuzztui.cli.since import in_scopes
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.state import Mutant
from fuzztui.run.afl.build import build_environment, telling_lines
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.process.execute import ProcessMark, execute
from fuzztui.run.process.identity import kill_marked
from fuzztui.run.triage.examine import NOT_AGAIN
from fuzztui.tools.bisect.repository import Commit
from fuzztui.tools.bisect.search import Bisection
from fuzztui.tools.changes.lines import ChangesError

GOOD: Final = "good"
BAD: Final = "bad"
SKIP: Final = "skip"

_CHOSEN_FROM: Final = ("constants.json", "targets.json")
"""Files of a run with the constants that inputs select."""

_SAID: Final = re.compile(
    r"^(?:fuzztui: (?!this was)|(?=failure:|timeout|hang:|differs:))(.+)$", re.MULTILINE
)
"""A line of ``repro`` that says how an input has ended; the last one counts."""

_SURVIVES: Final = ("alive", "pending", "equivalent")
"""States of a mutant that ``score`` has not seen killed; pending: no input reaches it."""

_FULL: Final = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of one commit."""

    commit: str
    outcome: str
    """:data:`GOOD`, :data:`BAD` or :data:`SKIP`."""
    seconds: float
    text: str
    """How the finding fails, or why the commit cannot be tried; empty for :data:`GOOD`."""


class _Untestable(Exception):
    """The commit cannot be tried; the message says why."""


class Trials:
    """Tries commits, in the directory of a bisect."""

    def __init__(
        self, subject: Subject, root: Path, search: Bisection, tick: Callable[[str], None]
    ) -> None:
        """Make the run of the bisect. Raises :class:`UsageError`, OSError.

        ``root``: the user's checkout. ``tick`` is called often with what is being done.
        """
        self._subject, self._search, self._tick = subject, search, tick
        self._options, self._mutant = subject.options, subject.mutant
        self._directory = directory = search.tree.parent
        self._run_dir, run = RunDir(directory), subject.run_dir.path
        self._output: list[bytes] = []
        self._until = 0.0
        moved, self._move = subject.moved(root, search.tree)
        for part in ("supervisor", "out", "logs"):
            (directory / part).mkdir(mode=0o700, exist_ok=True)
        (directory / "log").unlink(missing_ok=True)
        (directory / "log").symlink_to(run / "log")
        for name in _CHOSEN_FROM:
            if (run / name).is_file():
                shutil.copyfile(run / name, directory / name)
        write_frozen(moved, directory)
        self._file = directory / "input" / subject.file.name
        if subject.file.is_relative_to(run):
            self._file = directory / subject.file.relative_to(run)
        if self._mutant is None:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(subject.file, self._file)
        kill_marked(directory)  # what a bisect that was killed has left

    def run(self, commit: Commit) -> Tried:
        """Try one commit. Raises :class:`CliError` if the disk is full, as all commits would."""
        self._output.clear()
        began = time.monotonic()
        self._until = began + self._options.limit
        try:
            self._search.checkout(commit)
            self._build()
            mutant = self._mutant
            outcome, text = self._judge_mutant(mutant) if mutant else self._judge_input()
        except (_Untestable, ChangesError, CampaignError, SupervisorError) as e:
            outcome, text = SKIP, str(e).replace(f"{self._search.tree}/", "")
        finally:
            kill_marked(self._directory)
        output = b"\n".join([*self._output, text.encode(errors="backslashreplace"), b""])
        if outcome == SKIP and any(words.encode() in output for words in _FULL):
            where = (
                f"{commit}: no space is left on the disk of {self._directory} (or for compilers)"
            )
            raise CliError(f"{where}; free some, and repeat the command")
        (self._directory / "logs" / f"{commit.hash}.log").write_bytes(output)
        return Tried(commit.hash, outcome, time.monotonic() - began, brief(text, 200))

    def _build(self) -> None:
        """Build the commit. Raises :class:`_Untestable` if that fails."""
        campaign, tree = self._subject.campaign, self._search.tree
        if self._options.build:
            env = build_environment(campaign) if self._subject.compiled else {}
            command = ["sh", "-eu", "-c", self._options.build]
            status, output = self._execute("building", command, tree, {**env, "SOURCE": str(tree)})
            if status:
                lines = telling_lines(line.strip() for line in output.splitlines())
                raise _Untestable(f"--build: exit status {status}: {'; '.join(lines)}")
        if self._subject.compiled:
            self.remove_builds()
            command = [sys.executable, "-P", "-m", "fuzztui.run.afl.build", str(self._directory)]
            status, output = self._execute("building", command, self._directory, {})
            if status:
                why = re.split("^fuzztui: ", output, flags=re.MULTILINE)[-1]
                raise _Untestable(" ".join(why.partition("the complete output")[0].split()))

    def remove_builds(self) -> None:
        """Remove what was built, which belongs to one commit."""
        for built in self._directory.glob("build*"):
            shutil.rmtree(built, ignore_errors=True)

    def _judge_input(self) -> tuple[str, str]:
        """The outcome, and how the input fails, or why nothing is known."""
        if not self._subject.compiled:
            at = self._file.parent.parent
            instance = at if at.parent == self._run_dir.out else self._run_dir.instance("main")
            instance.mkdir(mode=0o700, exist_ok=True)
            write_spec(instance / "spec.json", load(self._run_dir.campaign).campaign, instance)
            self._run_dir.expose_package(self._subject.campaign.kind)
        for _ in range(self._options.times):
            status, output = self._fuzztui("repro", str(self._directory), str(self._file))
            said = [f"repro: exit status {status}", *_SAID.findall(output)][-1]
            if said.startswith(NOT_AGAIN) and status == FINDINGS:  # no end within the limit
                return SKIP, said
            if status == FINDINGS and (self._options.only or "") in output:
                return BAD, said
            if status != DONE:
                return SKIP, f"another failure: {said}" if status == FINDINGS else said
        return GOOD, ""

    def _judge_mutant(self, mutant: Mutant) -> tuple[str, str]:
        """The outcome: good if an input of the corpus kills the mutant."""
        run = self._subject.run_dir.path  # it may be in the repository, and is in no commit
        corpus = map(str, self._subject.corpus)
        words = [f"--corpus={c if Path(c).is_relative_to(run) else self._move(c)}" for c in corpus]
        words += ["--json", f"--set={in_scopes([mutant])}", str(self._directory)]
        file = self._directory / "score.json"
        status, output = self._fuzztui("score", *words, stdout=file)
        if status not in (DONE, DAMAGED):  # the log says nothing about this score
            return SKIP, [f"score: exit status {status}", *_SAID.findall(output)][-1]
        score = json.loads(file.read_bytes())
        state = next((m["state"] for m in score["mutants"] if m["id"] == mutant.id), "not there")
        if state == "killed":
            return GOOD, ""
        survives = state in _SURVIVES and score["exact"]
        return (BAD, "no input kills it") if survives else (SKIP, f"the mutant is {state}")

    def _fuzztui(self, *words: str, stdout: Path | None = None) -> tuple[int, str]:
        argv = [sys.executable, "-P", "-m", "fuzztui", *words]
        if stdout is not None:
            argv = ["sh", "-c", 'exec "$@" >"$0"', str(stdout), *argv]
        return self._execute("running", argv, self._directory, {})

    def _execute(
        self, what: str, argv: list[str], where: Path, env: Mapping[str, str]
    ) -> tuple[int, str]:
        """Execute a command within the time limit; return its status and its output.

        Raises :class:`_Untestable` if the command does not end.
        """
        self._tick(what)
        ended = asyncio.run(
            execute(
                argv,
                ProcessMark(self._directory, "bisect"),
                cwd=where,
                limit=self._until - time.monotonic(),
                env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=True,
                meanwhile=lambda _: self._tick(what),
            )
        )
        self._output.append(ended.output)
        if ended.status is None:
            why = f"no end within {duration(self._options.limit)} (--limit)"
            raise _Untestable(f"stopped by {ended.stopped}" if ended.stopped else why)
        return ended.status, ended.output.decode(errors="replace")
