"""What ``target.build`` makes in a build tree: the program, and the files that it needs."""

from __future__ import annotations

import os
from pathlib import Path

from fuzztui.base.files import remove
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.fuzzfirst.build_tree import BuildTree
from fuzztui.fuzzfirst.duplicates import digest_of
from fuzztui.fuzzfirst.program_files import companions, settle, shared_objects


class Product:
    """The program in every build tree that is a copy of ``origin``.

    All members raise :class:`SupervisorError` if the build makes the program outside its tree.
    """

    def __init__(self, campaign: Campaign, origin: BuildTree) -> None:
        self._target = campaign.target
        self._bases = {"build": campaign.build_directory, "source": origin.origin}
        self._origin = origin

    @property
    def name(self) -> Path:
        """The program's path in a tree: ``build/prog`` or ``source/prog``."""
        return self._place(self._target["command"][0])

    def in_tree(self, tree: BuildTree) -> Path:
        """Return the path of the program in a tree."""
        return tree.home / self.name

    def digest(self, tree: BuildTree) -> str:
        """Return the digest of the program and the shared objects of the build. Raises OSError."""
        made = [*shared_objects(tree.build), *self._libraries(tree)]
        return digest_of([self.in_tree(tree), *made])

    def settle(self, program: Path, tree: BuildTree, into: Path) -> None:
        """Copy a program, and the files of its tree that it needs, to ``into``. Raises OSError."""
        remove(into)
        into.mkdir(mode=0o700, parents=True)
        without = {self.in_tree(tree)}
        if self._target["cmplog"] not in ("", "0"):
            without.add(tree.home / self._place(self._target["cmplog"]))
        beside = [*companions(tree.build, without), *self._libraries(tree)]
        settle(program, self.name, tree.home, beside, into)

    def _libraries(self, tree: BuildTree) -> list[Path]:
        """Return the shared objects that a build has made in its source directory."""
        there = self._origin.source
        found = shared_objects(tree.source)
        return [
            path for path in found if not os.path.lexists(there / path.relative_to(tree.source))
        ]

    def _place(self, program: str) -> Path:
        for place, base in self._bases.items():
            inside = os.path.relpath(program, base)
            if not inside.startswith(os.pardir):
                return Path(place, inside)
        raise SupervisorError(
            f"target.command: {program} is made neither in the build's directory nor in "
            "target.source, so mutants cannot be built in a private copy"
        )
