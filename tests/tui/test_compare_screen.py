"""Two runs side by side on a screen."""

from dataclasses import replace

import pytest

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.report.compare_screen import CompareApp, CompareHeader, _curves, pane_lines
from fuzztui.tools.report.compared import ComparedRun, RunComparison
from fuzztui.tui.base.chart import Chart
from fuzztui.tui.base.pane import DetailPane

pytestmark = pytest.mark.slow

HOSTILE = "[/x]\x1b[31m\u202e"


def run(
    name: str, edges: int, killed: tuple[str, ...], *finds: str, mutants: int = 4
) -> ComparedRun:
    items = [
        {"id": f"m{n}", "line": n, "function": "f", "operator": "math", "before": f"a{n}",
         "after": "b"}
        for n in range(mutants)
    ]  # fmt: skip
    timed = [
        (0, ev.CampaignStarted(name, "mu2", "lib:f", 7, 60.0, wall=1e9, version="9")),
        (1, ev.MutantsFound("main", "lib", "lib.py", "/lib.py", items)),
        (2, ev.Stats("main", 1000, 50.0, 1, edges=edges // 2, edges_total=99)),
        *((3, ev.MutantState("main", m, "killed", "main/1", "value")) for m in killed),
    ]
    for n, find in enumerate(finds):
        timed += [
            (4, ev.FindingSaved("main", "crash", f"crashes/id:{n}")),
            (4, ev.FindingDescribed("main", "crash", f"crashes/id:{n}", find, find + HOSTILE)),
        ]
    timed.append((9, ev.Stats("main", 5000, 50.0, 1, edges=edges, edges_total=99)))
    state = State()
    apply(state, [ev.Record(n, t, event) for n, (t, event) in enumerate(timed, 1)])
    return ComparedRun(name, name, state, group=name == "two", end_s=9.0)


@pytest.fixture
def of() -> RunComparison:
    one, two = run("one", 30, ("m0", "m1"), "KeyError"), run("two", 20, ("m1", "m2", "m3"))
    return RunComparison(9.0, [one, two])


def text_of(app: CompareApp, side: int) -> str:
    lines = app.query_one(f"#run{side}", DetailPane).lines
    return "\n".join("".join(span.text for span in line) for line in lines)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_each_pane_has_what_only_its_run_has(
    of: RunComparison, size: tuple[int, int]
) -> None:
    app = CompareApp(of)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        one, two = text_of(app, 0), text_of(app, 1)
        assert "KeyError" in one and "KeyError" not in two
        assert "a0 -> b" in one and "a0 -> b" not in two
        assert "a2 -> b" in two and "a3 -> b" in two and "a1 -> b" not in one + two
        assert "30" in one and "20" in two
        assert "\x1b" not in one and "\u202e" not in one
        await pilot.press("q")
    assert app.return_code == 0


async def test_keys_change_the_chart_and_the_time(of: RunComparison) -> None:
    app = CompareApp(of)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        chart = app.query_one(Chart)
        seen = []
        for _ in range(6):
            seen.append(chart._graph.title)
            await pilot.press("v")
        assert seen[0] == "Edges" and len(set(seen)) == 5 and seen[5] == seen[0]
        await pilot.press("left", "left")
        assert 0 < chart._view.cursor < of.at_s
        focused = app.focused
        await pilot.press("tab")
        assert app.focused is not focused


def test_what_cannot_be_compared_is_no_curve(of: RunComparison) -> None:
    of.runs[1].state.engine = "afl"
    again = RunComparison(of.at_s, of.runs)
    app = CompareApp(again)
    assert "edges" not in [name for name, _ in app._charts]
    assert pane_lines(again, 0, [], [])


def test_the_header_has_no_common_time_for_runs_at_their_ends(of: RunComparison) -> None:
    def header(shown: RunComparison) -> str:
        return "".join(span.text for line in CompareHeader(shown).paint(80, 1) for span in line)

    assert "0:09" in header(of) and "0:09" not in header(replace(of, at_ends=True))


def test_the_curve_of_kills_ends_at_the_figure() -> None:
    """Both count the mutants that the runs have in common."""
    of = RunComparison(
        9.0, [run("one", 30, ("m0", "m1")), run("two", 20, ("m1", "m4", "m5"), mutants=6)]
    )
    ends = [curve.values[-1] for curve in _curves(of, "killed")]
    assert ends == [of.figure(r, "killed") for r in of.runs] == [2, 1]


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c", "ctrl+q"])
async def test_keys_that_leave(of: RunComparison, key: str) -> None:
    app = CompareApp(of)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert app._exit
