"""The short form of an update gives the same screen as Textual's own, in fewer bytes."""

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from fuzztui.tui.base.pen import Pen
from fuzztui.tui.base.themed import LeanUpdate, lean

CONSOLE = Console(color_system="truecolor", force_terminal=True)
STYLES = [
    None,
    Style(),
    Style(color="#ff0000", bgcolor="#000010"),
    Style(color="#00ff00", bgcolor="#000010", bold=True),
    Style(color="#00ff00", bgcolor="#222222"),
    Style(bgcolor="#222222", underline=True),
    Style(reverse=True),
    Style(color="#00ff00", bgcolor="#000010", bold=True, italic=True),
    Style(color="#00ff00", bgcolor="#000010", dim=True),
    Style(color="default", bgcolor="#000010", strike=True, overline=True),
    Style(color="#00ff00", link="https://example.org"),
]
segments = st.lists(
    st.tuples(st.text("ab  ", min_size=1, max_size=5), st.sampled_from(STYLES)).map(
        lambda pair: Segment(*pair)
    ),
    min_size=1,
    max_size=6,
)
WIDTH, HEIGHT = 40, 4

_TOKEN = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b\]8;[^\\]*\x1b\\|(\n)|(.)", re.S)


def encode(strip):
    pen = Pen(ColorSystem.TRUECOLOR)
    pen.write(strip)
    return pen.end()


def screen(data):
    """A terminal of few talents: what each cell shows after ``data``."""
    grid = {}
    x = y = 0
    style = {}
    for row, column, sgr, newline, ch in _TOKEN.findall(data):
        if row:
            y, x = int(row) - 1, int(column) - 1
        elif newline:
            y += 1
        elif ch:
            grid[x, y] = (ch, look(ch, style))
            x += 1
        elif sgr is not None and "m" not in sgr:
            style = select(sgr, style)
    return grid


OFF = {22: (1, 2), 23: (3,), 24: (4, 21), 27: (7,), 29: (9,), 39: (38,), 49: (48,)}
"""What codes switch off."""


def select(sgr, style):
    style = dict(style)
    codes = [int(c or 0) for c in sgr.split(";")] if sgr else [0]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in OFF:
            style = {k: v for k, v in style.items() if k not in OFF[code]}
        elif code in (38, 48):
            style[code] = tuple(codes[:4])
            codes = codes[4:]
        else:
            style[code] = True
    return style


def look(ch, style):
    """A blank shows its background, and lines through it, but no ink."""
    if ch == " " and not style.keys() & {4, 7, 9}:
        return {k: v for k, v in style.items() if k == 48}
    return style


@given(segments)
def test_encoding_shows_the_same(line):
    strip = Strip(line)
    mine, theirs = encode(strip), strip.render(CONSOLE)
    assert screen(mine) == screen(theirs)
    assert len(mine) <= len(theirs)


@given(segments)
def test_encoding_leaves_no_style_behind(line):
    data = encode(Strip(line)) + "x"
    last = max(screen(data).items(), key=lambda item: item[0])
    assert last[1] == ("x", {})


@given(st.lists(segments, min_size=HEIGHT, max_size=HEIGHT), st.data())
def test_partial_updates_show_the_same_within_their_spans(lines, data):
    base = Style(bgcolor="#101010")
    cut = data.draw(st.integers(1, WIDTH - 1))
    strips = [Strip(line).adjust_cell_length(WIDTH, base) for line in lines]
    chops = [{0: s.crop(0, cut), cut: s.crop(cut, WIDTH)} for s in strips]
    ends = [[cut, WIDTH]] * HEIGHT
    spans = []
    for y in range(HEIGHT):
        x1 = data.draw(st.integers(0, WIDTH - 1))
        spans.append((y, x1, data.draw(st.integers(x1 + 1, WIDTH))))
    update = ChopsUpdate(chops, spans, ends)
    mine, theirs = (
        screen(LeanUpdate(update).render_segments(CONSOLE)),
        screen(update.render_segments(CONSOLE)),
    )
    inside = {(x, y) for y, x1, x2 in spans for x in range(x1, x2)}
    assert mine.keys() == inside
    assert {k: v for k, v in theirs.items() if k in inside} == mine


@given(st.lists(segments, min_size=2, max_size=2))
def test_full_updates_show_the_same(lines):
    strips = [[Strip(line).adjust_cell_length(WIDTH)] for line in lines]
    update = LayoutUpdate(strips, Region(0, 1, WIDTH, 2))
    # Textual moves for every line; the newline in between changes nothing.
    assert screen(LeanUpdate(update).render_segments(CONSOLE)) == screen(
        update.render_segments(CONSOLE)
    )


def test_what_is_not_known_is_left_alone():
    other = object()
    assert lean(other) is other
    assert lean(None) is None


@given(st.lists(segments, min_size=1, max_size=4))
def test_pieces_of_one_update_go_on_in_the_style_before(lines):
    pen = Pen(ColorSystem.TRUECOLOR)
    alone = 0
    for y, line in enumerate(lines):
        pen.move(0, y)
        pen.write(Strip(line))
        alone += len(f"\x1b[{y + 1};1H") + len(encode(Strip(line)))
    together = pen.end()
    shown = "".join(f"\x1b[{y + 1};1H" + encode(Strip(line)) for y, line in enumerate(lines))
    assert screen(together) == screen(shown)
    assert len(together) <= alone


def test_a_column_of_one_colour_has_its_colour_once():
    pen = Pen(ColorSystem.TRUECOLOR)
    for y in range(10):
        pen.move(70, y)
        pen.write([Segment("x", STYLES[2])])
    assert pen.end().count("\x1b[38;2;255") == 1
