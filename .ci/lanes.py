#!/usr/bin/env python3
"""Which slow tests a branch needs, and how they are divided among machines.

    .ci/lanes.py                  # the test files that this branch needs, one per line
    .ci/lanes.py --lane slow-afl  # only those of one lane
    .ci/lanes.py --everything     # those of all branches
    .ci/lanes.py --share          # of many files a share that takes some minutes, by commit
    .ci/lanes.py --explain        # why, instead of the list

A branch needs the tests of the folders that it touches, and ``CORE``; main needs those of what
changed within the last day, because each night everything runs (``.ci/run --all``). A path that no
table names touches everything. So does a branch without a known base: a shallow clone, no git.
All slow tests take half an hour on two cores. Where one machine runs them for each change, a
branch that needs many gets a share of them, another one for each commit, and always ``CORE``.
``.ci/run``, ``make slow`` and the workflows all ask here.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TEST_GROUPS = ("features", "kernel", "machines", "run", "tools")
"""Folders of tests with a folder for each room."""

# ---------------------------------------------------------------- tests of one feature
AFL = (
    "tests/run/afl",
    "tests/run/triage",
    "tests/e2e/test_afl_*.py",
    "tests/e2e/test_first_afl.py",
)
FUZZFIRST = (
    "tests/features/fuzzfirst",
    "tests/property/test_first_*.py",
    "tests/e2e/test_first_*.py",
    "tests/e2e/test_coverage_of_c.py",
    "tests/e2e/test_source_gcov.py",
)
ORACLE = ("tests/features/oracle", "tests/e2e/test_*_oracle.py")
MINIMISE = ("tests/features/minimise", "tests/e2e/test_engine_minimise.py")
MU2 = (
    "tests/engines/mu2",
    "tests/engines/mutants",
    "tests/property/test_mutant_*.py",
    "tests/e2e/test_mu2_*.py",
    "tests/e2e/test_mutants*.py",
    "tests/e2e/test_supervise_mutants.py",
    "tests/e2e/test_score_matrix.py",
    "tests/e2e/test_engine_sparse.py",
)
TEXT = (
    "tests/engines/text",
    "tests/features/mutators",
    "tests/property/test_text_*.py",
    "tests/e2e/test_*_text.py",
    "tests/e2e/test_text_*.py",
    "tests/e2e/test_mixture_run.py",
)
TARGETING = (
    "tests/features/targeting",
    "tests/engines/spoton",
    "tests/engines/observe",
    "tests/engines/fixtures",
    "tests/property/test_aws_*.py",
    "tests/property/test_strategies_*.py",
    "tests/property/test_targets_*.py",
    "tests/e2e/test_spoton_*.py",
    "tests/e2e/test_types_*.py",
    "tests/e2e/test_strategies_*.py",
    "tests/e2e/test_lambda_*.py",
)
SUITES = ("tests/engines/suite", "tests/features/properties", "tests/e2e/test_suite_*.py")
PYTHON = (
    "tests/engines",
    "tests/run/inprocess",
    "tests/e2e/test_engine_*.py",
    "tests/e2e/test_source_lines_run.py",
    "tests/e2e/test_stopping_targets.py",
    "tests/property/test_same_values.py",
)
"""What all in-process engines have in common."""
SAMPLES = ("tests/samples", "tests/e2e/test_*_samples.py")
SUPERVISE = (
    "tests/run/supervise",
    "tests/run/instances",
    "tests/run/observe",
    "tests/kernel/remote",
    "tests/run/campaign",
    "tests/e2e/test_supervise_*.py",
    "tests/e2e/test_commands.py",
    "tests/e2e/test_exit_codes.py",
)
LOG = (
    "tests/kernel/log",
    "tests/kernel/model",
    "tests/kernel/session",
    "tests/kernel/base",
    "tests/property/test_codec.py",
    "tests/property/test_fold.py",
    "tests/property/test_log_*.py",
    "tests/property/test_ancestry.py",
    "tests/property/test_descent.py",
)
SCREENS = (
    "tests/tui",
    "tests/e2e/test_serve_web.py",
    "tests/e2e/test_slow_line.py",
    "tests/e2e/test_terminal.py",
    "tests/e2e/test_afl_terminal.py",
)
COMMANDS = (
    "tests/cli",
    "tests/e2e/test_commands.py",
    "tests/e2e/test_exit_codes.py",
    "tests/e2e/test_undo.py",
    "tests/e2e/test_ci*.py",
    "tests/e2e/test_report_run.py",
    "tests/e2e/test_note_feature.py",
    "tests/e2e/test_bisect_run.py",
)
BISECT = ("tests/cli/test_cli_bisect.py", "tests/e2e/test_bisect_run.py")
HOSTS = ("tests/machines/hosts", "tests/e2e/test_attach_hosts.py")
ADOPT = ("tests/tools/adopt", "tests/e2e/test_adopt.py")
WATCH = ("tests/features/watch", "tests/e2e/test_watch.py")
BENCHMARKS = (
    "tests/benchmarks",
    "tests/e2e/test_benchmarks.py",
    "tests/e2e/test_experiments.py",
    "tests/e2e/test_chaos.py",
)
EXPORT = (
    "tests/tools/export",
    "tests/engines/export",
    "tests/testing",
    "tests/e2e/test_export*.py",
    "tests/e2e/test_score_matrix.py",
    "tests/cli/test_mutants_export.py",
    "tests/e2e/test_compare_proposed.py",
)
CORPUS = (
    "tests/features/corpus",
    "tests/e2e/test_corpus_run.py",
    "tests/e2e/test_inputs_decoded.py",
    "tests/e2e/test_afl_corpus.py",
)
SYNC = (
    "tests/machines/sync",
    "tests/engines/directory",
    "tests/e2e/test_afl_sync.py",
)
SIBLINGS = ("tests/machines/siblings", "tests/e2e/test_a*_sibling*.py")
MERGE = ("tests/machines/merge", "tests/e2e/test_merge_runs.py")
REPORT = ("tests/tools/report", "tests/cli/test_cli_report.py", "tests/e2e/test_report_run.py")
JOBS = ("tests/features/jobs", "tests/e2e/test_cluster_*.py")
DOCS = ("tests/docs", "tests/ci")
RELEASE = (*DOCS, "tests/e2e/test_packaging.py")
SHOWN = (*LOG, *SCREENS, *COMMANDS, *REPORT)
"""What a feature's fold, undo, rows of status, texts and sections change."""

