"""In a terminal without UTF-8 everything is drawn in ASCII, with the same layout."""

import pytest
from aimed import aimed
from fakes import running
from fleet import fleet
from hypothesis import given
from hypothesis import strategies as st
from mixed import mixed
from mutated import mutated
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from turnlog import midway, on_target

from fuzztui.kernel.base.terminals import wants_ascii
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.ascii import AsciiFilter, replacement


@given(st.characters(min_codepoint=0x80))
def test_a_replacement_is_ascii_of_the_same_width(ch):
    out = replacement(ch)
    assert out.isascii()
    assert len(out) == cell_len(ch)


@pytest.mark.parametrize("glyphs", ["●✓✗▲≠‖", "░▒▓█╱≡×", "━─│", "⣿⣀⠉", "▁▄▇█", "▸●", "▲▼"])
def test_glyphs_that_stand_side_by_side_stay_different(glyphs):
    assert len({replacement(ch) for ch in glyphs}) == len(glyphs)


@pytest.mark.parametrize(
    ("environment", "ascii"),
    [
        ({}, False),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "en_US.utf8", "LC_CTYPE": ""}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "de_DE.UTF-8", "TERM": "linux"}, True),
        ({"LANG": "C", "FUZZTUI_ASCII": "0"}, False),
        ({"LANG": "de_DE.UTF-8", "FUZZTUI_ASCII": "1"}, True),
    ],
)
def test_the_locale_decides_unless_the_user_does(environment, ascii):
    assert wants_ascii(environment) is ascii


CAMPAIGNS = {
    "zest": (running, "12345"),
    "mu2": (mutated, "124"),
    "text": (mixed, "16"),
    "spoton": (aimed, "17"),
    "fleet": (lambda: fleet(50), "15"),
    "watched": (lambda: fleet(3, watched=True), "1"),
    "mutants first": (midway, "14"),
    "target": (on_target, "1"),
}


@pytest.mark.parametrize("glyph", "█▓▒░▲▼")
def test_a_fill_or_a_sort_mark_is_not_part_of_a_number(glyph):
    assert replacement(glyph) not in "%!-0123456789"


@pytest.mark.slow
async def test_a_scrollbar_is_no_text_beside_the_rows(drive, monkeypatch):
    monkeypatch.setenv("FUZZTUI_ASCII", "1")
    async with drive(mutated(), size=(80, 24), press=["4", *"j" * 17]) as d:
        bar = d.table.vertical_scrollbar.region
        assert bar.height > 1
        lines = d.lines()
        assert {lines[y][bar.x : bar.x + 1].strip() for y in range(bar.y, bar.bottom)} == {""}


def foreign(d):
    return {ch for line in d.lines() for ch in line if not ch.isascii()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
@pytest.mark.parametrize("size", [(120, 40), (220, 60)], ids=str)
async def test_every_drawn_character_is_ascii(drive, monkeypatch, name, size):
    campaign, screens = CAMPAIGNS[name]
    monkeypatch.setenv("FUZZTUI_ASCII", "1")
    async with drive(campaign().add(ev.Message("warning", "von ‘außen’: 漢字 ✗")), size=size) as d:
        for key in screens:
            await d.press(key)
            await d.until(lambda: "RUNNING" in d.text() or "STOPP" in d.text())
            assert not foreign(d), key
            for keys in (["tab"], ["question_mark"], ["escape"], ["ctrl+p"], ["escape"], ["slash"]):
                await d.press(*keys)
                assert not foreign(d), (key, keys)
            await d.press("escape")
        d.app.notify("ein Hinweis …", title="→")
        await d.press("x")  # a dialog with a border, or a notice why not
        assert not foreign(d)


@pytest.mark.slow
async def test_the_layout_is_the_same(drive, monkeypatch):
    texts = []
    for choice in "01":
        monkeypatch.setenv("FUZZTUI_ASCII", choice)
        async with drive(mutated()) as d:
            await d.still()
            texts.append(d.lines())
    before, after = texts
    assert ["".join(map(replacement, line)).rstrip() for line in before] == after


def test_a_lower_bound_is_one_in_ascii():
    lines = [Segment(" ≥83.8% "), Segment("≥1,024"), Segment("a ≥ b")]
    shown = [segment.text for segment in AsciiFilter().apply(lines, Color(0, 0, 0))]
    assert shown == [" 83.8%+ ", "1,024+", "a > b"]
