"""Numbers of ``fuzzer_stats`` that fuzztui does not know are shown, within bounds."""

import json

from fuzztui.cli import main
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.selectors import other_text
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.afl import MAX_OTHER
from fuzztui.kernel.wire.codec import decode_record, encode_record
from fuzztui.kernel.wire.events import Record, Stats
from fuzztui.run.observe.fuzzer_stats import to_stats
from fuzztui.tools.status.status import status_dict

KNOWN = {"execs_done": "9", "corpus_count": "3", "start_time": "1700000000", "afl_banner": "x"}


def folded(event):
    record = decode_record(encode_record(Record(1, 1.0, event)))
    state = State()
    apply(state, [record])
    return state


def test_a_number_without_a_field_is_carried_to_the_status():
    values = {**KNOWN, "foo_total": "12", "hit_rate": "3.5%", "comment": "12 apples"}
    event = to_stats("main", values, 0.0)
    assert (event.execs, event.corpus) == (9, 3)
    assert event.other == {"foo_total": 12, "hit_rate": 3.5}
    state = folded(event)
    assert state.instances["main"].stats == event
    assert status_dict(state)["instances"][0]["other"] == event.other
    assert other_text(state.instances["main"]) == "foo_total 12, hit_rate 3.5"


def test_what_every_engine_reports_is_not_repeated():
    event = to_stats("main", KNOWN, 0.0)
    assert event.other == {}
    assert "other" not in status_dict(folded(event))["instances"][0]


def test_a_file_full_of_strange_keys_is_bounded():
    strange = {"\x1b[31m": "1", "a" * 41: "1", "": "1", "negative": "-1", "huge": "9" * 30}
    many = {f"key{n}": "1" for n in range(100)}
    event = to_stats("main", {**KNOWN, **strange, **many}, 0.0)
    assert list(event.other) == [f"key{n}" for n in range(MAX_OTHER)]


def test_a_log_of_anyone_is_bounded_too():
    event = Stats("a", other={"\x1b]0;x\x07": 1, "text": "x", "yes": True, "ok": 2, "k" * 41: 3})
    assert folded(event).instances["a"].stats.other == {"ok": 2}
    many = Stats("a", other={f"key{n}": n for n in range(1000)})
    assert len(folded(many).instances["a"].stats.other) == MAX_OTHER


def test_status_shows_them(tmp_path, capsys):
    (tmp_path / "supervisor").mkdir()
    (tmp_path / "log").mkdir()
    event = to_stats("main", {**KNOWN, "foo_total": "1234"}, 0.0)
    (tmp_path / "log" / "tail-000000000001.jsonl").write_text(
        encode_record(Record(1, 1.0, event)) + "\n"
    )
    main(["status", str(tmp_path)])
    assert "foo_total 1,234" in capsys.readouterr().out
    main(["status", str(tmp_path), "--json"])
    assert json.loads(capsys.readouterr().out)["instances"][0]["other"] == {"foo_total": 1234}