ENGINES = PYTHON + MU2 + TEXT + TARGETING + MINIMISE + ORACLE

# ---------------------------------------------------------------- the tables
GROUPS = (
    "engines",
    *(f"fuzztui/{name}" for name in ("features", "kernel", "machines", "run", "tools")),
)
"""Folders with a README.md of their files and protocols."""

ROOMS: dict[str, tuple[str, ...]] = {
    # The spine. What it carries for each feature, CORE tries.
    "fuzztui/kernel/wire": LOG + SUPERVISE + SCREENS,
    "fuzztui/kernel/model": LOG + SCREENS + COMMANDS,
    "fuzztui/kernel/log": LOG + SUPERVISE + WATCH,
    "fuzztui/kernel/session.py": LOG + SCREENS + COMMANDS,
    "fuzztui/run/campaign": SUPERVISE + COMMANDS + SAMPLES,
    "fuzztui/run/supervise": SUPERVISE,
    "fuzztui/run/instances": SUPERVISE + AFL,
    "fuzztui/run/observe": SUPERVISE + WATCH + AFL,
    "fuzztui/run/process": SUPERVISE + AFL + ORACLE,
    "fuzztui/features/verdicts": (
        "tests/features/verdicts",
        "tests/tools/ci",
        "tests/testing",
        "tests/e2e/test_verdicts_run.py",
        "tests/e2e/test_skipped_frames_run.py",
        "tests/e2e/test_undo.py",
        "tests/kernel/model",
        *SUPERVISE,
    ),
    "fuzztui/features/notify": ("tests/features/notify", "tests/e2e/test_notify.py", *SUPERVISE),
    "fuzztui/features/jobs": JOBS,
    "fuzztui/kernel/remote": SUPERVISE + COMMANDS + HOSTS,
    # What people see.
    "fuzztui/tools/adopt": ADOPT,
    "fuzztui/tools/bisect": ("tests/tools/bisect", *BISECT),
    "fuzztui/tools/changes": ("tests/tools/bisect", "tests/tools/changes", *COMMANDS),
    "fuzztui/tools/ci": ("tests/tools/ci", "tests/e2e/test_ci*.py"),
    ".github/actions": ("tests/e2e/test_ci_action.py",),
    "fuzztui/cli": COMMANDS + CORPUS + SYNC + MERGE + ADOPT,
    "fuzztui/run/home": ("tests/run/home", *COMMANDS),
    "fuzztui/tui": SCREENS,
    "themes": SCREENS,
    **{
        f"fuzztui/features/{name}/screen": SCREENS
        for name in ("corpus", "fuzzfirst", "mutators", "targeting")
    },
    "fuzztui/features/findings": (*SCREENS, "tests/kernel/model", "tests/e2e/test_undo.py"),
    "fuzztui/features/mutants": (
        *SCREENS,
        "tests/features/mutants",
        "tests/e2e/test_cluster_score.py",
        "tests/kernel/model",
        "tests/e2e/test_undo.py",
    ),
    "fuzztui/features/properties": SUITES + SHOWN,
    "fuzztui/features/targets": ("tests/features/targets", "tests/e2e/test_targets_*.py", *SHOWN),
    "fuzztui/features/source": (
        *SCREENS,
        "tests/kernel/model",
        "tests/features/gcov",
        "tests/features/source",
        "tests/e2e/test_source_*.py",
    ),
    "fuzztui/features/inputs": (*SCREENS, "tests/machines/hosts/test_hub_files.py"),
    "fuzztui/features/comparisons": ("tests/kernel/model", *COMMANDS),
    "fuzztui/api": ("tests/api", "tests/e2e/test_api_steering.py"),
    "fuzztui/tools/status": COMMANDS,
    "fuzztui/tools/web": ("tests/tools/web", "tests/e2e/test_serve_web.py"),
    "fuzztui/tools/schema": ("tests/run/campaign", *DOCS),
    # Capabilities.
    "fuzztui/run/afl": AFL + FUZZFIRST + ("tests/e2e/test_text_*.py",),
    "fuzztui/run/triage": AFL + ORACLE,
    "fuzztui/features/minimise": MINIMISE + AFL + ORACLE,
    "fuzztui/features/oracle": ORACLE + AFL,
    "fuzztui/features/fuzzfirst": (*FUZZFIRST, "tests/e2e/test_cluster_turns.py"),
    "fuzztui/features/mutators": TEXT + SHOWN,
    "fuzztui/tools/export": EXPORT,
    "fuzztui/features/corpus": (*CORPUS, "tests/run/afl"),
    "fuzztui/features/gcov": (
        "tests/features/gcov",
        "tests/e2e/test_source_gcov.py",
        "tests/e2e/test_coverage_of_c.py",
    ),
    "fuzztui/machines/sync": SYNC,
    "fuzztui/machines/merge": MERGE,
    "fuzztui/machines/siblings": SIBLINGS,
    "fuzztui/tools/scaffold": (
        "tests/tools/scaffold",
        "tests/cli/test_cli_init.py",
        "tests/e2e/test_init_run.py",
    ),
    "fuzztui/tools/doctor": (
        "tests/tools/doctor",
        "tests/machines/hosts",
        "tests/cli/test_cli_doctor.py",
    ),
    "fuzztui/tools/report": REPORT,
    "fuzztui/testing": EXPORT,
    "fuzztui/pytest_plugin.py": EXPORT,
    "fuzztui/machines/hosts": HOSTS,
    "fuzztui/features/targeting": TARGETING + SHOWN,
    "fuzztui/features/targeting/analysis": TARGETING,
    "fuzztui/features/watch": WATCH,
    "fuzztui/run/inprocess": PYTHON + TARGETING + MINIMISE,
    # Engines, and after them the parts that they share.
    "engines/zest": PYTHON,
    "engines/mu2": (*MU2, *EXPORT, "tests/e2e/test_cluster_score.py"),
    "engines/mutants": MU2 + FUZZFIRST,
    "engines/text": TEXT + AFL,
    "engines/spoton": TARGETING,
    "engines/generators": TARGETING,
    "engines/fixtures": TARGETING,
    "engines/strategies": TARGETING,
    "engines/observe": TARGETING,
    "engines/suite": SUITES,
    "engines/export": EXPORT,
    "engines/base": ENGINES,
    "engines/directory": ENGINES,
    "engines/execute": ENGINES,
    "engines/findings": ENGINES,
    "engines/inputs": ENGINES,
    "engines/instrument": ENGINES,
    "engines/loop": ENGINES,
    "engines/process": ENGINES,
    # Around the product.
    "sample_campaigns": SAMPLES + DOCS,
    "benchmarks": BENCHMARKS + DOCS,
    "experiments": BENCHMARKS + DOCS,
    "docs": DOCS,
    "docs/tutorials": (*DOCS, "tests/e2e/test_packaging.py"),
    "mkdocs.yml": DOCS,
    ".github": DOCS,
    ".ci/release.py": RELEASE,
    ".containerignore": DOCS,
    ".gitignore": DOCS,
    ".pre-commit-config.yaml": DOCS,
    "CHANGELOG.md": DOCS,
    "CITATION.cff": DOCS,
    "CONTRIBUTING.md": DOCS,
    **{f"{group}/README.md": DOCS for group in GROUPS},
    "Containerfile": DOCS,
    "LICENSE": DOCS,
    "MANIFEST.in": RELEASE,
    "Makefile": DOCS,
    "README.md": DOCS,
    "SECURITY.md": DOCS,
    "setup.py": RELEASE,
}
"""A folder or file, and the tests that a change of it needs. The longest name counts."""

