"""Handing over, against a model: whatever interrupts it, the same files are there in the end."""

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.features.fuzzfirst import json_lines, prune
from fuzztui.features.fuzzfirst.prune import Input, gather, gather_seeds, lay_out
from fuzztui.features.fuzzfirst.showmap import InputResult
from fuzztui.features.fuzzfirst.transfer import Transfer
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.observe.afl_names import parse_name

OUTCOMES = {"ok": "queue", "crash": "crashes", "hang": "hangs"}


class Killed(BaseException):
    """The supervisor is no more."""


class FakeBatch:
    """Knows what comes of an input by its content; ``left`` runs are left to it."""

    def __init__(self, outcomes: Sequence[InputResult]) -> None:
        self.outcomes = outcomes
        self.left = 1 << 30

    async def run(self, inputs, progress=lambda _: None):
        self.left -= 1
        if self.left < 0:
            raise Killed
        return [self.outcomes[int(path.read_text())] for path in inputs]


verdicts = st.builds(
    InputResult,
    st.sampled_from(["ok", "ok", "crash", "hang", "unfit"]),
    st.frozensets(st.integers(0, 30), min_size=1, max_size=5),
)
inputs_of = st.lists(st.integers(0, 9), max_size=12)


def model(outcomes, seeds, takes):
    """The content of each directory, in order."""
    kept = {part: [] for part in OUTCOMES.values()}
    seen = {outcome: set() for outcome in OUTCOMES}
    known = set()

    def covers(verdict):
        return set(verdict.trace) if verdict.outcome == "ok" else {t >> 3 for t in verdict.trace}

    for number in seeds:
        if (verdict := outcomes[number]).outcome in OUTCOMES:
            seen[verdict.outcome] |= covers(verdict)
            known.add(number)
    for numbers in takes:
        for number in numbers:
            verdict = outcomes[number]
            if number not in known and verdict.outcome in OUTCOMES:
                known.add(number)
                if covers(verdict) - seen[verdict.outcome]:
                    kept[OUTCOMES[verdict.outcome]].append(str(number))
                    seen[verdict.outcome] |= covers(verdict)
    return kept


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(
    st.lists(verdicts, min_size=10, max_size=10),
    inputs_of,
    st.lists(
        st.tuples(inputs_of, st.one_of(st.none(), st.integers(0, 4)), st.booleans()), max_size=5
    ),
)
def test_whatever_interrupts_it_the_same_is_handed_over(outcomes, seeds, takes):
    """``takes``: inputs, after how many runs or appends it is killed, and which of the two."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "out").mkdir()
        files = []
        for number in range(10):
            (home / str(number)).write_text(str(number))
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            files.append(Input(home / str(number), f"m1/{number}", digest))

        def started():
            batch = FakeBatch(outcomes)
            handover = Transfer(home / "out", batch)
            asyncio.run(handover.start([files[n] for n in seeds]))
            return handover, batch

        append = json_lines.JsonLines.append
        with patch.object(prune, "CHUNK", 3):
            handover, batch = started()
            for numbers, after, at_append in takes:
                wanted = [files[n] for n in numbers]
                if after is not None and at_append:
                    left = [after]

                    def torn(self, rows, left=left):
                        left[0] -= 1
                        if left[0] < 0:
                            raise SupervisorError("the disk is full")
                        append(self, rows)

                    killed = False
                    with patch.object(json_lines.JsonLines, "append", torn):
                        try:
                            asyncio.run(handover.take(wanted))
                        except SupervisorError:
                            killed = True
                    if killed:
                        handover, batch = started()
                elif after is not None:
                    batch.left = after
                    try:
                        asyncio.run(handover.take(wanted))
                    except Killed:
                        handover, batch = started()
                    batch.left = 1 << 30
                asyncio.run(handover.take(wanted))
                asked = {files[n].digest for n in numbers}
                verdicts_of = {d: v for d, v in handover.verdicts.items() if d in asked}
                assert verdicts_of == {
                    files[n].digest: outcomes[n].outcome
                    for n in numbers
                    if outcomes[n].outcome in OUTCOMES
                }
        for part, contents in model(outcomes, seeds, [take[0] for take in takes]).items():
            found = sorted((home / "out" / "handed" / part).iterdir())
            assert [file.read_text() for file in found] == contents
            assert [parse_name(file.name).id for file in found] == list(range(len(found)))
            for file in found:
                parsed = parse_name(file.name)
                assert (parsed.sync, parsed.src) == ("m1", (int(file.read_text()),))


@settings(max_examples=examples(150))
@given(st.lists(verdicts, min_size=1, max_size=10))
def test_nothing_but_crashes_and_hangs_is_pruned(outcomes):
    with tempfile.TemporaryDirectory() as name:
        corpus = []
        for number in range(len(outcomes)):
            (Path(name) / str(number)).write_text(str(number))
            corpus.append(Input(Path(name) / str(number), f"m1/{number}", str(number)))
        with patch.object(prune, "CHUNK", 3):
            pruned = asyncio.run(prune.prune(FakeBatch(outcomes), corpus))
        told = [verdict.outcome for verdict in outcomes]
        assert pruned.kept == [one for one, o in zip(corpus, told, strict=True) if o == "ok"]
        assert pruned.aside == [
            (one, o) for one, o in zip(corpus, told, strict=True) if o in ("crash", "hang")
        ]


names = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=40
)
origins = st.one_of(
    st.builds("{}/{}".format, st.sampled_from(["m1", "m12", "m12-s3"]), st.integers(0, 10**9)),
    st.builds("m3/crashes/{}".format, st.integers(0, 10**9)),
    st.builds("seed:{}".format, names),
)


@settings(max_examples=examples(150))
@given(st.lists(origins, unique=True, max_size=8))
def test_an_origin_comes_back_from_the_name_of_a_seed(given_origins):
    """Through lay_out, afl-fuzz's ``orig:`` and a resume of it."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        inputs = []
        for number, origin in enumerate(given_origins):
            (home / f"{number}").write_text(str(number))
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            inputs.append(Input(home / f"{number}", origin, digest))
        assert lay_out(inputs, home / "seeds") == len(inputs)
        queue = home / "out" / "m9" / "queue"
        queue.mkdir(parents=True)
        for number, file in enumerate(sorted((home / "seeds").iterdir())):
            again = f"id:{number:06},time:0,execs:0," * (1 + number % 2)
            text = again.replace("0,id:", "0,orig:id:") + f"orig:{file.name}"
            (queue / text).write_text(file.read_text())
        for found in (gather_seeds(home / "seeds"), gather(home / "out", ["m9"])):
            back = {one.digest: one.origin for one in found}
            for one in inputs:
                if one.origin.startswith("seed:"):
                    assert back[one.digest].startswith("seed:")
                else:
                    assert back[one.digest] == one.origin
