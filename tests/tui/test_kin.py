"""Parents under the numbers of now, over resumes, and how they are told."""

import random

import pytest
from fakes import Log, started

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import Changes, State
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.labels.lineage import Lineage, ParentEntry, parents_brief, parents_text


class Fuzzer:
    """An afl-fuzz that makes each input of one or two of the numbers of its time."""

    def __init__(self, log: Log, seed: int = 1) -> None:
        self.log, self.rng = log, random.Random(seed)
        self.queue: list[tuple[str, list[int]]] = []

    def find(self, src: list[int]) -> None:
        number = len(self.queue)
        op = "havoc,rep:4" if src else "orig:a.tif"
        name = f"id:{number:06d},src:{'+'.join(f'{i:06d}' for i in src)},op:{op}"
        while any(name == known for known, _ in self.queue):
            name += "x"
        self.queue.append((name, src))
        self.log.add(ev.EntrySaved("main", number, f"queue/{name}", src, op), dt=1)

    def resume(self) -> None:
        """As afl-fuzz does it: mostly in reverse."""
        self.queue.reverse()
        for number, (name, src) in enumerate(self.queue):
            first = int(name[3:9])
            file = f"queue/id:{number:06d},time:0,execs:0,orig:{name}"
            op = "havoc,rep:4" if src else "orig:a.tif"
            self.log.add(ev.EntrySaved("main", number, file, src, op, first=first), dt=0.01)


def campaign():
    log = started("w", engine="afl")
    log.add(ev.InstanceState("main", "running", 1), ev.CampaignState("running"))
    return log, Fuzzer(log)


def test_it_is_the_first_step_of_the_lineage_all_the_time():
    log, afl = campaign()
    state = State()
    kin = Lineage(lambda: state)
    for round_ in range(3):
        afl.find([])
        for _ in range(12):
            afl.find([afl.rng.randrange(len(afl.queue))])
        for part in range(2):
            if part:
                afl.resume()
            while state.seq < len(log.records):  # a few at a time: also in the middle of a resume
                kin.take(apply(state, log.records[state.seq : state.seq + 5]))
                for entry in state.entries.values():
                    steps = lineage(state, entry, 1)
                    parent = kin.parent(entry)
                    if steps:
                        assert parent is not None
                        assert parent.entry is not None
                        assert identity(parent.entry) == identity(steps[0].entry)
                    else:
                        assert parent is None or parent.entry is None
        for entry in state.entries.values():
            steps = lineage(state, entry, 1)
            assert [p.key for p in kin.line(entry, 1)] == [s.key for s in steps]
        newest = state.entries["main/0"]
        assert [p.key for p in kin.line(newest, 99)] == [s.key for s in lineage(state, newest)]
        assert len(kin.line(newest, 1)) <= 1
        assert round_ == 0 or any(kin.parent(e).then for e in state.entries.values() if e.src)
    kin.take(Changes(reset=True))
    state = State()
    assert [p.entry for p in kin.line(newest, 5)] == [None]


@pytest.mark.parametrize(
    ("src", "now", "then", "words", "brief"),
    [
        ([4], 4, False, "#4", "#4"),
        ([4, 2], 4, False, "#4 + #2", "#4 #2"),
        ([4], 4, True, "#4", "#4"),
        ([4], 7, True, "#7 (then #4)", "#7"),
        ([4, 2], 7, True, "#7 (then #4 + #2)", "#7 …"),
        ([4, 2], 4, True, "#4 (then #4 + #2)", "#4 …"),
        ([4], None, True, "(then #4)", "then #4"),
        ([4], None, False, "#4", "#4"),
    ],
)
def test_numbers_of_then_are_called_that(src, now, then, words, brief):
    log, afl = campaign()
    for _ in range(9):
        afl.find([])
    afl.find(src)
    state = log.state
    entry = None if now is None else state.entries[f"main/{now}"]
    parent = ParentEntry("" if now is None else f"main/{now}", entry, then)
    row = state.entries["main/9"]
    assert parents_text(row, parent) == words
    assert parents_brief(row, parent) == brief


@pytest.mark.slow
async def test_after_a_resume_the_corpus_speaks_of_the_numbers_of_now(drive):
    log, afl = campaign()
    afl.find([])
    afl.find([0])
    afl.find([1])
    log.add(ev.FindingSaved("main", "crash", "crashes/id:000000", 0, [2], "havoc,rep:2", 11), dt=1)
    afl.find([2])
    async with drive(log, size=(220, 40), press="2", shows="  #2") as d:
        afl.resume()  # 3, 2, 1, 0
        await d.ready()
        d.table.go_to("main/0")
        await d.until_shows("havoc,rep:4 of #1 (then #2), found as #3")
        d.assert_shows("└ main/1  havoc,rep:4 of #2 (then #1)", "main/3  seed a.tif, found as #0")
        column = [
            line.partition("▏")[0].split()[-1] for line in d.lines() if line.startswith(" main/")
        ]
        assert column[:3] == ["#1", "#2", "#3"]
        await d.press("backspace")
        assert d.table.cursor == "main/1"
        await d.press("3")
        await d.until_shows("havoc,rep:2 of #1 (then #2)")
