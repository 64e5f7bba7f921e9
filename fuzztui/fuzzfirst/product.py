"""What ``target.build`` makes in a tree: the campaign's program, and what goes with it."""

from __future__ import annotations

import os
from pathlib import Path

from fuzztui.base.files import remove
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.fuzzfirst.build_tree import BuildTree
from fuzztui.fuzzfirst.duplicates import digest_of
from fuzztui.fuzzfirst.program_files import companions, settle, shared_objects

__all__ = ["Product"]


class Product:
    """The same program in every tree that is built as ``origin`` would be, of which it is a copy.

    Whatever asks for it raises :class:`SupervisorError` if no tree has it: it is made elsewhere.
    """

    def __init__(self, campaign: Campaign, origin: BuildTree) -> None:
        self._target = campaign.target
        self._bases = {"build": campaign.build_directory, "source": origin.origin}
        self._origin = origin

    @property
    def name(self) -> Path:
        """``build/prog``, or ``source/prog``: where a tree has it."""
        return self._place(self._target["command"][0])

    def in_tree(self, tree: BuildTree) -> Path:
        """The program of a tree."""
        return tree.home / self.name

    def digest(self, tree: BuildTree) -> str:
        """Of the program and the libraries that a mutant may be found in. Raises OSError."""
        made = [*shared_objects(tree.build), *self._libraries(tree)]
        return digest_of([self.in_tree(tree), *made])

    def settle(self, program: Path, tree: BuildTree, into: Path) -> None:
        """Put a program, and what of its tree it needs when it runs, to where they stay.

        Raises OSError.
        """
        remove(into)
        into.mkdir(mode=0o700, parents=True)
        without = {self.in_tree(tree)}
        if self._target["cmplog"] not in ("", "0"):
            without.add(tree.home / self._place(self._target["cmplog"]))
        beside = [*companions(tree.build, without), *self._libraries(tree)]
        settle(program, self.name, tree.home, beside, into)

    def _libraries(self, tree: BuildTree) -> list[Path]:
        """Shared objects that a build has made in its source."""
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
            f"target.command: {program} is neither made in the build's directory nor in "
            "target.source: mutants of it cannot be built in private"
        )
