"""``fuzztui init``: find what a project has to fuzz, and write its first campaign file."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fuzztui.cli.asking import Asking
from fuzztui.cli.init_drafts import Project, Target, draft_of_suite, native_draft, python_draft
from fuzztui.cli.init_files import checked, paths_of, write_draft
from fuzztui.cli.output import DONE, UsageError, say
from fuzztui.cli.progress import Waiting
from fuzztui.engines.instrument.extensions import BUILD
from fuzztui.kernel.base.text import listed, several
from fuzztui.run.campaign import CampaignError
from fuzztui.run.campaign.files import CAMPAIGN_FILE
from fuzztui.run.campaign.rundir import SupervisorError, Unfit
from fuzztui.tools.scaffold.arguments import EITHER
from fuzztui.tools.scaffold.files import CampaignDraft, relative, toml_value
from fuzztui.tools.scaffold.inputs import plain_tests
from fuzztui.tools.scaffold.interpreters import ProjectPython, project_pythons
from fuzztui.tools.scaffold.native import NativeTarget, builds, instrumented_programs
from fuzztui.tools.scaffold.python_targets import PythonTarget, python_targets
from fuzztui.tools.scaffold.suites import SuiteTarget
from fuzztui.tools.scaffold.tree import (
    imports_of,
    package_files,
    parsed,
    python_files,
    requested_packages,
)

_OFFERED: Final = 12
"""Targets in the first list."""

_TRIED: Final = 5
"""Targets that are tried without asking, until one can start."""

_REFERENCE: Final = re.compile(r"[\w./-]+:[A-Za-z_][\w.]*")


def init(options: argparse.Namespace) -> int:
    """Find targets, ask which one, try it, write the files, check them, offer to start."""
    folder = Path(os.path.abspath(options.path))  # noqa: PTH100 - links stay as the user has them
    if not folder.is_dir():
        raise UsageError(f"{options.path}: is not a directory; name that of a project")
    asking = Asking(options.yes or options.print, sys.stderr if options.print else sys.stdout)
    chosen = bool(options.function or options.program)
    if not asking.possible and not chosen:
        raise UsageError(
            "init asks what to fuzz, but there is no terminal: give --yes (the best target), or "
            "--function MODULE:NAME"
        )
    file = folder / (options.output or CAMPAIGN_FILE)
    if file.parent != folder or file.suffix != ".toml" or file.name == "pyproject.toml":
        raise UsageError(
            f"-o {options.output}: give the name of a .toml file, which is written to {folder}"
        )
    if not options.print and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{folder}: cannot be written to; --print shows the campaign file")
    project = _look(folder, options.python, asking)
    draft = _draft(project, file, options, asking)
    if options.print:
        print(draft.text(), end="")
        if draft.harnesses:
            say(f"with {listed([p.name for p in paths_of(draft, file)[1:]])} next to it")
        return DONE
    _write(draft, file, asking, force=options.force)
    shown = relative(file, Path.cwd())
    start = options.start or (asking.asks and asking.agree("Start it now?"))
    command = f"fuzztui {shlex.quote(shown)}"
    if not start:
        say(f"start it: {command}")
        return DONE
    print(f"$ {command}", flush=True)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "fuzztui", shown])


# --------------------------------------------------------------------------- looking


def _look(folder: Path, given: Path | None, asking: Asking) -> Project:
    """Read the project's files, and find its interpreter. Raises :class:`CliError`."""
    asking.tell(f"Looking at {folder}")
    python = _python(folder, given)
    files = list(python_files(folder))
    modules = {file.module.partition(".")[0] for file in files if file.module}
    natives = [*instrumented_programs(folder), *builds(folder)]
    # Without code of its own, the project is about what its environment has. An environment
    # elsewhere, or one of a project in C, has tools with which its user works instead.
    if not modules and not natives and python.packages is not None and python.is_own:
        names = requested_packages(python.packages)
        for name in names:
            files += package_files(python.packages, name)
        modules = set(names)
    project = Project(folder, python, files, python_targets(files), natives)
    if files or not natives:
        asking.tell(f"  interpreter: {python.path}, Python {python.version_text} ({python.origin})")
    if modules:
        asking.tell(f"  modules: {listed(sorted(modules))}")
    if compiled := {t.reference: t.compiled_in for t in project.functions if t.compiled_in}:
        asking.tell(f"  compiled, so that coverage sees nothing: {listed([*compiled], 4)}")
        asking.tell(f"  it sees them after {BUILD}")
        extensions = toml_value(list(dict.fromkeys(compiled.values())))
        asking.tell(f"  if [target] has: extensions = {extensions}")
    if count := plain_tests(files):
        asking.tell(f"  {several(count, 'test')} without @given: their texts are tried as inputs")
    return project


