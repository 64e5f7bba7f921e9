"""The search for any object of a campaign, by words: findings, functions, mutants, entries, ..."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.binding import BindingType
from textual.command import CommandPalette, Hit, Hits, Provider

from fuzztui.kernel.model.state import State
from fuzztui.tui.app.palette_commands import MARGIN
from fuzztui.tui.base.dialogs import LEAVES
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.labels.details import finding_text
from fuzztui.tui.labels.events import command_text
from fuzztui.tui.labels.mutants import place

MAX_HITS = 60
"""Objects that are listed; a further word makes them fewer."""


class CampaignObject(NamedTuple):
    """One object, and where it is: the row ``key`` of a screen."""

    kind: str
    name: str
    screen: str
    key: str
    about: str = ""
    """What it is also found by, after those whose name matches: a path, for example."""

    @property
    def text(self) -> str:
        """The name, and what else is known."""
        return f"{self.name}  {self.about}".rstrip()

    @property
    def line(self) -> str:
        """The object as a line of the list; safe to draw."""
        return plain(f"{self.kind:<9} {self.text}", 300)


def campaign_objects(state: State) -> Iterator[CampaignObject]:
    """Yield all objects of a campaign, those of which there are few first."""
    for instance in state.instances.values():
        yield CampaignObject(
            "instance", f"{instance.id}  {instance.state}", "overview", instance.id
        )
    for finding in state.findings.values():
        if finding.first:
            text = f"{finding_text(finding, 1)}  {finding.key}"
            yield CampaignObject("finding", text, "findings", finding.key)
    for path, row in state.sources.items():
        yield CampaignObject("file", path, "source", f"{path}:1")
        for function in row.functions:
            lines, _, name = function.partition(" ")
            key = f"{path}:{lines.partition('-')[0]}"
            yield CampaignObject("function", name, "source", key, path)
    for command in state.commands.values():
        if command.seq:
            text = f"{command_text(command.command)}  {command.by}"
            yield CampaignObject("command", text, "log", str(command.seq))
    for mutant in state.mutants.values():
        change = f"{mutant.before} → {mutant.after}"
        text = f"{mutant.id}  {place(mutant)}  {mutant.function}  {change}  {mutant.state}"
        yield CampaignObject("mutant", text, "mutants", mutant.id)
    for entry in state.entries.values():
        yield CampaignObject("entry", f"{entry.key}  {entry.op}", "corpus", entry.key)


def matching(objects: Iterable[CampaignObject], query: str) -> Iterator[CampaignObject]:
    """Yield the objects whose lines contain all words of a query, in any case.

    Those whose name has the words are first: a path has many functions.
    """
    words, others = query.casefold().split(), []
    for one in objects:
        if all(word in f"{one.kind} {one.name}".casefold() for word in words):
            yield one
        elif all(word in f"{one.kind} {one.text}".casefold() for word in words):
            others.append(one)
    yield from others


class FindScreen(CommandPalette):
    """A list of the objects that match what is typed; Enter goes to the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [LEAVES]

    def __init__(self, objects: Sequence[CampaignObject]) -> None:
        class Objects(Provider):
            """Offers the objects."""

            async def search(self, query: str) -> Hits:
                """Yield the first objects that match."""
                app = host(self.app)
                for n, one in enumerate(islice(matching(objects, query), MAX_HITS)):
                    text = Text(one.line)
                    text.truncate(max(0, self.app.size.width - MARGIN), overflow="ellipsis")
                    go = partial(app.go_to_row, one.screen, one.key)
                    yield Hit(1 - n / (2 * MAX_HITS), text, go, one.line)

        super().__init__(
            [Objects], placeholder="Words of a finding, function, mutant, entry, instance, command"
        )
