"""Statistics of an engine are reported when something changes."""

from fuzztui.run.observe import stats_reader
from fuzztui.run.observe.stats_reader import FileStats


def test_a_figure_that_fuzztui_does_not_know_causes_no_report_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(stats_reader, "EVERY_S", 0.0)
    file = tmp_path / "fuzzer_stats"
    stats = FileStats(tmp_path, "main")

    def look(execs, clock, *, last=False):
        file.write_text(f"execs_done : {execs}\nown_clock : {clock}\n" + " " * clock + ":\n")
        return stats.look(last=last)

    assert look(5, 1).other == {"own_clock": 1}
    assert look(5, 2) is None
    assert look(6, 3).other == {"own_clock": 3}
    assert look(6, 4, last=True).other == {"own_clock": 4}