def _python(folder: Path, given: Path | None) -> ProjectPython:
    if given is not None:
        from fuzztui.tools.scaffold.interpreters import asked

        python = asked(Path(os.path.abspath(given)), "--python")  # noqa: PTH100
        if python.problem:
            raise UsageError(f"--python {given}: {python.problem}")
        return python
    for python in project_pythons(folder, os.environ):
        if not python.problem:
            return python
        say(f"{python.path} ({python.origin}) {python.problem}: not used")
    raise UsageError("no interpreter can run engines; name one with --python")


# -------------------------------------------------------------------------- choosing


def _draft(
    project: Project, file: Path, options: argparse.Namespace, asking: Asking
) -> CampaignDraft:
    """Choose a target and fill a draft.

    If no questions are asked, the next target is tried when one cannot start or accepts no input.
    """
    left: list[str] = []
    useless: tuple[str, CampaignDraft, bool] | None = None
    blind = ""
    fixed = bool(options.function or options.program)
    while True:
        target = _target(project, options, asking, left)
        try:
            if isinstance(target, NativeTarget):
                draft, accepts = native_draft(project, target, options, asking), True
            elif isinstance(target, SuiteTarget):
                draft, accepts = draft_of_suite(project, target, file), True
            else:
                draft, accepts = python_draft(project, target, file, asking)
            with Waiting() as waiting:
                ready = checked(draft, file, waiting)
            blind = ready.unguided
        except Unfit as e:
            problem = f"{_described(target)}: {e}{_mend(str(e), project)}"
        except CampaignError as e:
            problem = f"{_described(target)}: {'; '.join(p.text for p in e.problems)}"
        except SupervisorError as e:
            problem = f"{_described(target)}: {e}"
        else:
            if blind:
                blind = f"{_described(target)}: {blind}"
            if accepts and not blind and useless is not None and not useless[2]:
                say(
                    f"{_described(target)} is fuzzed, as {useless[0]} needs a harness: "
                    "write one that makes the call, and name it with --function FILE.py:FUNCTION"
                )
            if (accepts and not blind) or asking.asks or fixed:
                for text in filter(None, (blind, ready.warning("target.clock"))):
                    say(text)
                return draft
            problem = blind or f"{_described(target)}: accepts none of these inputs"
            if useless is None or (accepts and not useless[2]):
                useless = _described(target), draft, accepts
        left.append(_described(target))
        last = len(left) >= min(_TRIED, len(project.targets)) and not asking.asks
        if last and useless is not None:
            say(problem)
            return useless[1]
        if fixed or last:
            raise UsageError(f"{problem}; nothing was written")
        say(problem)


def _described(target: Target) -> str:
    return target.reference if isinstance(target, PythonTarget) else target.what


def _mend(problem: str, project: Project) -> str:
    missing = re.search(r"No module named '(\w+)", problem)
    if not missing:
        return ""
    name, folder = missing[1], project.folder
    # In the package index, another project may have this one's name.
    own = any((folder / part).exists() for part in (name, f"{name}.py", f"src/{name}"))
    what = f"-e {shlex.quote(str(folder))}" if own else name
    command = f"{shlex.quote(str(project.python.path))} -m pip install {what}"
    return f"; install it: {command}, or name another interpreter with --python"


def _target(
    project: Project, options: argparse.Namespace, asking: Asking, left: Sequence[str]
) -> Target:
    if options.program:
        word = options.program.partition(" ")[0]
        makes = [native for native in project.natives if native.build]
        if makes and not os.path.isfile(project.folder / word):  # noqa: PTH113 - any word
            return makes[0]  # the program does not exist yet: the build makes it
        return NativeTarget(options.program, options.program)
    if options.function:
        return _named(project, options.function)
    targets = project.targets
    if not targets and not asking.asks:
        raise UsageError(
            f"{project.folder}: found nothing to fuzz: no function or method that reads text or "
            "bytes, no @given test, no program that AFL++ has instrumented, no Makefile or such; "
            "name a target: --function MODULE:NAME, or --command './prog @@'"
            f"{_about_tests(project)}"
        )
    if not asking.asks:
        return next(target for target in targets if _described(target) not in left)
    shown = targets[:_OFFERED]
    asking.tell("\nWhat should be fuzzed?" if shown else "\nFound nothing that could be fuzzed.")
    for number, target in enumerate(shown, 1):
        asking.tell(f"  {number:>2}  {_line(target)}")
    if len(targets) > len(shown):
        asking.tell(f"      and {len(targets) - len(shown)} more: name one")
    if not shown and (about := _about_tests(project)):
        asking.tell(about.removeprefix("; "))
    choice = " a number," if shown else ""
    question = f"Type{choice} MODULE:FUNCTION, or a command such as './prog @@'"
    while True:
        answer = asking.ask(question, "1" if shown else "")
        if answer.isdecimal() and 1 <= int(answer) <= len(shown):
            return shown[int(answer) - 1]
        if _REFERENCE.fullmatch(answer):
            return _named(project, answer)
        word = answer.partition(" ")[0]
        if word and os.path.isfile(project.folder / word):  # noqa: PTH113 - no error for any word
            return NativeTarget(answer, answer)
        if word and not word.isdecimal():
            asking.tell(f"  there is no program {word} in {project.folder}")
        asking.tell(f"  1 to {len(shown)}, please" if shown else "  a name, please")


