"""Fuzz-first campaigns with zest: transfer, kills, what cannot start, and interruptions."""

import json
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest
from first_lab import FuzzFirst
from homes import write_seeds
from waiting import DEADLINE_S

from fuzztui.cli.output import FINDINGS
from fuzztui.features.fuzzfirst.fold import mutant_behind
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.wire.commands import SkipMutants
from fuzztui.kernel.wire.events import EntriesSeeded, FindingDescribed, Message

pytestmark = pytest.mark.slow

DOOR = '''\
"""Lets in what has the right sum."""


class DoorError(Exception):
    """Not let in."""


def opened(data: bytes) -> bytes:
    """What is behind the first byte, which is the sum of the rest."""
    total = 0
    for number in data[1:]:
        total = total * 31 + number & 255
    if len(data) < 5 or data[0] != total:
        raise DoorError
    return data[1:]
'''
ROOMS = '''\
"""Behind the door."""

from rooms.door import opened


def enter(data: bytes) -> int:
    """Conditions, one in the other."""
    data = opened(data)
    steps = 0
    if data[0] > 100:
        steps += 1
        if data[1] < 50:
            steps += 1
            if data[2] == data[3]:
                steps += 1
                if data[1] > 40:
                    raise KeyError("found")
    return steps
'''


class First(FuzzFirst):
    """A campaign that fuzzes mutants of :data:`DOOR` first."""

    target = """
function = "rooms.inside:enter"
include = ["rooms"]
expected = ["rooms.door.DoorError", "IndexError"]
timeout = "200ms"
"""
    engine = 'seeds = ["seeds"]'
    more = '[mutants]\nsources = ["rooms.door:13-17"]\nlisted = 60'

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "zest")
        package = directory / "rooms"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "door.py").write_text(DOOR)
        (package / "inside.py").write_text(ROOMS)
        write_seeds(directory, hello="hello you")

    def begin(self, *overrides: str, budget: str = "1m", per_mutant: str = "3s") -> None:
        budgets = (f"campaign.budget={budget}", f"mutants.per_mutant={per_mutant}")
        self.start(*budgets, *overrides)

    def queue(self, slot: str) -> list[bytes]:
        """What a turn has found, in that order."""
        place = self.run / "mutants" / "slots" / slot / "out" / slot / "queue"
        return [file.read_bytes() for file in sorted(place.iterdir())]


@pytest.fixture
def first(tmp_path):
    with First(tmp_path) as first:
        yield first


def test_mutants_first_and_then_the_target(first):
    first.begin(budget="40000 trials", per_mutant="4000 trials")  # as much on a busy machine
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target"), first.stderr()
    turns = first.stages("done")
    assert len(turns) >= 2
    assert not [e for e in first.events(Message) if e.level == "error"]
    # Mutants that let in what the program does not, and what that says of them.
    killed = [m for m in state.mutants.values() if m.state == "killed"]
    matrix = (first.run / "mutants" / "kills.jsonl").read_text().splitlines()
    assert killed and {json.loads(row)["mutant"] for row in matrix} == {m.id for m in killed}
    assert all(m.oracle in ("crash", "hang") for m in killed)
    # What they found is in the target's corpus, and it is known thanks to whom.
    handed = [e for e in state.entries.values() if e.instance == MUTANT_INPUTS]
    assert handed
    behind = {mutant_behind(state, entry) for entry in handed}
    assert behind - {""} and behind <= {"", *turns}  # "": a seed, made smaller
    imported = [
        e for e in state.entries.values() if e.sync == MUTANT_INPUTS and e.instance == "main"
    ]
    assert imported
    path = lineage(state, imported[-1])
    assert path[0].key.startswith(f"{MUTANT_INPUTS}/") and len(path) > 1
    assert not (first.run / "mutants" / "built").exists()
    # Each started from what the last one had, under names that tell.
    seeded = [e for e in first.events(EntriesSeeded) if e.instance == "m2"]
    assert any(origin.startswith("m1/") for e in seeded for origin in e.origins.values())


SEALED = '''\
"""Parts after a checksum of all of them."""

from zlib import crc32


class SealError(Exception):
    """A wrong checksum."""


def parts(data: bytes) -> int:
    """Count the parts of each kind."""
    if int.from_bytes(data[:4], "big") != crc32(data[4:]):
        raise SealError
    kinds = set()
    for at in range(4, len(data) - 1, 2):
        if data[at] == 1:
            kinds.add("one")
            if data[at + 1] > 100:
                kinds.add("large")
        elif data[at] == 2:
            kinds.add("two")
            if "one" in kinds:
                kinds.add("both")
    return len(kinds)
'''


