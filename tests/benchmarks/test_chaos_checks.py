"""The checks of ``benchmarks/chaos.py`` pass a sound run, and fail each kind of damage."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from faults import invariants, processes
from faults.fold import Fold, LogFollower, fold_run
from faults.terminal import Screen
from waiting import wait_until

QUEUE = [f"queue/id:{n:06d},src:000000,time:{n},execs:{n},op:havoc" for n in range(4)]
CRASH = "crashes/id:000000,sig:00,src:000001,time:7,execs:9,op:havoc"


def records(engine: str = "zest") -> list[dict]:
    main = {"instance": "main"}
    plain = [
        {"k": "campaign_started", "name": "c", "engine": engine, "instances": ["main"]},
        {"k": "campaign_state", "state": "running"},
        {"k": "instance_state", "state": "starting", **main},
        *({"k": "entry_saved", "id": n, "file": f, "size": 2, **main} for n, f in enumerate(QUEUE)),
        {"k": "finding_saved", "category": "crash", "file": CRASH, "size": 2, **main},
        {"k": "mutant_state", "id": "m", "state": "alive", **main},
        {"k": "mutant_state", "id": "m", "state": "killed", **main},
        {"k": "stats", "execs": 10, "corpus": 4, "crashes": 1, "edges": 5, **main},
        {"k": "stats", "execs": 20, "corpus": 4, "crashes": 1, "edges": 6, **main},
        {"k": "campaign_ended", "state": "stopped"},
    ]
    return [{"s": n, "t": n / 10, **record} for n, record in enumerate(plain, 1)]


def numbered(plain: list[dict]) -> list[dict]:
    return [{**record, "s": n} for n, record in enumerate(plain, 1)]


def write(run: Path, logged: list[dict], tail: list[dict] = ()) -> None:
    (run / "log").mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(r).encode() + b"\n" for r in logged]
    members = [gzip.compress(b"".join(lines[n : n + 4])) for n in range(0, len(lines), 4)]
    (run / "log/campaign.jsonl.gz").write_bytes(b"".join(members))
    if tail:
        name = f"tail-{tail[0]['s']:012d}.jsonl"
        (run / "log" / name).write_text("".join(json.dumps(r) + "\n" for r in tail))


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "run"
    for file in (*QUEUE, CRASH):
        (run / "out/main" / file).parent.mkdir(parents=True, exist_ok=True)
        (run / "out/main" / file).write_text("ab")
    write(run, records())
    return run


def broken(run: Path, **kwargs) -> set[str]:
    """The invariants that do not hold of a run at rest."""
    live, follower = fold_run(run)
    fold, found = invariants.check_log(run, live, follower)
    found += [*live.violations, *follower.problems, *invariants.check_disk(run, fold, **kwargs)]
    return {violation.invariant for violation in found}


def test_a_sound_run_has_no_violation(run):
    assert broken(run) == set()
    fold, _ = fold_run(run)
    assert fold.summary() == {
        "log_seq": 13, "state": "stopped", "elapsed_s": 1.3, "execs": 20, "corpus": 4,
        "crashes": 1, "hangs": 0,
    }  # fmt: skip
    assert fold.killed() == 1


@pytest.mark.parametrize("file", [QUEUE[2], CRASH])
def test_a_file_that_is_gone_is_lost(run, file):
    (run / "out/main" / file).unlink()
    assert broken(run) == {"lost"}


@pytest.mark.parametrize("file", ["queue/id:000009,src:000000,time:1,execs:1,op:havoc", "hangs/x"])
def test_a_file_that_is_not_logged_is_lost(run, file):
    (run / "out/main" / file).parent.mkdir(exist_ok=True)
    (run / "out/main" / file).touch()
    assert broken(run) == {"lost"}


@pytest.mark.parametrize(("file", "text"), [(QUEUE[1], ""), (QUEUE[1], "a"), (CRASH, "abc")])
def test_a_file_of_another_size_is_torn(run, file, text):
    (run / "out/main" / file).write_text(text)
    assert broken(run) == {"torn"}


@pytest.mark.parametrize("kind", ["entry_saved", "finding_saved"])
def test_a_find_that_is_logged_twice_is_doubled(run, kind):
    whole = records()
    again = next(r for r in whole if r["k"] == kind)
    write(run, numbered([*whole[:-1], {**again, "t": 1.25}, whole[-1]]))
    assert broken(run) == {"doubled"}


@pytest.mark.parametrize(("state", "name"), [("killed", "doubled"), ("alive", "unkilled")])
def test_a_kill_is_logged_once_and_for_good(run, state, name):
    whole = records()
    again = {"k": "mutant_state", "id": "m", "state": state, "instance": "main", "t": 1.25}
    write(run, numbered([*whole[:-1], again, whole[-1]]))
    assert broken(run) == {name}


def test_a_record_that_is_missing_is_a_gap(run):
    write(run, [r for r in records() if r["s"] != 11])
    assert "gap" in broken(run)


def test_a_record_that_is_cut_out_without_a_trace_is_lost(run):
    write(run, numbered([r for r in records() if r.get("file") != QUEUE[3]]))
    assert broken(run) == {"lost"}


def test_a_record_of_an_earlier_time(run):
    whole = records()
    whole[8]["t"] = 0.1
    write(run, whole)
    assert broken(run) == {"time"}


@pytest.mark.parametrize("name", ["execs", "edges"])
def test_a_figure_that_decreases(run, name):
    whole = records()
    whole[11][name] = 1
    write(run, whole)
    assert broken(run) == {f"back:{name}"}


def test_a_flipped_byte_is_damage(run):
    path = run / "log/campaign.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[60] ^= 4
    path.write_bytes(data)
    assert {"damaged", "zcat"} <= broken(run)


def test_a_log_that_was_read_before_must_stay_as_it_is(run):
    live, follower = fold_run(run)
    whole = records()
    whole[11]["execs"] = 21
    write(run, whole)
    _, found = invariants.check_log(run, live, follower)
    assert [v.invariant for v in found] == ["rewritten"]


def test_a_log_is_followed_over_tails_members_and_torn_ends(tmp_path):
    run, whole = tmp_path, records()
    write(run, whole[:4], tail=whole[4:8])
    follower, fold = LogFollower(run), Fold()
    tail = run / "log" / "tail-000000000005.jsonl"
    with tail.open("a") as file:
        file.write(json.dumps(whole[8])[:20])
    fold.apply(follower.poll())
    assert (follower.last, follower.problems) == (8, [])
    write(run, whole[:8])  # sealed, and not yet removed
    tail.write_text("".join(json.dumps(r) + "\n" for r in whole[4:10]))
    fold.apply(follower.poll())
    write(run, whole)
    tail.unlink()
    fold.apply(follower.poll())
    assert (follower.last, follower.problems, fold.violations) == (13, [], [])
    assert follower.digest.digest() == fold_run(run)[1].digest.digest()


def test_a_resumed_afl_fuzz_numbers_its_queue_again(run):
    whole, main = records("afl"), {"instance": "main", "t": 1.25}
    out = run / "out/main"
    (out / "crashes").rename(out / "crashes.2026-01-01")
    again = [{"k": "instance_state", "state": "starting", **main}]
    for n, old in enumerate([3, 1, 0, 2]):
        name = QUEUE[old].removeprefix("queue/")
        file = f"queue/id:{n:06d},time:0,execs:0,orig:{name}"
        (out / QUEUE[old]).rename(out / file)
        again.append({"k": "entry_saved", "id": n, "file": file, "size": 2, "first": old, **main})
    write(run, numbered([*whole[:-1], *again, whole[-1]]))
    assert broken(run) == set()
    (out / again[-1]["file"]).unlink()
    write(run, numbered([*whole[:-1], *again[:-1], whole[-1]]))
    assert broken(run) == {"lost"}
    assert broken(run, was_full=True) == {"afl-disk"}


@pytest.mark.parametrize(("size", "names"), [(0, set()), (2, {"back:corpus", "lost"})])
def test_a_resumed_afl_fuzz_leaves_out_empty_entries_and_no_others(run, size, names):
    whole, main = records("afl"), {"instance": "main", "t": 1.25}
    (run / "out/main" / QUEUE[3]).unlink()
    next(r for r in whole if r.get("file") == QUEUE[3])["size"] = size
    again = [
        {"k": "instance_state", "state": "starting", **main},
        *({"k": "entry_saved", "id": n, "file": QUEUE[n], "size": 2, **main} for n in range(3)),
        {"k": "stats", "execs": 30, "corpus": 3, "crashes": 1, "edges": 6, **main},
    ]
    write(run, numbered([*whole[:-1], *again, whole[-1]]))
    assert broken(run) == names


def test_a_mutants_turn_begins_with_entries_of_another_and_has_findings_of_its_own(run):
    whole, m1 = records(), {"instance": "m1", "t": 1.25}
    out = run / "mutants/slots/m1/out/m1"
    for file in ("queue/id:000000,time:0,execs:1,orig:m0+000003", "crashes/id:000000,sig:00"):
        (out / file).parent.mkdir(parents=True)
        (out / file).touch()
    turn = [
        {"k": "instance_hello", "mutant": "a.py#1", **m1},
        {"k": "instance_hello", "engine": "zest", **m1},
        {"k": "entries_seeded", "origins": {"0": "m0/3"}, **m1},
    ]
    write(run, numbered([*whole[:-1], *turn, whole[-1]]))
    assert broken(run) == set()
    (out / "queue/id:000001,src:000000").touch()
    assert broken(run) == {"lost"}


def test_what_is_left_behind(run, tmp_path):
    places = [tmp_path / "tmp", tmp_path / "xdg"]
    for place in places:
        place.mkdir()
    assert list(invariants.check_left(run, *places, shared=False)) == []
    (places[0] / "x").touch()
    (places[1] / "fuzztui").mkdir()
    (places[1] / "fuzztui/x.sock").touch()
    (places[1] / "ccache-tmp").touch()  # another program's
    (run / "campaign.toml.1").touch()
    (run / "supervisor").mkdir()
    (run / "supervisor/lock").write_text("123\n")
    assert len(list(invariants.check_left(run, *places, shared=False))) == 4


def test_figures_that_disagree(run):
    fold, _ = fold_run(run)
    sound = {**fold.summary(), "mutants": {"killed": 1}}

    def answers(**changes):
        def fuzztui(name, *args):
            told = {**sound, **(changes if name == "replay" else {})}
            return subprocess.CompletedProcess([], 0, json.dumps(told), "")

        return {v.invariant for v in invariants.check_commands(run, fold, fuzztui)}

    assert answers() == set()
    assert answers(execs=19) == {"disagrees"}
    assert answers(differs=1) == {"disagrees"}
    assert answers(mutants={"killed": 2}) == {"disagrees"}
    assert answers(problems=["a damaged member"]) == {"problems", "disagrees"}


def test_a_process_that_is_left_is_found_by_its_mark(tmp_path):
    env = {**os.environ, processes.MARK: str(tmp_path)}
    left = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    # Empty while the kernel loads the program.
    wait_until(Path(f"/proc/{left.pid}/environ").read_bytes)
    try:
        assert [p.pid for p in processes.find(str(tmp_path))] == [left.pid]
        processes.kill_all(str(tmp_path))
        assert left.wait() == -9
        assert processes.find(str(tmp_path)) == []
    finally:
        left.kill()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?25h\x1b[?1000;1006l\x1b[?1049l", []),
        (r"\x1b[?1049h\x1b[?25l\x1b[?1049l", ["cursor hidden"]),
        (r"\x1b[?1049h\x1b[?1003h\x1b[?2004h", ["alternate screen", "bracketed paste", "mouse"]),
        (r"\x1b[>1u", ["keyboard protocol"]),
    ],
)
def test_a_terminal_that_is_not_restored(tmp_path, text, left):
    screen = Screen([sys.executable, "-c", f"print('{text}')"], os.environ, str(tmp_path))
    try:
        assert screen.process.wait(60) == 0
        screen.drain()
        assert screen.left_behind() == left
    finally:
        screen.cut()
