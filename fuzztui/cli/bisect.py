"""``bisect``: name the commit since which a finding fails, or a mutant survives."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict

from fuzztui.cli.bisect_subject import Subject
from fuzztui.cli.bisect_trial import BAD, GOOD, SKIP, Trials, Tried
from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DONE, FAILED, UsageError, duration, say, short_path
from fuzztui.cli.progress import TextLine
from fuzztui.cli.runs import find_run
from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.tools.bisect.repository import Commit, Repository
from fuzztui.tools.bisect.search import Bisection

_LINE_EVERY_S = 60.0
_MAX_BYTES = 64 << 20


def bisect(options: argparse.Namespace) -> int:
    """Search the first bad commit. Returns DONE if it is found, FAILED if several are left."""
    run_dir = RunDir(find_run(options.run))
    subject = Subject(options, run_dir)
    repository, good, bad = subject.repository()
    name = hashlib.sha256(subject.key + bytes(repository.root)).hexdigest()[:10]
    directory = run_dir.path.resolve() / "bisect" / name
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Bisection(repository, directory) as search:
        work = _Work(subject, repository, search)
        try:
            result = work.search(good, bad)
        except KeyboardInterrupt:
            work.line.clear()
            done = several(len(work.known), "commit")
            say(f"interrupted: the same command continues after {done}")
            raise
        finally:
            work.trials.remove_builds()
    if options.json:
        print_json("bisect", work.as_json(result))
    else:
        print("\n".join(work.as_text(result)), flush=True)
    say(f"{short_path(directory)}: bisect.log, and in logs/ what each commit printed")
    return DONE if len(result) == 1 else FAILED


class _Work:
    """One bisect. Its outcomes are in a file, so that another process can continue it."""

    def __init__(self, subject: Subject, repository: Repository, search: Bisection) -> None:
        self._subject, self._repository, self._search = subject, repository, search
        self.trials = Trials(subject, repository.root, search, self._tick)
        self._file = search.tree.parent / "tried.jsonl"
        self.known: dict[str, Tried] = {}
        for line in (read_if_regular(self._file, _MAX_BYTES) or b"").splitlines():
            with suppress(TypeError):  # a line that was not written to its end
                tried = Tried(**(load_object(line) or {}))
                self.known[tried.commit] = tried
        self._steps: list[tuple[Commit, Tried]] = []
        self.line = TextLine(_LINE_EVERY_S)
        self._doing = self._shown = ""
        self._began = 0.0

    def search(self, good: Commit, bad: Commit) -> list[Commit]:
        """Return the first bad commit, or all that may be it. Raises :class:`UsageError`."""
        number = int(self._repository.git("rev-list", "--count", f"{good.hash}..{bad.hash}"))
        say(
            f"bisecting {several(number, 'commit')} of {self._repository.root} in a worktree; your "
            "checkout stays as it is"
        )
        self._check(bad, BAD, number.bit_length())
        self._check(good, GOOD, number.bit_length() - 1)
        commit = self._search.start(good, bad)
        while commit is not None:
            outcome = self._try(commit, self._search.steps_left()).outcome
            commit = self._search.mark(outcome, commit)
        self._file.unlink(missing_ok=True)  # next time, what could not be tried may be possible
        return self._search.result()

    def _check(self, commit: Commit, expected: str, left: int) -> None:
        """Try an end of the range. Raises :class:`UsageError` if it is not as expected."""
        tried = self._try(commit, left)
        if tried.outcome == expected:
            return
        self._file.unlink(missing_ok=True)
        end = f"{self._subject.options.range}: {commit}, its {expected} end,"
        if tried.outcome == SKIP:
            raise UsageError(f"{end} cannot be tried: {tried.text}; name another, or see --build")
        bad, good, more = "the finding fails", "the finding does not fail", "; flaky: --times 20"
        if self._subject.mutant:
            bad, good, more = "the mutant survives", "an input kills the mutant", ""
        if expected == GOOD:
            raise UsageError(f"{end} is bad: {bad} ({tried.text}); name an older commit")
        raise UsageError(f"{end} is good: {good} there; name a commit at which {bad}{more}")

    def _try(self, commit: Commit, left: int) -> Tried:
        """Return the outcome of a commit. ``left``: about how many commits follow."""
        done = len(self._steps)
        step = f"step {done + 1} of about {done + 1 + left}"
        took, tried = "known", self.known.get(commit.hash)
        if tried is None:
            mean = sum(each.seconds for _, each in self._steps) / max(done, 1)
            eta = f", about {duration(mean * (left + 1))} left" if done else ""
            self._doing = f"{step}{eta}: {brief(str(commit), 40)}"
            self._began = time.monotonic()
            tried = self.trials.run(commit)
            self.line.clear()
            self.known[commit.hash] = tried
            with self._file.open("a") as file:
                file.write(f"{json.dumps(asdict(tried))}\n")
            took = f"{tried.seconds:.1f} s"
        self._steps.append((commit, tried))
        say(f"{step}: {tried.outcome:4} {took:>6}  {brief(str(commit), 60)}")
        if tried.text:
            say(f"    {brief(tried.text, 150)}")
        return tried

    def _tick(self, what: str) -> None:
        now = f"{self._doing}, {what} for {duration(time.monotonic() - self._began)}"
        if now != self._shown:
            self._shown = now
            self.line.show(now)

    def as_text(self, result: list[Commit]) -> Iterator[str]:
        """Yield the result as lines."""
        texts = {commit.hash: tried.text for commit, tried in self._steps}
        if len(result) > 1:
            yield f"the first bad commit is one of {len(result)}; some could not be tried:"
            for commit in result:
                yield f"  {commit}  {brief(texts.get(commit.hash, ''), 100)}".rstrip()
            return
        (first,) = result
        yield f"{first.hash} is the first bad commit"
        yield visible(f"Author: {first.author}")
        yield f"Date:   {first.date}\n\n    {visible(first.subject)}\n"
        yield f"{self._repository.stat(first)}\n"
        yield texts[first.hash]
        newest, tried = self._steps[0]
        if tried.text != texts[first.hash]:
            yield f"{tried.text} ({newest})"

    def as_json(self, result: list[Commit]) -> dict[str, object]:
        """Return the result as a JSON object."""
        commits = [{**asdict(each), "stat": self._repository.stat(each)} for each in result]
        return {
            "first_bad": commits[0] if len(commits) == 1 else None,
            "candidates": commits,
            "steps": [{**asdict(tried), "subject": of.subject} for of, tried in self._steps],
        }