CORE = (
    "tests/e2e/test_afl_run.py::test_a_campaign_that_ended_is_resumed_with_all_its_work",
    "tests/e2e/test_chaos.py",
    "tests/e2e/test_commands.py::test_a_headless_run_to_its_budget",
    "tests/e2e/test_commands.py::test_steering_from_a_script",
    "tests/e2e/test_commands.py::test_survives_sigkill_of_everything",
    "tests/e2e/test_engine_run.py::test_killed_again_and_again",
    "tests/e2e/test_engine_run.py::test_sample_program_gives_its_bug_up",
    "tests/e2e/test_engine_text.py::test_sample",
    "tests/e2e/test_first_run.py::test_mutants_first_and_then_the_target",
    "tests/e2e/test_mu2_run.py::test_kills_are_saved_with_their_inputs_and_the_score_is_exact",
    "tests/e2e/test_packaging.py::test_wheel_installs_and_runs_a_sample_elsewhere",
    "tests/e2e/test_spoton_run.py::test_what_it_leaves",
    "tests/e2e/test_strategies_run.py::test_a_test_is_a_target_as_it_is",
    "tests/e2e/test_supervise_life.py::test_both_are_killed_and_time_stands_still",
    "tests/e2e/test_terminal.py::test_start_look_leave_rejoin_stop",
    "tests/e2e/test_watch.py::test_what_was_kept_can_be_replayed",
)
"""What every branch runs: a campaign of each kind from its start to its end, and kills."""

