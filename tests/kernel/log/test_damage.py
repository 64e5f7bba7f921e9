"""Every command that reads a log reports its damage; no damage gives a wrong figure in silence."""

import gzip
import json
import random
import shutil

import pytest
from examples import examples
from run_logs import run_with

import fuzztui.tui
from fuzztui.cli import damage, main, parser
from fuzztui.cli.output import DAMAGED, DONE, NOT_RUNNING, USAGE
from fuzztui.kernel import session as session_module
from fuzztui.kernel.log import checkpoints as checkpoints_module
from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.checkpoints import CheckpointWriter
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, Session
from fuzztui.kernel.wire import events as ev
from fuzztui.run.home import listing

RECORDS = 240


def events():
    yield ev.CampaignStarted("c", "zest", "lib:f", 7, instances=["main"], wall=1e9)
    yield ev.CampaignState("running")
    yield ev.InstanceState("main", "running")
    yield ev.PhaseStarted("mutants")
    yield ev.MutatorStats("main", names=["havoc"], tried=[9], applied=[9], found=[1], crashes=[0])
    yield ev.TargetingStats("main", 0.5, names=["t"], distances=[1])
    yield ev.ComparisonsReported("main", {"table": "m:1"})
    rng = random.Random(1)
    for n in range(RECORDS - 7):
        yield rng.choice(
            [
                ev.Stats(
                    "main", n * 1017, rng.random() * 1000, n // 9, edges=n // 3, edges_total=99
                ),
                ev.EntrySaved("main", n, f"queue/{n}", [n // 7], "havoc", size=n),
                ev.FindingSaved("main", "crash", f"crashes/{n}"),
                ev.FindingDescribed("main", "crash", f"crashes/{n}", f"S{n % 3}", "T"),
                ev.MutantsFound("main", "m", "m.py", "/m.py", [{"id": f"m{n}", "line": n}]),
            ]
        )
    yield ev.CampaignEnded("finished")


@pytest.fixture(scope="module", params=["with checkpoints", "without"])
def whole(request, tmp_path_factory):
    """A run at rest, of five members."""
    run = tmp_path_factory.mktemp("runs") / "c"
    (run / "supervisor").mkdir(parents=True)
    (run / "log").mkdir()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(writer_module, "TAIL_RECORDS", 50)
        m.setattr(checkpoints_module, "EVERY", 60)
        m.setattr(session_module, "EVERY", 60)
        m.setattr(CheckpointWriter, "_log_size", lambda self: 1 << 40)
        writer = LogWriter(run / "log")
        session = Session(run, LiveClock())
        keeper = CheckpointKeeper(run / "log", session)
        for n, event in enumerate(events()):
            apply(session.state, [writer.append(event, n / 10)])
            writer.flush()
            keeper.keep()
        writer.close(at_rest=True)
        keeper.close()
    if request.param == "without":
        (run / "log" / CHECKPOINTS).unlink()
    (run / "supervisor" / "offsets.json").write_text(json.dumps({"seq": RECORDS, "bytes": {}}))
    return run


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "c")


def ask(capsys, *argv):
    code = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    return code, out, err


def status(capsys, run):
    """The code, the object and the messages of ``status --json``."""
    code, out, err = ask(capsys, "status", run, "--json")
    return code, json.loads(out), err


def flip_bit(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def figures(answer):
    return {
        **{name: answer[name] for name in ("execs", "corpus", "crashes", "hangs", "log_seq")},
        "findings": len(answer["findings"]),
        "edges": answer["coverage"]["covered"] or 0,
        "elapsed": answer["elapsed_s"],
    }


def flip(data, at, rng):
    data[at] ^= 1 << rng.randrange(8)


def zero(data, at, rng):
    data[at : at + 32] = bytes(len(data[at : at + 32]))


def truncate(data, at, rng):
    del data[at:]


def damages(data, count, rng):
    """``count`` places for each kind of damage, and the ends of all members."""
    for how in (flip, zero, truncate):
        for at in sorted(rng.sample(range(len(data)), count)):
            damaged = bytearray(data)
            how(damaged, at, rng)
            if damaged != data:
                yield how.__name__, at, bytes(damaged)


def check_damage(whole, run, capsys, count):
    sound = figures(status(capsys, whole)[1])
    path = run / "log" / SEALED
    data = path.read_bytes()
    cuts = [("truncate", b.offset, data[: b.offset]) for b in LogReader(run)._source.index]
    for how, at, damaged in [*damages(data, count, random.Random(3)), *cuts]:
        path.write_bytes(damaged)
        for argv in (["status", run, "--json"], ["replay", run, "--json"], ["status", run]):
            code, out, err = ask(capsys, *argv)
            assert code == DAMAGED, (how, at, argv, err)
            assert str(run) in err, (how, at, argv)
            assert "Traceback" not in err
            if out.startswith("{"):
                answer = json.loads(out)
                assert answer["problems"] and answer["at_least"], (how, at)
                seen = figures(answer)
                assert all(seen[name] <= sound[name] for name in sound), (how, at, seen)
            elif out:
                assert "at least" in out


@pytest.mark.slow
def test_no_damage_gives_a_wrong_figure_in_silence(whole, run, capsys):
    check_damage(whole, run, capsys, 12)


@pytest.mark.slow
def test_no_damage_anywhere_gives_a_wrong_figure_in_silence(whole, run, capsys):
    check_damage(whole, run, capsys, examples(400))


def test_a_sound_run_is_reported_as_sound(run, capsys):
    code, answer, err = status(capsys, run)
    assert (code, err, answer["problems"], answer["at_least"]) == (DONE, "", [], False)
    code, out, err = ask(capsys, "status", run)
    assert "at least" not in out
    assert not err


def test_an_empty_log_was_never_begun_only_if_nothing_says_otherwise(run, capsys):
    (run / "log" / SEALED).write_bytes(b"")
    code, _, err = ask(capsys, "status", run)
    assert code == DAMAGED
    assert f"{RECORDS}" in err
    (run / "supervisor" / "offsets.json").unlink()
    (run / "log" / CHECKPOINTS).unlink(missing_ok=True)
    code, _, err = ask(capsys, "status", run)
    assert code == NOT_RUNNING
    assert "never started" in err


COMMANDS = {
    "attach": ["attach", "RUN"],
    "runs": ["runs", "RUN"],
    "runs --json": ["runs", "RUN", "--json"],
    "status": ["status", "RUN"],
    "ctl": ["ctl", "RUN", "mixture", "--adaptive"],
    "mutants": ["mutants", "list", "RUN"],
    "score": ["score", "RUN"],
    "mutators": ["mutators", "RUN"],
    "types": ["types", "RUN"],
    "comparisons": ["comparisons", "RUN"],
    "events": ["events", "RUN"],
    "metrics": ["metrics", "RUN"],
    "coverage": ["coverage", "RUN"],
    "corpus why": ["corpus", "why", "RUN", "0"],
    "export": ["export", "RUN", "--pytest", "test_it.py"],
    "events of JSON": ["events", "RUN", "--json", "--follow"],
    "replay": ["replay", "RUN"],
    "report": ["report", "RUN"],
    "report --json": ["report", "RUN", "--format", "json"],
    "compare": ["compare", "RUN", "WHOLE"],
    "compare --json": ["compare", "WHOLE", "RUN", "--json"],
    "mutants show": ["mutants", "show", "RUN", "m60"],
    "mutants matrix": ["mutants", "matrix", "RUN"],
    "mutants export": ["mutants", "export", "RUN"],
    "status --json": ["status", "RUN", "--json"],
    "types --json": ["types", "RUN", "--json"],
    "replay --json": ["replay", "RUN", "--json"],
    "replay --json --at": ["replay", "RUN", "--json", "--at", "1s"],
    "sync": ["sync", "RUN", "SHARED"],
    "merge": ["merge", "RUN", "WHOLE", "-o", "SHARED"],
    "ctl aiming": ["ctl", "RUN", "ban", "t"],
    "ctl of mutants": ["ctl", "RUN", "weigh-type", "t", "3"],
}
READ_NO_LOG = {
    "watch", "mutate", "targets", "repro", "minimise", "check", "samples", "schema", "themes",
    "config", "run", "test", "hosts", "ci", "cluster", "init", "doctor", "completion", "help",
    "man", "serve", "bisect", "adopt",
}  # fmt: skip
"""``repro`` and ``minimise`` read one only for what a mutant of fuzz-first left, and ``ci`` that of
the run that it starts; ``bisect`` looks up a mutant in it. ``test`` is tried in tests/suites.
``serve`` shows what ``attach`` shows."""


def test_every_command_is_known_here():
    assert READ_NO_LOG | {name.split()[0] for name in COMMANDS} == set(parser._COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_is_silent_about_damage(whole, run, capsys, monkeypatch, name):
    def screen(run, path, *, opened, **_):
        session = opened(Session(path, LiveClock()))
        session.check()
        return DONE

    monkeypatch.setattr(fuzztui.tui, "run_app", screen)
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(run.parent / "cache"))
    paths = {"RUN": str(run), "WHOLE": str(whole), "SHARED": str(run.parent / "shared")}
    argv = [paths.get(word, word) for word in COMMANDS[name]]
    sound, _, err = ask(capsys, *argv)
    assert "damaged" not in err
    path = run / "log" / SEALED
    flip_bit(path, path.stat().st_size * 4 // 5)
    code, out, err = ask(capsys, *argv)
    assert code == (DAMAGED if sound == DONE else sound)
    assert f"{path}: bytes " in err
    assert "at least" in err
    if "--json" in argv and name != "events of JSON":
        assert json.loads(out)["problems"]


def test_a_score_of_a_damaged_log_is_of_what_is_known(tmp_path, capsys):
    rows = [{"id": f"m{n}", "line": n} for n in range(4)]
    run = run_with(
        tmp_path / "c",
        ev.CampaignStarted("c", "mu2", "lib:f", 7, instances=["main"], wall=1e9),
        ev.MutantsFound("main", "m", "m.py", "/m.py", rows),
        ev.MutantState("main", "m1", "killed"),
        ev.CampaignEnded("finished"),
    )
    assert "known" not in ask(capsys, "status", run)[1]
    path = run / "log" / SEALED
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    code, out, _ = ask(capsys, "status", run)
    assert code == DAMAGED
    (score,) = (line for line in out.splitlines() if line.startswith("score"))
    assert "known" in score


def test_what_a_repair_lost_is_remembered(run, capsys):
    sound = status(capsys, run)[1]
    path = run / "log" / SEALED
    block = LogReader(run)._source.index[2]
    flip_bit(path, block.offset + block.size // 2)
    writer = LogWriter(run / "log")
    assert len(writer.repairs) == 1
    writer.close(at_rest=True)
    whole = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    (lost,) = (r for r in whole if r["k"] == "records_lost")
    assert 101 <= lost["first"] <= lost["s"] == 150
    code, answer, err = status(capsys, run)
    assert (code, err, answer["problems"]) == (DONE, "", [])
    assert answer["at_least"]
    assert answer["lost_records"] == 151 - lost["first"]
    assert all(figures(answer)[name] <= figures(sound)[name] for name in figures(sound))
    assert "lost before the log was repaired" in ask(capsys, "status", run)[1]


def test_members_in_another_order_are_read_reported_and_put_in_order(run, capsys):
    sound = status(capsys, run)[1]
    path = run / "log" / SEALED
    data = path.read_bytes()
    blocks = LogReader(run)._source.index
    members = [data[block.offset : block.end] for block in blocks]
    path.write_bytes(b"".join([*members[::-1], data[blocks[-1].end :]]))
    code, answer, _ = status(capsys, run)
    assert (code, len(answer["problems"])) == (DAMAGED, 1)
    assert figures(answer) == figures(sound)
    LogWriter(run / "log").close(at_rest=True)
    assert path.read_bytes() == data
    code, answer, _ = status(capsys, run)
    assert (code, answer["problems"], answer["at_least"]) == (DONE, [], False)
    assert figures(answer) == figures(sound)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", bytes(5000), b"\xff\n" * 5000])
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_file_that_is_no_log_is_refused(tmp_path, capsys, name, content):
    (tmp_path / name).write_bytes(content)
    code, out, err = ask(capsys, "replay", tmp_path / name, "--json")
    assert code in (DAMAGED, NOT_RUNNING)
    assert str(tmp_path / name) in err
    assert bool(out) == (code == DAMAGED)
    if out:
        answer = json.loads(out)
        assert answer["problems"] and answer["at_least"]


def test_two_joined_logs_are_told_apart(run, capsys, tmp_path):
    lines = gzip.decompress((run / "log" / SEALED).read_bytes()).splitlines(keepends=True)
    other = json.loads(lines[0])
    other.update(s=101, t=10.0, name="other", wall=2e9)
    joined = tmp_path / "joined.jsonl"
    joined.write_bytes(b"".join([*lines[:100], json.dumps(other).encode() + b"\n", *lines[101:]]))
    code, out, err = ask(capsys, "replay", joined, "--json")
    assert code == DAMAGED
    assert "joined" in err
    assert json.loads(out)["at_least"]


@pytest.mark.parametrize("content", [None, b"", bytes(5000), b"\xff\n" * 5000])
@pytest.mark.parametrize("command", ["status", "replay"])
def test_an_object_is_printed_where_no_record_is_left(run, capsys, command, content):
    path = run / "log" / SEALED
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    code, out, _ = ask(capsys, command, run, "--json")
    answer = json.loads(out)
    assert code == DAMAGED
    assert answer["problems"] and answer["at_least"]
    assert (answer["state"], answer["execs"]) == ("empty", 0)


def campaign_run(tmp_path, *events, engine, first=False):
    """A run with a copy of its campaign file, and a log of ``events``."""
    start = ev.CampaignStarted("c", engine, "t", 7, instances=["main"], wall=1e9)
    run = run_with(tmp_path / "c", start, *events)
    (run.parent / "p.py").write_text("def target(data):\n    return len(data) + 1\n")
    (run.parent / "p.c").write_text("int main(void) { return 0; }\n")
    target = f'function = "p:target"\npath = ["{run.parent}"]\n'
    if engine == "afl":
        target = f'command = ["./p"]\nbuild = "$CC -o p $SOURCE/p.c"\nsource = "{run.parent}"\n'
    first = f'[mutants]\nsources = ["{"p.c" if engine == "afl" else "p"}"]\n' if first else ""
    (run / "campaign.toml").write_text(
        f'[campaign]\nname = "c"\nbudget = "1h"\n[target]\n{target}'
        f'[engine]\nkind = "{engine}"\n{first}'
    )
    return run


def lose_the_log(run):
    (run / "log" / SEALED).write_bytes(bytes(5000))


WITHOUT_ROWS = [["types"], ["comparisons"], ["mutators"], ["mutants", "matrix"]]


@pytest.mark.parametrize("words", WITHOUT_ROWS)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_no_reason_is_made_up_for_records_that_are_lost(tmp_path, capsys, words, more):
    run = campaign_run(tmp_path, ev.CampaignEnded("finished"), engine="zest")
    sound, _, err = ask(capsys, *words, run, *more)
    assert sound != DAMAGED
    assert "lost" not in err
    lose_the_log(run)
    code, out, err = ask(capsys, *words, run, *more)
    assert code == DAMAGED
    assert "lost" in err.splitlines()[-1]
    assert bool(out) == bool(more)
    if out.startswith("{"):
        assert json.loads(out)["problems"]


@pytest.mark.parametrize("words", WITHOUT_ROWS)
def test_records_that_were_lost_before_a_repair_are_a_reason_too(tmp_path, capsys, words):
    run = campaign_run(
        tmp_path, ev.RecordsLost(2, "damage"), ev.CampaignEnded("finished"), engine="zest"
    )
    code, _, err = ask(capsys, *words, run)
    assert code == DAMAGED
    assert "lost" in err.splitlines()[-1]


@pytest.mark.parametrize("engine", ["afl", "zest"])
@pytest.mark.parametrize("words", [["list"], ["show"]])
def test_the_queue_of_a_damaged_log_is_lost_and_not_made_up(tmp_path, capsys, engine, words):
    run = campaign_run(tmp_path, ev.PhaseStarted("mutants"), engine=engine, first=True)
    lose_the_log(run)
    code, out, err = ask(capsys, "mutants", *words, run, *(["x"] if words == ["show"] else []))
    assert (code, out) == (DAMAGED, "")
    assert "target.function" not in err
    assert "lost" in err.splitlines()[-1]


def test_what_a_campaign_is_for_is_known_without_its_log(tmp_path, capsys):
    run = campaign_run(tmp_path, engine="afl")
    lose_the_log(run)
    for argv in (["mutants", "list", run], ["score", run]):
        code, _, err = ask(capsys, *argv)
        assert code == USAGE
        assert "afl" in err.splitlines()[-1]
        assert "target.function" not in err


@pytest.mark.slow
def test_states_of_mutants_are_unknown_where_their_records_are_lost(tmp_path, capsys):
    run = campaign_run(tmp_path, engine="mu2")
    code, out, _ = ask(capsys, "mutants", "list", run)
    assert code == DONE
    assert "pending" in out
    lose_the_log(run)
    code, out, _ = ask(capsys, "mutants", "list", run)
    assert code == DAMAGED
    assert "lost" in out.splitlines()[0]
    assert "pending" not in out
    code, out, _ = ask(capsys, "mutants", "list", run, "--json")
    assert code == DAMAGED
    whole = json.loads(out)
    rows = whole["mutants"]
    assert rows and whole["problems"]
    assert {row["state"] for row in rows} == {"unknown"}
    code, out, _ = ask(capsys, "mutants", "show", run, rows[0]["id"])
    assert code == DAMAGED
    assert "lost" in out.splitlines()[0]


def test_each_problem_is_reported_once_wherever_it_stands(tmp_path, capsys):
    class Found:
        problems = ("first", "joined")
        reader = type("Reader", (), {"path": tmp_path})

    damage.forget()
    damage.watch(Found)
    damage.report()
    Found.problems = ("first", "second", "joined")
    damage.report()
    damage.report()
    err = capsys.readouterr().err
    damage.forget()
    assert [err.count(f": {word}\n") for word in ("first", "second", "joined")] == [1, 1, 1]


def test_no_average_is_shown_of_an_unknown_time(tmp_path, capsys):
    events = [
        ev.CampaignState("running"),
        ev.InstanceState("main", "running"),
        ev.Stats("main", 17_796, 1000.0, 3),
    ]
    ended = ev.CampaignEnded("finished")
    sound = campaign_run(tmp_path / "a", *events, ended, engine="zest")
    assert "/s on average" in ask(capsys, "status", sound)[1]
    run = campaign_run(tmp_path / "b", *events, ev.RecordsLost(5, "damage"), ended, engine="zest")
    out = ask(capsys, "status", run)[1]
    assert "17,796" in out
    assert "on average" not in out
    answer = status(capsys, run)[1]
    assert answer["execs_per_sec"] is None
    assert answer["instances"][0]["execs_per_sec"] is None


def test_no_screen_is_opened_on_a_log_of_which_nothing_can_be_read(run, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(fuzztui.tui, "run_app", lambda *a, **k: opened.append(a) or DONE)
    (run / "log" / SEALED).write_bytes(b"\x1f\x8bno member")
    (run / "log" / CHECKPOINTS).unlink(missing_ok=True)
    code, _, err = ask(capsys, "attach", run)
    assert (code, opened) == (DAMAGED, [])
    assert str(run / "log" / SEALED) in err