def _about_tests(project: Project) -> str:
    """Return what becomes of tests without Hypothesis, as text for users; "": there are none."""
    count = plain_tests(project.files)
    if not count:
        return ""
    return (
        f"; the {several(count, 'test')} without @given cannot be fuzzed: their texts become seeds "
        "of the function that you name, or draw them with @given (docs/hypothesis.md)"
    )


def _line(target: Target) -> str:
    match target:
        case PythonTarget():
            what, where = target.reference + target.signature, target.where
        case SuiteTarget():
            what, where = target.what, f"in {target.where}"
        case _:
            what = target.what
            where = "build it for AFL++" if target.build else "instrumented by AFL++"
    gap = " " * max(2, 44 - len(what))
    if len(what) + len(gap) + len(where) > 74:  # a terminal would break the line in a word
        gap = f"\n{' ' * 8}"
    return f"{what}{gap}{where}"


def _named(project: Project, reference: str) -> PythonTarget:
    """Return the target with this reference; if it was not found, one with the reference only."""
    for target in project.functions:
        if reference in (target.reference, f"{target.module}:{target.name}"):
            return target
    if not _REFERENCE.fullmatch(reference):
        raise UsageError(f"{reference!r} is not MODULE:FUNCTION, or FILE.py:FUNCTION")
    module, _, name = reference.partition(":")
    if module.endswith(".py"):
        return _in_file(project, module, name)
    package = module
    if not any(f.module.partition(".")[0] == package.partition(".")[0] for f in project.files):
        places = project.python.packages
        if places is not None and package:
            project.files += package_files(places, package.partition(".")[0])
            for target in python_targets(project.files):
                if reference in (f"{target.module}:{target.name}", target.reference):
                    return target
    return PythonTarget(reference, "", "", EITHER, 0, module=package, name=name)


def _in_file(project: Project, file: str, name: str) -> PythonTarget:
    """Return a function of a file: of a module of the project, or of a harness or test."""
    relative_path = os.path.normpath(file)
    for known in project.files:
        if known.module and os.path.normpath(known.relative) == relative_path:
            return _named(project, f"{known.module}:{name}")
    modules = {known.module.partition(".")[0] for known in project.files if known.module}
    tree = parsed(project.folder / file)
    imported = imports_of(tree) & modules if tree is not None else set()
    package = min(imported, default="")
    return PythonTarget(f"{file}:{name}", "", "", EITHER, 0, module=package, name=name)


# ---------------------------------------------------------------------------- writing


def _write(draft: CampaignDraft, file: Path, asking: Asking, *, force: bool) -> None:
    """Write the files, after asking for those that exist. Raises :class:`CliError`."""
    paths = paths_of(draft, file)
    existing = [path for path in paths if os.path.lexists(path)]
    if existing and not force:
        names = listed([relative(path, Path.cwd()) for path in existing])
        exist = "exists" if len(existing) == 1 else "exist"
        if not asking.asks:
            raise UsageError(f"{names} {exist}: --force replaces, -o FILE writes another")
        if not asking.agree(f"{names} {exist}. Replace?", default=False):
            raise UsageError("nothing was written; -o FILE writes another file")
    elif asking.asks:
        asking.tell(f"\n{draft.text()}")
        names = listed([relative(path, Path.cwd()) for path in paths])
        if not asking.agree(f"Write {names}?"):
            raise UsageError("nothing was written")
    write_draft(draft, file)
    say(f"wrote {listed([relative(path, Path.cwd()) for path in paths])}: it is valid")
