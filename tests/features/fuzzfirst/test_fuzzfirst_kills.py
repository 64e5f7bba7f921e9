"""The kill matrix and its file; the oracle that compares outputs."""

import asyncio
import hashlib
import os

import pytest

from fuzztui.features.fuzzfirst.json_lines import JsonLines
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix, killed_by
from fuzztui.features.fuzzfirst.program_output import Outputs
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.identity import marked


def test_only_what_the_target_survives_kills():
    on_mutant = {"a": "crash", "b": "hang", "c": "ok", "d": "crash", "e": "hang", "f": "crash"}
    on_target = {"a": "ok", "b": "ok", "c": "ok", "d": "crash", "e": "crash"}
    assert killed_by(on_mutant, on_target) == {"a": "crash", "b": "hang"}


def test_a_matrix_lives_in_its_file(tmp_path):
    file = tmp_path / "mutants" / "kills.jsonl"
    matrix = KillMatrix(file)
    assert matrix.add("m#1", {"a": "crash", "b": "hang"}) == 2
    assert matrix.add("m#1", {"a": "output", "c": "output"}) == 1
    assert matrix.add("m#1", {"a": "crash"}) == 0
    assert matrix.add("m#2", {}) == 0
    assert matrix.add("m#0", {"a": "hang"}) == 1
    for again in (matrix, KillMatrix(file)):
        assert again.mutants() == ("m#1", "m#0")
        assert again.killers("m#1") == {"a": "crash", "b": "hang", "c": "output"}
        assert list(again.killers("m#1")) == ["a", "b", "c"]
        assert again.killers("m#2") == {}
    assert file.stat().st_mode & 0o077 == 0


def test_a_matrix_that_was_cut_off_anywhere_goes_on(tmp_path):
    file = tmp_path / "kills.jsonl"
    matrix = KillMatrix(file)
    matrix.add("m1", {"a": "crash"})
    first = file.stat().st_size
    matrix.add("m2", {"b": "hang"})
    whole = file.read_bytes()
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        torn = KillMatrix(file)
        assert torn.mutants() == (("m1",) * (size >= first) + ("m2",) * (size >= len(whole)))
        torn.add("m3", {"c": "crash"})
        assert KillMatrix(file).mutants() == (*torn.mutants()[:-1], "m3")


def test_rows_of_another_shape_are_passed_over(tmp_path):
    file = tmp_path / "kills.jsonl"
    file.write_text(
        '[]\n{"mutant": 1, "killers": {}}\nnonsense\n{"mutant": "m", "killers": {"a": "crash"}}\n'
    )
    assert KillMatrix(file).mutants() == ("m",)
    KillMatrix(file).add("n", {"a": "crash"})
    assert len(file.read_text().splitlines()) == 5


def test_a_file_that_is_none_is_said(tmp_path):
    os.mkfifo(tmp_path / "kills.jsonl")
    with pytest.raises(SupervisorError, match=r"kills.jsonl: .*not a regular file"):
        KillMatrix(tmp_path / "kills.jsonl")
    (tmp_path / "d").write_text("")
    ledger = JsonLines(tmp_path / "x.jsonl")
    ledger._file = tmp_path / "d" / "x.jsonl"
    with pytest.raises(SupervisorError, match="d"):
        ledger.append([{}])


PROGRAM = """\
#!/bin/sh
input=$(cat "${1:--}")
case $input in
status) exit STATUS ;;
text) echo "$0 $1 TEXT" ;;
errors) echo STATUS TEXT >&2 ;;
name) echo "$0 reads $1" ;;
flaky) echo $$ ;;
long) head -c 3000000 /dev/zero; echo TEXT ;;
loop) while :; do sleep 0.01; done ;;
once) [ TEXT = ok ] || { [ -e ONCE ] || { touch ONCE; echo odd; }; } ;;
die) [ TEXT = ok ] || kill -SEGV $$ ;;
esac
"""


@pytest.fixture
def lab(tmp_path):
    """``lab(inputs)``: those of them that tell the program ``other`` from the target."""

    def program(name, status, text):
        file = tmp_path / name
        once = str(tmp_path / "once")
        words = {"STATUS": status, "TEXT": text, "ONCE": once}
        source = PROGRAM
        for word, value in words.items():
            source = source.replace(word, value)
        file.write_text(source)
        file.chmod(0o755)
        return str(file)

    target, other = program("target", "3", "ok"), program("other", "4", "ko")

    def run(inputs, arguments=("@@",), hang_ms=10_000):
        command = [target, *arguments]
        file = tmp_path / "c.toml"
        file.write_text(
            f"[campaign]\noutput = 'run'\n[target]\ncommand = {command}\ntimeout = '0.2s'\n"
            f'env = {{ AFL_HANG_TMOUT = "{hang_ms}" }}\n[engine]\nkind = "afl"\n'
        )
        campaign = load(file).campaign
        outputs = Outputs(campaign, RunDir(campaign.output))
        corpus = []
        for data in inputs:
            file = tmp_path / f"input-{data}"
            file.write_text(data)
            corpus.append(Input(file, "m1/0", data))
        found = asyncio.run(outputs.differing([other, *arguments], corpus))
        assert marked(tmp_path / "run") == []
        return found, outputs

    run.path, run.other = tmp_path, other
    return run


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("@@",), ()], ids=["file", "stdin"])
def test_another_status_or_stdout_kills(lab, arguments):
    found, _ = lab(["status", "text", "die", "errors", "name", "else"], arguments)
    assert found == {"status": "output", "text": "output", "die": "output"}


@pytest.mark.slow
def test_what_does_not_answer_the_same_twice_kills_nothing(lab):
    assert lab(["flaky", "once"])[0] == {}
    assert lab(["loop"], hang_ms=300)[0] == {}


def test_only_the_beginning_of_an_output_counts(lab):
    assert lab(["long"])[0] == {}


def test_the_targets_answers_are_known_the_second_time(lab):
    _, outputs = lab(["text", "status"])
    again = Input(lab.path / "input-text", "m1/0", "text")
    (lab.path / "target").write_text("#!/bin/sh\nexit 77\n")
    command = [lab.other, "@@"]
    assert asyncio.run(outputs.differing(command, [again])) == {"text": "output"}
    gone = Input(lab.path / "gone", "m1/0", hashlib.sha256(b"").hexdigest())
    assert asyncio.run(outputs.differing(command, [gone])) == {}
    with pytest.raises(SupervisorError, match="no longer exists"):
        asyncio.run(outputs.differing([f"{lab.path}/no", "@@"], [again]))