DAY_S = 86_400

SHARE_FILES = 7
"""Test files that take some minutes on two cores, beside CORE, which takes two to three."""

LANES: dict[str, tuple[str, ...]] = {
    "slow-afl": (*AFL, *ADOPT, *FUZZFIRST, *ORACLE),
    "slow-engines": (*PYTHON, *MU2, *TEXT, *TARGETING),
    "slow-rest": ("tests",),
}
"""Slow tests that run side by side: a test belongs to the first lane that has its file."""


def files(patterns: Iterable[str]) -> set[str]:
    """The test files that the patterns name: files, folders with all below them, or globs."""
    found: set[Path] = set()
    for pattern in patterns:
        for path in ROOT.glob(pattern):
            found |= set(path.rglob("test_*.py")) if path.is_dir() else {path}
    return {path.relative_to(ROOT).as_posix() for path in found}


def tests_of(path: str) -> set[str] | None:
    """The test files that a change of ``path`` needs; None: all."""
    parts = path.split("/")
    if parts[0] == "tests":
        if parts[-1].startswith("test_") and path.endswith(".py"):
            return files([path])
        # A helper or a snapshot: the tests of its folder. Others use what is above them.
        depth = 3 if parts[1] in TEST_GROUPS else 2
        folder = "/".join(parts[:depth])
        return files([folder]) if len(parts) > depth and folder != "tests/helpers" else None
    for end in range(len(parts), 0, -1):
        if (room := "/".join(parts[:end])) in ROOMS:
            return files(ROOMS[room])
    return None