def test_what_lacks_a_right_checksum_only_gets_it(first):
    first.target = """
function = "rooms.sealed:parts"
include = ["rooms.sealed"]
expected = ["rooms.sealed.SealError"]
timeout = "5s"
"""
    (first.directory / "rooms" / "sealed.py").write_text(SEALED)
    body = bytes([9, 9, 9, 9])
    (first.directory / "seeds" / "hello").write_bytes(crc32(body).to_bytes(4, "big") + body)
    first.more = '[mutants]\nsources = ["rooms.sealed"]\norder = "roadblocks"'
    first.begin(budget="16000 trials", per_mutant="2000 trials")
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target"), first.stderr()
    near = [*(first.run / "out" / ".near" / "queue").iterdir()]
    assert near and not any(sealed(file.read_bytes()) for file in near)
    made = [e for e in state.entries.values() if e.instance == "main" and e.op == "compare"]
    assert len(made) >= 3  # each covers something behind the checksum that no seed does
    assert all(sealed((first.run / "out" / "main" / e.file).read_bytes()) for e in made)


def sealed(data: bytes) -> bool:
    return int.from_bytes(data[:4], "big") == crc32(data[4:])


@pytest.mark.nightly
def test_the_same_seed_gives_the_same_queues(first, tmp_path):
    (tmp_path / "other").mkdir()
    other = First(tmp_path / "other")
    try:
        queues = []
        for campaign in (first, other):
            # A trial that the machine holds up for a moment is no hang.
            limit = 'target.timeout="30s"'
            campaign.begin(limit, budget="12000 trials", per_mutant="2000 trials")
            state = campaign.over()
            assert state.state == "finished", campaign.stderr()
            slots = [state.mutants[key].slot for key in campaign.stages("done")]
            assert slots == ["m1", "m2", "m3"]
            queues.append([campaign.queue(slot) for slot in slots])
            assert state.instances["m1"].stats.execs == 2000
            assert sum(i.stats.execs for i in state.instances.values()) == 12000
        assert queues[0] == queues[1]
        ours, theirs = ((c.run / "mutants" / "kills.jsonl").read_text() for c in (first, other))
        assert ours == theirs
    finally:
        other.clean_up()


@pytest.mark.parametrize("engines", ["live", pytest.param("die", marks=pytest.mark.nightly)])
def test_a_supervisor_killed_in_a_turn_goes_on_with_it(first, engines):
    first.begin(budget="8m", per_mutant="6s")
    first.killed_in_a_turn(engines)
    # Until some turn has found what is new to the target.
    first.until(lambda s: any(e.instance == MUTANT_INPUTS for e in s.entries.values()))
    first.until(lambda s: "listed" in s.plan)
    assert first.send(SkipMutants("file=*")).ok
    first.until(lambda s: s.stage == "target" and s.instances["main"].stats.execs)
    first.stop()
    assert first.handed()


def test_the_use_of_mutants_is_switched(first):
    first.begin("engine.instances=2", budget="40m", per_mutant="4m")
    first.switch_use()


def test_without_seeds_and_with_a_generator(first):
    (first.directory / "rooms" / "make.py").write_text(
        "def generate(source):\n    return bytes(source.integer(0, 255) for _ in range(7))\n"
    )
    first.begin(
        'target.generator="rooms.make:generate"',
        "engine.seeds=[]",
        budget="6000 trials",
        per_mutant="1500 trials",
    )
    state = first.over()
    assert (state.state, state.stage) == ("finished", "target"), first.stderr()
    assert len(first.stages("done")) == 2
    assert not first.stages("refused")


@pytest.mark.nightly
def test_what_was_handed_over_and_crashes_is_described(first):
    # Both let in: the crash that a mutant's fuzzing comes to is the program's too.
    (first.directory / "rooms" / "door.py").write_text(DOOR.replace("raise DoorError", "pass"))
    first.begin(budget="40000 trials", per_mutant="4000 trials")
    state = first.over()
    assert state.state == "finished", first.stderr()
    told = [e for e in first.events(FindingDescribed) if e.instance == MUTANT_INPUTS]
    assert any(e.signature.startswith("KeyError @ inside.py") and e.detail for e in told)
    findings = [f for f in state.findings.values() if f.instance == MUTANT_INPUTS]
    assert findings and all(f.signature for f in findings)
    file = f"{MUTANT_INPUTS}/{told[0].file}"
    words = [sys.executable, "-m", "fuzztui", "repro", str(first.run), file]
    again = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert told[0].title in again.stdout, again
    assert again.returncode == FINDINGS


def test_what_cannot_be_mutated_is_said_before_anything_is_fuzzed(first):
    first.begin('mutants.sources=["rooms.cellar"]')
    state = first.over()
    assert state.state == "failed" and "there is no module rooms.cellar" in state.reason
    assert not (first.run / "mutants" / "slots").exists()
