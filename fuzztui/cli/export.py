"""``fuzztui export RUN --pytest FILE``: write a pytest file, and check that it holds."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui import __version__
from fuzztui.cli.matrix import matrix_of
from fuzztui.cli.mutants import AFL, own_campaign, python_campaign
from fuzztui.cli.output import DONE, FAILED, CliError, UsageError, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import standing
from fuzztui.cli.score import ask_score, corpus_of
from fuzztui.cli.target_runs import find_one_target
from fuzztui.engines.findings.candidates import compare_advice
from fuzztui.features.minimise.rewrite import minimised_path
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.text import brief, listed, several, visible
from fuzztui.kernel.model.finding_tallies import groups
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.verdicts import WONT_FIX
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.ask import asked
from fuzztui.run.inprocess.constants import constants_of
from fuzztui.tools.export.cases import TestCase, cases_of, chosen_rows, shown_entry, word_of
from fuzztui.tools.export.pytest_file import MARK, TargetNames, TestFile, TestWriter, data_dir
from fuzztui.tools.export.pytest_run import CannotRun, PytestRunner
from fuzztui.tools.export.recorded import Recorded, RecordError

_HASH_SEEDS = ("0", "1", "2")
"""Values of PYTHONHASHSEED with which a test must pass: the order of sets depends on it."""
_ROUNDS = 4
_NAMED = 5
"""Tests that a message names."""


def export(options: argparse.Namespace) -> int:
    """Write tests from the corpus and the findings of a run; returns FAILED if they do not hold."""
    run = find_one_target(options.run)
    now = standing(run)
    if (now.state.engine or own_campaign(run / "campaign.toml").kind) == AFL:
        raise UsageError(
            f"{run}: export --pytest is for Python targets, not for afl; 'fuzztui corpus export "
            f"{run} DIR' writes its inputs as files"
        )
    file = options.pytest.absolute()
    _check_file(file, force=options.force)
    campaign = python_campaign(run / "campaign.toml", options.overrides)
    corpus = corpus_of(run, options.corpus)
    exporter = _Exporter(campaign, RunDir(run), file, options)
    cases = exporter.cases(corpus)
    if options.findings:
        cases += exporter.findings(now.state)
    if not cases:
        raise CliError(f"{run}: no input of the corpus, and no finding, can be exported")
    return exporter.finish(cases)


def _check_file(file: Path, *, force: bool) -> None:
    if not file.stem.isidentifier() or file.suffix != ".py":
        raise UsageError(f"--pytest {file.name}: is no name of a Python module, test_NAME.py")
    try:
        mine = file.read_text(encoding="utf-8", errors="replace").startswith(MARK)
    except FileNotFoundError:
        return
    except OSError as e:
        raise UsageError(f"--pytest {file}: {e.strerror or e}") from None
    if not mine and not force:
        raise UsageError(
            f"--pytest {file}: was not made by fuzztui; name another file, or give --force to "
            "replace this one"
        )


_UNCHECKED: Final = ("NOT CHECKED: 'fuzztui export' has not ended. Export again.", "")
"""At the top of a file whose tests were not all run, or not on another date."""


class _Exporter:
    def __init__(
        self, campaign: Campaign, run: RunDir, file: Path, options: argparse.Namespace
    ) -> None:
        self._campaign, self._run, self._file, self._options = campaign, run, file, options
        self._directory = run.instance("main")
        self._decorated = self._shows = False
        self._inputs = 0
        self._checked = False

    # ----------------------------------------------------------------- what becomes a test

    def cases(self, corpus: list[Path]) -> list[TestCase]:
        """Choose the inputs of the corpus that become tests, with their outcomes."""
        if not self._campaign.target["generator"]:
            self._record([], [])  # raises for a Hypothesis test, before minutes of scoring
        kept = [file for file in (self._run.kills, self._run.matrix) if file.exists()]
        result = ask_score(
            self._campaign,
            self._directory,
            corpus,
            jobs=self._options.jobs,
            within_s=self._options.budget,
            matrix=max(kept, key=lambda file: file.stat().st_mtime, default=self._run.kills),
            kills="cover",
            keep=self._run.kills,
        )
        matrix = matrix_of(result)
        self._inputs = len(matrix.rows)
        rows = chosen_rows(matrix)
        if self._options.tests:
            rows = rows[: self._options.tests]
        cases = cases_of(matrix, rows)
        self._record(cases, [Path(row.file) for row, _, _ in rows])
        for case in cases:
            case.message = self._options.messages
        return cases

    def findings(self, state: State) -> list[TestCase]:
        """One case for each group of findings, except for groups that the user will not fix."""
        cases, files = [], []
        for group in groups(state):
            if verdict_of(state, group.signature) == WONT_FIX:
                continue
            if group.first.category == "differs":
                say(f"{group.first.key}: a difference between two implementations is not exported")
                continue
            file = self._run.input(group.first.instance, group.first.file)
            smaller = minimised_path(self._run, file)
            file = smaller if smaller.is_file() else file
            word = word_of(group.first.title.partition(":")[0])
            cause = f"{group.first.title} ({group.first.place})"
            cases.append(TestCase(shown_entry(str(file)), word, cause=brief(cause)))
            files.append(file)
        if cases:
            self._record(cases, files)
        return cases

    def _record(self, cases: Sequence[TestCase], files: Sequence[Path]) -> None:
        """Run the inputs, and note what they do in the cases. Raises :class:`CliError`."""
        answers = self._ask("--record", {"inputs": [str(f.absolute()) for f in files]})
        for answer in answers:
            if answer.get("test") is True:
                raise CliError(
                    f'target.function = "{self._campaign.target["function"]}" is a Hypothesis test:'
                    " it is a test already; 'fuzztui repro' prints the input of a queue entry, "
                    "to be put into @example(...)"
                )
            self._decorated |= answer.get("compares") is True
            self._shows |= answer.get("shows") is True
            if "recorded" in answer:
                try:
                    number, found = answer["recorded"]
                    cases[number].recorded = Recorded.of(found)
                except (RecordError, ValueError, TypeError, IndexError) as e:
                    raise CliError(f"the engine's record is damaged: {e}") from None

    def _ask(self, option: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        with (
            asked(self._campaign, option, request, self._directory) as answers,
            Estimate() as progress,
        ):
            for answer in answers:
                if isinstance(report := answer.get("progress"), dict):
                    what, done, total = (report.get(k) for k in ("what", "done", "total"))
                    progress.show(str(what), int(done or 0), int(total or 0))
                else:
                    found.append(answer)
        return found

    # ----------------------------------------------------------------- the file

    def _names(self) -> TargetNames:
        target = self._campaign.target
        references = [target["function"], target["generator"], target["compare"]]
        modules = [r.rpartition(":")[0] for r in references if r]
        harness = [m for m in modules if m.endswith(".py") or "/" in m]
        paths = [str(Path(m).parent) for m in harness]
        names = [Path(m).stem if m in harness else m for m in modules]
        if not self._imports(names, paths):
            paths = [*target["path"], *paths]
        compare = "" if self._shows else target["compare"] or ("@" if self._decorated else "")
        return TargetNames(
            function=target["function"],
            paths=tuple(dict.fromkeys(paths)),
            generator=target["generator"],
            compare=compare,
            shows=target["compare"] if self._shows else "",
            expected=tuple(target["expected"]),
            clock=target["clock"],
            constants=constants_of(self._run),
        )

    def _imports(self, names: Sequence[str], paths: Sequence[str]) -> bool:
        """Whether the modules can be imported with no directories on PYTHONPATH but ``paths``."""
        program = "import importlib, sys; [importlib.import_module(n) for n in sys.argv[1:]]"
        env = {**os.environ, **self._campaign.target["env"], "PYTHONPATH": ":".join(paths)}
        argv = [self._campaign.target["python"], "-P", "-c", program, *names]
        try:
            done = subprocess.run(
                argv,
                env=env,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def _about(self, cases: Sequence[TestCase]) -> list[str]:
        tests = [case for case in cases if not case.cause]
        kills = sum(len(case.confirmed) for case in tests)
        killing = f", seen to fail with {several(kills, 'mutant')}" if kills else ""
        lines = [
            f"What the target of the campaign {visible(self._campaign.name)} did, by "
            f"fuzztui {__version__}.",
            *([] if self._checked else _UNCHECKED),
            f"{several(len(tests), 'test')}, chosen from {several(self._inputs, 'input')}{killing}."
            f" A docstring says what no test",
            "above it kills or covers. The outcomes are recorded, not specified: a test that fails",
            "shows a change of behaviour, which may be a bug, or its end.",
        ]
        if unseen := sum(bool(case.unseen) for case in tests):
            lines += ["", f"In {several(unseen, 'test')} not all of the value is compared: see the "
                      "comments \"not compared\"."]  # fmt: skip
        if clock := self._campaign.target["clock"]:
            lines += ["", f"Each test begins at {clock}, with the same random numbers: it needs "
                      "fuzztui."]  # fmt: skip
        hangs = sum(case.hangs for case in tests)
        if hangs:
            lines += ["", f"{several(hangs, 'test')} with a time limit: some mutants do not end."]
        return lines

    def _write(self, cases: Sequence[TestCase]) -> TestFile:
        made = TestWriter(self._file, self._names()).write(cases, self._about(cases))
        folder = data_dir(self._file)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(made.text, encoding="utf-8")
            for old in [
                f for end in ("input", "expected", "choices") for f in folder.glob(f"*.{end}")
            ]:
                if old.name not in made.data:
                    old.unlink()
            if made.data:
                folder.mkdir(exist_ok=True)
            for name, data in made.data.items():
                replace_bytes(folder / name, data)
                (folder / name).chmod(0o644)
        except OSError as e:
            raise CliError(f"{e.filename or self._file}: {e.strerror or e}") from None
        return made

    # ----------------------------------------------------------------- the checks

    def finish(self, cases: list[TestCase]) -> int:
        """Write the file, weaken or drop tests that do not pass, and confirm the kills."""
        weakened: list[str] = []
        for _ in range(_ROUNDS):
            made = self._write(cases)
            say(f"{self._file}: {several(len(made.tests), 'test')}; running them")
            failed = self._failing(made)
            if failed is None:
                return FAILED
            if not failed:
                break
            for name in sorted(failed):
                weakened += _weaken(cases, made.tests[name])
        else:
            made = self._write(cases)
        for line in [*made.left_out, *weakened]:
            say(line)
        made = self._without_dated(cases, made)
        status = self._confirm(made)
        self._checked = True
        self._write(cases)  # with the kills that were confirmed, and no other
        self._tell_unseen(made)
        print(visible(f"{self._file}  {self._size(made)}"))
        return status

    def _tell_unseen(self, made: TestFile) -> None:
        """Print of how many tests the value cannot be compared as a whole, and why."""
        unseen = Counter(case.unseen[0] for case in made.tests.values() if case.unseen)
        if unseen:
            parts = [part for part, _ in unseen.most_common()]
            instead = [case.recorded.instead for case in made.tests.values() if case.unseen]
            say(
                f"{unseen.total():,} of {several(len(made.tests), 'test')} do not compare the "
                f"whole value ({listed(parts)}); {compare_advice(instead)}"
            )

    def _size(self, made: TestFile) -> str:
        findings = sum(bool(case.cause) for case in made.tests.values())
        text = several(len(made.tests) - findings, "test")
        if findings:
            text += f", {several(findings, 'finding')} marked xfail"
        lines = made.text.count("\n")
        return f"{text}, {several(lines, 'line')}" + (
            f", {several(len(made.data), 'data file')}" if made.data else ""
        )

    def _runner(self) -> PytestRunner:
        target = self._campaign.target
        return PytestRunner(target["python"], self._file, target["env"])

    def _failing(self, made: TestFile) -> set[str] | None:
        """Names of the tests that do not pass; None if pytest cannot run them."""
        runner = self._runner()
        try:
            failed = set().union(*(runner.failing(seed) for seed in _HASH_SEEDS))
            if unknown := failed - made.tests.keys():
                raise CannotRun(f"{brief(min(unknown))} is not one of them")
        except CannotRun as e:
            say(
                f"not confirmed: {runner.python} -m pytest {self._file.name} "
                f"cannot run the tests: {e}"
            )
            return None
        return failed

    def _without_dated(self, cases: list[TestCase], made: TestFile) -> TestFile:
        """Drop the tests that fail on another date. Returns the file, written again if needed."""
        try:
            dated = self._runner().failing(_HASH_SEEDS[0], other_date=True) & made.tests.keys()
        except CannotRun as e:
            say(f"not checked on another date: pytest cannot run the tests with another clock: {e}")
            return made
        if not dated:
            return made
        for name in dated:
            cases.remove(made.tests[name])
        entries = [made.tests[name].entry for name in sorted(dated)]
        more = f" and {len(entries) - _NAMED:,} more" if len(entries) > _NAMED else ""
        say(
            f"{several(len(dated), 'test')} left out, because the outcome depends on today's date: "
            f"{', '.join(entries[:_NAMED])}{more}"
        )
        return self._write(cases)

    def _confirm(self, made: TestFile) -> int:
        """Run each mutant that a test claims to kill against this test. Returns the exit code."""
        claims = {id_: name for name, case in made.tests.items() for id_ in case.kills}
        if not claims:
            return DONE
        jobs = self._options.jobs
        request = {"file": str(self._file), "claims": claims, "jobs": jobs}
        hows: dict[str, str] = {}
        for answer in self._ask("--confirm", request):
            if isinstance(why := answer.get("lacks"), str):
                say(f"not confirmed: {why}")
                return FAILED
            if isinstance(verdict := answer.get("verdict"), list):
                hows[str(verdict[0])] = str(verdict[1])
        confirmed = [id_ for id_ in claims if hows.get(id_)]
        for case in made.tests.values():
            case.confirmed = tuple(id_ for id_ in case.kills if hows.get(id_))
        print(f"{len(confirmed):,} of {len(claims):,} confirmed: the mutants fail the tests")
        missed = [id_ for id_ in claims if not hows.get(id_)]
        for id_ in missed[:20]:
            say(f"not confirmed: {claims[id_]} passes with the mutant {id_}")
        if len(missed) > 20:
            say(f"and {len(missed) - 20:,} more")
        return FAILED if missed else DONE


def _weaken(cases: list[TestCase], case: TestCase) -> list[str]:
    """Assert less in a test that does not pass every time, or drop it. Returns what was done."""
    error = case.recorded.error
    if not case.cause and error is not None and error.message and case.message:
        case.message = False
        return [f"{case.entry}: the text of its exception varies, and is not asserted"]
    if not case.cause and case.recorded.value is not None and case.value:
        case.value = False
        return [f"{case.entry}: its value varies, and is not asserted"]
    cases.remove(case)
    return [f"{case.entry}: left out, because its outcome varies"]