def needed(changed: Iterable[str] | None) -> tuple[set[str], str]:
    """The test files that these changes need, without CORE, and why; None: unknown changes."""
    if changed is None:
        return files(["tests"]), "everything: no base to compare with"
    found: set[str] = set()
    for path in sorted(changed):
        tests = tests_of(path)
        if tests is None:
            return files(["tests"]), f"everything: {path} belongs to no folder of .ci/lanes.py"
        found |= tests
    return found, f"{len(found)} test files for what was changed, and the core"


def share(chosen: set[str], commit: str) -> set[str]:
    """Every n-th of the files with slow tests, about ``SHARE_FILES``; ``commit`` says which."""
    slow = {file for file in chosen if "mark.slow" in (ROOT / file).read_text()}
    parts = -(-len(slow) // SHARE_FILES)
    mixed = sorted(slow, key=lambda file: (zlib.crc32(file.encode()), file))
    return set(mixed[int(commit[:8], 16) % parts :: parts]) if parts > 1 else slow


def with_core(chosen: set[str]) -> list[str]:
    """The files, and the tests of CORE that are in none of them."""
    return sorted({*chosen, *(test for test in CORE if test.partition("::")[0] not in chosen)})


@functools.cache
def lanes() -> dict[str, str]:
    """The lane of each test file."""
    return {file: lane for lane, patterns in reversed(LANES.items()) for file in files(patterns)}


def lane_of(test: str) -> str:
    """The lane of a test file, or of one test of a file."""
    return lanes()[test.partition("::")[0]]


def git(*arguments: str) -> str | None:
    """What git prints; None if it fails or does not exist."""
    argv = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def changes() -> set[str] | None:
    """The paths that differ from the base of this branch; None if there is no known base.

    The base is where the branch left main; on main, the last commit of the day before HEAD.
    """
    target = os.environ.get("GITHUB_BASE_REF")  # set by GitHub for pull requests
    head = git("rev-parse", "HEAD")
    for main in [f"origin/{target}"] if target else ["origin/main", "main"]:
        base = git("merge-base", main, "HEAD")
        if base is None:
            continue
        if base == head and not (base := day_before()):
            return None
        tracked = git("diff", "--name-only", "--no-renames", "-z", base.strip())
        new = git("ls-files", "--others", "--exclude-standard", "-z")
        if tracked is None or new is None:
            return None
        return {path for path in (tracked + new).split("\0") if path}
    return None


def day_before() -> str | None:
    """The newest commit at least a day older than HEAD; None or an empty string: none is known."""
    seconds = git("log", "-1", "--format=%ct")
    if seconds is None:
        return None
    return git("rev-list", "-1", "--first-parent", f"--before={int(seconds) - DAY_S}", "HEAD")


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lane", choices=LANES)
    parser.add_argument("--everything", action="store_true", help="whatever the branch changes")
    parser.add_argument("--share", action="store_true", help="of many files a share, by commit")
    parser.add_argument("--explain", action="store_true", help="print why, not the tests")
    args = parser.parse_args()
    chosen, why = needed(None if args.everything else changes())
    if args.share:
        chosen = share(every := chosen, (git("rev-parse", "HEAD") or "0").strip())
        why += f"; {len(chosen)} of them now, others for other commits" * (len(chosen) < len(every))
    if args.explain:
        print(f"slow tests: {'everything, as asked' if args.everything else why}")
        return
    tests = [test for test in with_core(chosen) if args.lane in (None, lane_of(test))]
    print("\n".join(tests))


if __name__ == "__main__":
    sys.exit(main())
