"""Repainting only what changed leaves the same picture as repainting everything."""

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from fuzztui.tui.base.canvas import GAP, TextSpan, changed_spans, spread, width_of
from fuzztui.tui.base.wrap import cut, wrap

STYLES = [Style(), Style(bold=True), Style(color="red")]
segments = st.lists(
    st.tuples(st.text("ab 日", min_size=1, max_size=4), st.sampled_from(STYLES)).map(
        lambda pair: Segment(*pair)
    ),
    max_size=6,
)


def cells(strip):
    """One (character, style) a cell; the second half of a wide one is empty."""
    out = []
    for text, style, _ in strip:
        for ch in text:
            out += [(ch, style)] + [("", style)] * (cell_len(ch) - 1)
    return out


@given(segments, segments)
def test_the_changed_spans_hold_every_difference(a, b):
    width = 26
    base = Style()
    old = Strip(a).adjust_cell_length(width, base)
    new = Strip(b).adjust_cell_length(width, base)
    before, after = cells(old), cells(new)
    last = -GAP
    for first, end in changed_spans(old, new):
        assert last + GAP <= first < end <= width
        assert before[first] != after[first]
        before[first:end] = after[first:end]
        last = end
    assert before == after


@given(segments)
def test_nothing_changed_is_nothing_to_paint(a):
    assert changed_spans(Strip(a), Strip(list(a))) == []


spans = st.lists(st.builds(TextSpan, st.text("ab 日", min_size=1, max_size=9)), max_size=5)


@given(spans, st.integers(1, 12))
@example([TextSpan(" "), TextSpan("日")], 2)
@example([TextSpan(" "), TextSpan(" "), TextSpan("aaa")], 4)
def test_wrapping_loses_nothing_and_fits(line, width):
    pieces = [list(piece) for piece in wrap(line, width)]
    indent = 0
    for span in line[:-1]:
        wide = indent + cell_len(span.text)
        if not span.text.endswith(" ") or wide > min(width // 2, width - 2):
            break
        indent = wide
    text = ""
    for i, piece in enumerate(pieces):
        assert width_of(piece) <= max(width, 2)
        body = "".join(s.text for s in piece)
        if i and indent:
            assert body.startswith(" " * indent)
            body = body[indent:]
        assert not i or not body.startswith(" ")
        text += body
    assert text.replace(" ", "") == "".join(s.text for s in line).replace(" ", "")


@given(spans, spans, st.integers(0, 60))
def test_spread_fills_the_width_or_drops_the_right_end(left, right, width):
    line = spread(left, right, width)
    if width_of(left) + width_of(right) < width:
        assert width_of(line) == width
    else:
        assert line == left


def text_of(lines):
    return ["".join(span.text for span in line) for line in lines]


def test_lines_are_broken_between_words_and_long_words_anywhere():
    labelled = [TextSpan("p ", "bold"), TextSpan("Pause  "), TextSpan("the whole campaign")]
    assert text_of(wrap(labelled, 20)) == ["p Pause  the whole ", "         campaign"]
    path = [TextSpan("file "), TextSpan("/a/very/long/path")]
    assert text_of(wrap(path, 12)) == ["file /a/very", "     /long/", "     path"]
    assert text_of(wrap([TextSpan("a name"), TextSpan("  9.4%")], 10)) == ["a name  ", "9.4%"]
    exact = [TextSpan("(cd /here &&"), TextSpan(" ./run")]
    assert text_of(wrap(exact, 12)) == ["(cd /here &&", "./run"]
    assert text_of(wrap([TextSpan("ends here ")], 9)) == ["ends here"]


def test_a_line_may_be_cut_instead():
    line = [TextSpan("  3 │ "), TextSpan("if taken == 2008:", "bold"), TextSpan("  # why")]
    assert text_of([cut(line, 40)]) == ["  3 │ if taken == 2008:  # why"]
    assert text_of([cut(line, 28)]) == ["  3 │ if taken == 2008:  # …"]
    assert text_of([cut(line, 23)]) == ["  3 │ if taken == 2008…"]
    assert text_of([cut(line, 6)]) == ["  3 │…"]
    rule = [TextSpan("── title ", "muted"), TextSpan("─" * 12, "rule")]
    assert text_of([cut(rule, 12)]) == ["── title ───"]
    assert text_of([cut(rule, 7)]) == ["── tit…"]
    assert text_of([cut([], 3)]) == [""]
