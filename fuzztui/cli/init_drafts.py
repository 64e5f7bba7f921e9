"""Drafts of a first campaign: for a Python target by a trial, for a program by its input."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fuzztui.cli.asking import Asking
from fuzztui.cli.init_files import mutants_of
from fuzztui.cli.output import UsageError
from fuzztui.cli.progress import Counter
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign import CampaignError
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.tools.scaffold.better import Proposal
from fuzztui.tools.scaffold.files import CampaignDraft, relative
from fuzztui.tools.scaffold.inputs import data_files, seeds_in
from fuzztui.tools.scaffold.interpreters import ProjectPython
from fuzztui.tools.scaffold.native import NativeTarget, seed_folder, takes_file
from fuzztui.tools.scaffold.proposals import draft_for, propose
from fuzztui.tools.scaffold.python_targets import PythonTarget
from fuzztui.tools.scaffold.suites import SuiteTarget, suite_draft, suite_target
from fuzztui.tools.scaffold.tree import PythonFile, package_of, source_root

_STARVES_S: Final = 2.0
"""Seconds of mutants for one kept input from which on mu2 keeps only hundreds in a first run."""

_SAMPLES: Final = (
    b"",
    b"a",
    b"0123456789",
    b'{"a": [1, "b"]}\n',
    b"<a>b</a>",
    b"\x89PNG\r\n\x1a\n",
)


Target = PythonTarget | SuiteTarget | NativeTarget


@dataclass(slots=True)
class Project:
    """What was found in the directory."""

    folder: Path
    python: ProjectPython
    files: list[PythonFile] = field(default_factory=list)
    functions: list[PythonTarget] = field(default_factory=list)
    natives: list[NativeTarget] = field(default_factory=list)

    @property
    def targets(self) -> list[Target]:
        """All that could be fuzzed, the best first."""
        programs = [native for native in self.natives if not native.build]
        makes = [native for native in self.natives if native.build]
        suite = suite_target(self.files, self.functions)
        return [*programs, *([suite] if suite else []), *self.functions, *makes]

    @property
    def name(self) -> str:
        """The name of its campaign: the directory's, without a version."""
        plain = re.sub(r"[-_]v?\d+(\.\d+)*.*$", "", self.folder.name)
        return re.sub(r"[^\w.-]+", "-", plain).strip("-.") or "campaign"


# ----------------------------------------------------------------------- a Python target


def draft_of_suite(project: Project, target: SuiteTarget, file: Path) -> CampaignDraft:
    """Return the draft of a campaign with all tests of a project."""
    python, path = _interpreter_and_path(project, file.parent)
    both = [*path, "."] if path else ["."]
    return suite_draft(target, project.name, python, both, min(2, usable_cpus()))


def _interpreter_and_path(project: Project, base: Path) -> tuple[str, list[str]]:
    """The keys ``python`` and ``path``; empty: the defaults."""
    own = project.python.origin == "fuzztui's own"
    root = relative(source_root(project.folder), base)
    python = "" if own else relative(project.python.path, base)
    return python, [] if root == "." else [root]


def python_draft(
    project: Project, target: PythonTarget, file: Path, asking: Asking
) -> tuple[CampaignDraft, bool]:
    """Try a target; return its draft, and whether it accepted any input (True without a trial).

    Raises CampaignError, SupervisorError if a harness cannot make the call.
    """
    python, path = _interpreter_and_path(project, file.parent)
    path += ["."] if path and target.is_test else []  # tests are not below src
    draft = draft_for(target, target.package or project.name, python, path)
    if target.package:
        draft = draft.with_target(include=[package_of(project.files, target.module)])
    if target.is_test or target.kind_of_input:
        return draft, True
    names = [target.name.rpartition(".")[2], *([target.call.name] if target.call else [])]
    seeds = [*seeds_in(project.files, names), *data_files(project.folder)]
    asking.tell(f"\nTrying {target.reference} in a child process:")
    try:
        with Counter() as line:
            proposal = propose(
                target,
                draft,
                files=project.files,
                seeds=seeds,
                file=file,
                progress=lambda done, of: line.show("  inputs", done, of),
            )
    except (CampaignError, SupervisorError) as e:
        if target.call is not None:
            raise
        asking.tell(f"  it cannot be run: {e}")
        return draft, True  # the check finds the reason, and names the key
    draft = _chosen(proposal, asking)
    return _with_mutants(draft, file, proposal.rate, asking), proposal.accepts


def _with_mutants(draft: CampaignDraft, file: Path, rate: float, asking: Asking) -> CampaignDraft:
    """Add to the draft what mu2 would cost: the time for all mutants on one kept input.

    If the cost is so high that fuzzing would starve, also print why the first run is without mu2.
    """
    if draft.kind != "zest" or not rate or not (count := mutants_of(draft, file)):
        return draft
    cost = f"{several(count, 'mutant')}, up to {max(count / rate, 0.1):.1f} s for each kept input"
    if count / rate < _STARVES_S:
        about = f'coverage. "mu2" also makes inputs that kill the {cost}'
    else:
        about = f'coverage first: "mu2" would run {cost}'
        asking.tell(f"  the first run is for coverage (zest): mu2 would run {cost}")
    return replace(draft, notes={**draft.notes, "engine.kind": about})


def _chosen(proposal: Proposal, asking: Asking) -> CampaignDraft:
    for text in proposal.shown:
        asking.tell(f"  {text}")
    if proposal.better is None:
        return proposal.draft
    return proposal.better if asking.agree(proposal.better_text) else proposal.draft


# ----------------------------------------------------------------------- a program


def native_draft(
    project: Project, target: NativeTarget, options: argparse.Namespace, asking: Asking
) -> CampaignDraft:
    """Find out how a program, or what a build makes, takes its input. Raises :class:`CliError`."""
    command = options.program or target.program
    remarks = []
    if target.build:
        if not command and not asking.asks:
            raise UsageError(
                f"{target.what}: does not name the program that it builds; give --command "
                "'./PROGRAM @@' (@@: the input file; without it the input is stdin)"
            )
        question = "The program that the build makes, @@ for the input file"
        command = asking.ask(question, command)
        while not command.strip():
            asking.tell("  such as ./program @@")
            command = asking.ask(question, command)
        remarks.append("Try the build: fuzztui check FILE --build")
    try:
        words = shlex.split(command)
    except ValueError as e:
        raise UsageError(f"the command {command!r}: {e}; nothing was written") from None
    if not words:
        raise UsageError("the command is empty; nothing was written")
    if len(words) == 1 and not target.build:
        program = project.folder / words[0]
        reads = takes_file(program, _SAMPLES)
        if reads is None:
            remarks.append("Not known: whether the program reads stdin, or a file: add '@@' then.")
        elif reads:
            words.append("@@")
        asking.tell(f"  input: {'a file, @@' if '@@' in words else 'stdin'}")
    keys: dict[str, object] = {"command": words}
    if target.build:
        keys["build"] = target.build
        if shutil.which("gcc") and shutil.which("gcov"):
            keys["coverage"] = True
    folder = seed_folder(project.folder)
    draft = CampaignDraft(
        project.name,
        "afl",
        keys,
        seed_paths=[folder] if folder else [],
        seeds=[] if folder else [d for d in _SAMPLES if d],
        remarks=remarks,
    )
    if folder:
        asking.tell(f"  seeds: {folder}")
    return draft
