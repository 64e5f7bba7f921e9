"""The source in a report: what stands beside and below its lines."""

import pytest
from strict_html import StrictPage

from fuzztui.features.source.annotated import SourceText, annotated_files
from fuzztui.kernel.base.page import Folded, Gutter, Page, SourceLines, Table
from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.tools.report.html import html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.source import MAX_LINES, ReportedSource, source_json, source_section

HOSTILE = "</span></pre><script>x</script>\x1b\ud800"
TEXT = f"def f(x):\n    if x:\n        return 1  # {HOSTILE}\n    return 2\n"


def mutant(n: int, line: int, state: str) -> Mutant:
    return Mutant(
        f"m:f:math:{n}", "m", "m.py", "/m.py", line, "f", "math", HOSTILE, "b", 0.0, state=state
    )


@pytest.fixture
def state() -> State:
    state = State()
    mutants = [mutant(0, 2, "killed"), *(mutant(n, 3, "alive") for n in range(1, 8))]
    state.mutants.update({m.id: m for m in mutants})
    frames = [{"function": "f", "file": "/m.py", "line": 4}]
    state.findings["main/1"] = Finding(
        "main/1", "main", "crash", "f", 0.0, title=HOSTILE, signature="sig", frames=frames
    )
    return state


def source(state: State, *, measured: bool = True, **more: bool) -> ReportedSource:
    known = ({1, 2, 3, 4}, {1, 2}) if measured else ()
    files = annotated_files(state, {"/m.py": SourceText("m.py", TEXT, *known)})
    return ReportedSource(files, 5 if measured else -1, **more)


def parts_of(given: ReportedSource, kind: type) -> list:
    section = source_section(given)
    assert section is not None
    found = [part for part in section.parts if isinstance(part, kind)]
    return found or [
        part
        for f in section.parts
        if isinstance(f, Folded)
        for part in f.parts
        if isinstance(part, kind)
    ]


def test_each_line_has_its_gutter_and_what_is_there(state: State) -> None:
    (listing,) = parts_of(source(state), SourceLines)
    hit, miss, reached = Gutter.COVERED, Gutter.MISSED, Gutter.REACHED
    assert [line.gutter for line in listing.lines] == [hit, hit, miss, reached]
    assert [(line.killed, line.survivors) for line in listing.lines] == [
        (0, 0),
        (1, 0),
        (0, 7),
        (0, 0),
    ]
    assert [line.is_finding for line in listing.lines] == [False, False, False, True]
    assert len(listing.lines[2].notes) == 5, "four mutants, and how many more"
    assert len(listing.lines[3].notes) == 1


def test_a_line_that_only_a_finding_has_reached_is_missed(state: State) -> None:
    given = source(state)
    (file,) = given.files
    assert (file.covered, file.statements) == (2, 4)
    rows = source_json(given)["m.py"]
    assert (rows["missed_lines"], rows["reached_by_finding_only"]) == ([3, 4], [4])
    unmeasured = source_json(source(state, measured=False))["m.py"]
    assert unmeasured["reached_by_finding_only"] == []


def test_hostile_source_stays_text(state: State) -> None:
    section = source_section(source(state))
    assert section is not None
    text = html_page(Page("t", "a", [section], "e"))
    page = StrictPage(text)
    page.check_harmless()
    assert "<script>" not in text
    assert "return 2" in page.text


def test_columns_without_a_value_are_left_out(state: State) -> None:
    (table,) = parts_of(source(state, measured=False), Table)
    assert "covered" not in table.heads
    assert "survivors" in table.heads


def test_without_room_for_lines_there_is_only_the_table(state: State) -> None:
    section = source_section(source(state, lines=False))
    assert section is not None
    assert "return 2" not in markdown_page(Page("t", "a", [section], "e"))


def test_too_many_lines_are_left_out() -> None:
    files = annotated_files(State(), {"/a.py": SourceText("a.py", "x\n" * (MAX_LINES + 1))})
    assert not parts_of(ReportedSource(files), SourceLines)


def test_as_data(state: State) -> None:
    data = source_json(source(state))["m.py"]
    assert data["missed_lines"] == [3, 4]
    assert data["mutants"] == {
        "2": {"killed": 1, "survivors": 0},
        "3": {"killed": 0, "survivors": 7},
    }
    assert data["findings"] == {"4": ["sig"]}


def test_a_run_without_files_has_no_section() -> None:
    assert source_section(None) is None
    assert source_section(ReportedSource([])) is None
