"""The parts of a page in HTML, Markdown and text, with texts that a hostile target chose."""

import re

import pytest
from markdown_it import MarkdownIt
from strict_html import StrictPage

from fuzztui.kernel.base.page import (
    MAX_POINTS,
    Block,
    ChartLine,
    Code,
    Facts,
    Folded,
    Item,
    Note,
    Page,
    PageChart,
    Section,
    Table,
    moment,
    thinned,
    value_at,
)
from fuzztui.tools.report.charts import axis_number, axis_of
from fuzztui.tools.report.html import escape, html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.markdown_text import markdown_text
from fuzztui.tools.report.plain import plain_page

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=y> \ud800\x1b[31m\x00\u202e|`</pre>"
    "](http://evil) </details>\n```\n# x &lt; \\"
)


def page_of(text):
    table = Table((text, "n"), [(text, Code(text)), (Code(text), "1")], frozenset({1}), 3)
    chart = PageChart(
        text, [ChartLine(text, (0, 1, 2), (0, 5, 7)), ChartLine("", (), ())], 2.0, ((1.0, text),)
    )
    parts = [
        Note(text, is_warning=True), Note(text), Facts([(text, text), (text, Code(text))]), table,
        chart, chart, Block(text), Item(text, [Note(text)], (text,)), Folded(text, [table, chart]),
        PageChart("runs", [ChartLine("a", (0,), (1,))], 5, legend=[(text, 1)]),
    ]  # fmt: skip
    return Page(text, text, [Section(text, parts)], text)


def test_hostile_texts_stay_texts_in_html():
    text = html_page(page_of(HOSTILE))
    text.encode()
    page = StrictPage(text)
    page.check_harmless()
    assert "<script" not in text and "<img" not in text
    assert page.text.count("alert(1)") > 15
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", text)


def test_hostile_texts_stay_texts_in_markdown():
    text = markdown_page(page_of(HOSTILE))
    text.encode()
    # what is between fences is shown as it is
    fences = re.findall(r"(?ms)^(`{3,})text\n.*?^\1$\n", text)
    assert all(len(fence) > 3 for fence in fences)  # longer than the one in the text
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$\n", "", text)
    assert "<script" not in outside and "<img" not in outside
    tags = set(re.findall(r"<(/?\w+)", outside))
    assert tags == {"code", "/code", "details", "/details", "summary", "/summary", "sub", "/sub"}
    assert outside.count("<details>") == outside.count("</details>") == 1
    for line in outside.splitlines():
        if line.startswith("|") and "script" in line:
            cells = re.split(r"(?<!\\)\|", line)
            assert len(cells) in (4, 8), line
    assert not re.search(r"(?m)^# x", outside)


def test_hostile_texts_are_one_line_each_on_a_terminal():
    lines = plain_page(page_of(HOSTILE)).splitlines()
    assert all(line.isprintable() for line in lines)
    assert any("alert(1)" in line for line in lines)


def test_escape_is_for_text_and_for_attributes():
    assert escape("<a b=\"c\" d='e'>&") == "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;"
    assert escape("a\nb") == "a\\nb"
    assert escape("a\nb\ud800", lines=True) == "a\nb\\ud800"


def test_an_empty_page_is_a_page():
    empty = Page("", "", [Section("", []), Section("x", [Facts([]), Table((), [])])], "")
    StrictPage(html_page(empty)).check_harmless()
    assert markdown_page(empty)
    assert isinstance(plain_page(empty), str)


def test_a_line_has_a_bounded_number_of_points():
    times = [n / 7 for n in range(100_000)]
    points = thinned(times, times)
    assert len(points) <= MAX_POINTS
    assert points[0] == (times[0], times[0]) and points[-1] == (times[-1], times[-1])
    assert points == sorted(points)
    assert thinned([1.0, 2.0], [3, 4]) == [(1.0, 3), (2.0, 4)]
    assert len(thinned([5.0] * 1000, list(range(1000)))) <= MAX_POINTS
    chart = html_page(
        Page("", "", [Section("", [PageChart("c", [ChartLine("", times, times)], 9)])], "")
    )
    path = next(p for p in re.findall(r' d="([^"]+)"', chart) if p.startswith("M0 ") and "V" in p)
    assert path.count("V") <= MAX_POINTS
    assert len(chart) < 30_000


def test_a_chart_shows_impossible_numbers_as_nothing():
    line = ChartLine("a", (0, 1, 2, 3), (float("nan"), 2, float("inf"), -5))
    StrictPage(html_page(Page("", "", [Section("", [PageChart("c", [line], 0.0)])], "")))


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, (1, 1)), (1, (1, 1)), (3, (3, 3)), (4, (4, 4)), (5, (8, 4)), (9, (12, 4)),
        (234, (240, 4)), (401_463, (600_000, 4)), (1e9, (1e9, 4)), (float("inf"), (4, 4)),
    ],
)  # fmt: skip
def test_axes_end_at_round_numbers(most, expected):
    top, parts = axis_of(most)
    assert (top, parts) == pytest.approx(expected)


def test_numbers_beside_an_axis_are_short():
    assert [axis_number(n) for n in (0, 7, 1500, 2_500_000, 3e9)] == [
        "0",
        "7",
        "1.5k",
        "2.5M",
        "3G",
    ]


def test_moments_of_a_short_axis_have_tenths():
    assert moment(1.25, 8) == "1.2 s"
    assert moment(61, 3600) == "0:01:01"
    line = ChartLine("", (1, 3), (10, 30))
    assert [value_at(line, t) for t in (0, 1, 2.9, 3, 9)] == [0, 10, 10, 30, 30]


@pytest.mark.parametrize(
    "text", ["- a", "+\ta", "-", "--", "---", "- - -", "=", "==", "1. a", "12)", "+ ", "   a"]
)
def test_no_text_begins_a_block_of_markdown(text: str) -> None:
    kinds = [token.type for token in MarkdownIt("commonmark").parse(f"x\n\n{markdown_text(text)}")]
    assert kinds == 2 * ["paragraph_open", "inline", "paragraph_close"]
    under = MarkdownIt("commonmark").parse(f"x\n{markdown_text(text)}")
    assert [token.type for token in under] == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize("text", ["92.1%", "+70 edges", "-2.7%", "1.5M", "3.11"])
def test_a_number_stays_as_it_is_in_markdown(text: str) -> None:
    assert markdown_text(text) == text
    [_, inline, _] = MarkdownIt("commonmark").parse(text)
    assert inline.content == text
