"""What ``bisect`` tries at each commit, and the campaign for it, with its paths in the worktree."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fuzztui.cli.output import UsageError
from fuzztui.cli.repro import finding_file
from fuzztui.cli.runs import standing
from fuzztui.cli.score import corpus_of
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.model.state import Mutant
from fuzztui.run.campaign import FrozenCampaign, load
from fuzztui.run.campaign.binaries import CMPLOG, binaries_of
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.ask import NoAnswer, ask
from fuzztui.tools.bisect.repository import Commit, Repository
from fuzztui.tools.changes.lines import ChangesError


class Subject:
    """A finding, or a mutant that a corpus once killed, of a run."""

    def __init__(self, options: argparse.Namespace, run_dir: RunDir) -> None:
        """Find what ``options.finding`` names. Raises :class:`CliError`, :class:`CampaignError`."""
        self.run_dir, self.options = run_dir, options
        self.file = Path()
        self.mutant: Mutant | None = None
        given, run = options.finding, run_dir.path
        try:
            self.file = finding_file(run_dir, given)
        except (UsageError, OSError):  # an id may be too long for the name of a file
            self.mutant = standing(run).state.mutants.get(given)
            if self.mutant is None:
                raise UsageError(
                    f"{given}: {run} has no such finding, and no mutant with this id; they are "
                    f"listed by: fuzztui repro {run}, fuzztui mutants list {run}"
                ) from None
        self.loaded = load(run_dir.campaign, options.overrides)
        self.campaign = self.loaded.campaign
        self.compiled = self.campaign.kind == "afl"
        if self.mutant and self.compiled:
            raise UsageError(f"{given}: bisect is for mutants of Python code, not of C")
        self.corpus = corpus_of(run, options.corpus) if self.mutant else []

    @property
    def key(self) -> bytes:
        """What outcomes depend on, beside the commit."""
        given = self.options
        words = (given.finding, given.build, given.only, given.times, self.corpus)
        data = b"" if self.mutant else self.file.read_bytes()
        return b"\0".join((repr(words).encode(), self.loaded.toml().encode(), data))

    @cached_property
    def _imported_from(self) -> list[Path]:
        """The directories from which the modules of a Python target are imported."""
        target = self.campaign.target
        names = [*target["include"], str(target["function"]).partition(":")[0]]
        names = names[:-1] if target.get("suite") or "/" in names[-1] else names
        roots: list[Path] = []
        with suppress(NoAnswer):  # the first trial says why
            answers = ask(self.campaign, ["--locate", *names]) if names else iter(())
            roots = [Path(str(answer["root"])) for answer in answers if "root" in answer]
        return list(dict.fromkeys(roots))

    @property
    def _places(self) -> list[Path]:
        """Files and directories that may be in the repository, the most telling one first."""
        target = self.campaign.target
        if self.compiled:
            return [Path(target["source"] if target["build"] else target["command"][0])]
        named = target.get("suite") or [target["function"]]
        files = [Path(str(part).partition(":")[0]) for part in named]
        return [*self._imported_from, *filter(Path.is_absolute, files), *map(Path, target["path"])]

    def repository(self) -> tuple[Repository, Commit, Commit]:
        """Return the repository of the target, and the ends of ``options.range`` in it.

        Of several repositories: the first one that has the commits. Raises ChangesError, CliError.
        """
        if shutil.which("git") is None:
            raise UsageError("git is not installed; bisect needs it")
        problems: list[UserError] = []
        for place in self._places:
            folder = next(path for path in (place, *place.parents) if path.is_dir())
            try:
                found = Repository(folder)
                return found, *found.ends(self.options.range)
            except ChangesError as e:
                problems += [e] if "not a git repository" not in str(e) else []
        key = "source" if self.compiled else "path"
        advice = f"name a directory of one: --set target.{key}=DIR"
        none = f"{self.campaign.file}: target.{key}: {self._places[0]} is in no git repository"
        raise [*problems, UsageError(f"{none}; {advice}")][0]

    def moved(self, root: Path, tree: Path) -> tuple[FrozenCampaign, Callable[[Any], Any]]:
        """Return the campaign with its paths in ``tree`` in place of ``root``, and what moves one.

        Raises :class:`UsageError` if all commits would do the same.
        """
        above = {path for place in self._places for path in (place, *place.parents)}
        names = {root, *(path for path in above if path.resolve() == root)}  # also by links
        either = "|".join(re.escape(str(name)) for name in names)
        # Also in commands and lists of directories: -I/path, /path:/other.
        own = re.compile(rf"(?:(?<=-[A-Za-z])|(?<![\w./-]))(?:{either})(?![\w.-])")

        def move(value: Any) -> Any:
            if isinstance(value, str):
                return own.sub(lambda _: str(tree), value)
            if isinstance(value, dict):
                return {key: move(each) for key, each in value.items() if key != "python"}
            return [move(each) for each in value] if isinstance(value, list) else value

        target = dict(self.loaded.frozen["target"])
        if not self.compiled:
            # An editable install finds the user's checkout: the worktree comes before it.
            own_roots = [str(r) for r in self._imported_from if _is_own(r, names)]
            if self._imported_from and not own_roots:
                raise UsageError(
                    f"{self.campaign.file}: at all commits the target is imported from "
                    f"{self._imported_from[0]}, not from {root}: --set 'target.path=[\"DIR\"]' "
                    "puts the directory of its package there first"
                )
            target["path"] = list(dict.fromkeys([*own_roots, *self.campaign.target["path"]]))
        elif not (target.get("build") or self.options.build):
            raise UsageError(
                f"{self.campaign.file}: has no target.build; name the command that makes "
                f"{target['command'][0]} in the tree of a commit: --build make"
            )
        if binaries := target.get("binaries"):
            # One that a commit cannot build is no reason to judge the commit by another binary.
            there = [one.name for one in binaries_of(self.campaign) if one.name != CMPLOG]
            target["binaries"] = {name: {**binaries[name], "optional": False} for name in there}
        frozen = {**self.loaded.frozen, "target": {**target, **move(target)}}
        if "oracle" in frozen:
            frozen["oracle"] = move(frozen["oracle"])
        return replace(self.loaded, frozen=frozen), move


def _is_own(path: Path, roots: Collection[Path]) -> bool:
    """Whether a path is in the repository, and not that of an installed package."""
    return "site-packages" not in path.parts and not {path, *path.parents}.isdisjoint(roots)
