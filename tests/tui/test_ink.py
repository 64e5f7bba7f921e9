"""In every theme, and with however few colours, text can be told from its ground."""

import re

import pytest
from aimed import aimed
from fakes import running
from hosted import hosted
from mixed import mixed
from mutated import mutated
from rich._palettes import EIGHT_BIT_PALETTE
from rich.console import Console
from turnlog import midway

from fuzztui.tui.base.themed import LeanUpdate
from fuzztui.tui.base.themes import load_themes, theme_dirs

OURS = sorted(load_themes([theme_dirs()[0]])[0])
SYSTEMS = {"16": "standard", "256": "256", "truecolor": "truecolor"}

FRAMES = "─▏▕▔▁▂▃▄▅▆▇"
"""What frames boxes and ends scroll bars: on a ground of its own colour deliberately not seen."""

_TOKEN = re.compile(r"\x1b\[\d+;\d+H|\x1b\[([\d;]*)m|\x1b\[[^a-zA-Z]*[a-zA-Z]|(.)", re.S)


def cells(data):
    """Each character that is written, with its ink and paper as the terminal is told of them."""
    ink = paper = None
    for match in _TOKEN.finditer(data):
        sgr, char = match.groups()
        if char is not None:
            yield char, ink, paper
        elif sgr is not None:
            codes = [int(c or 0) for c in sgr.split(";")]
            while codes:
                code = codes.pop(0)
                if code == 0:
                    ink = paper = None
                elif code in (38, 48):
                    size = 2 if codes[0] == 5 else 4
                    color = indexed(codes[1]) if size == 2 else tuple(codes[1:4])
                    codes = codes[size:]
                    ink, paper = (color, paper) if code == 38 else (ink, color)
                elif 30 <= code <= 37 or 90 <= code <= 97:
                    ink = indexed(code - 30 if code < 40 else code - 82)
                elif 40 <= code <= 47 or 100 <= code <= 107:
                    paper = indexed(code - 40 if code < 50 else code - 92)
                elif code == 39:
                    ink = None
                elif code == 49:
                    paper = None


def indexed(number):
    """A colour of the palette: the first sixteen are the terminal's, the rest are known."""
    return ("ansi", number) if number < 16 else tuple(EIGHT_BIT_PALETTE[number])


def invisible(app, system):
    """The text that is written in the colour of its ground, in one whole frame."""
    console = Console(color_system=system, force_terminal=True)
    update = app.screen._compositor.render_full_update()
    frame = LeanUpdate(update).render_segments(console)
    seen = list(cells(frame))
    assert sum(not char.isspace() for char, *_ in seen) > 200
    shown = ((c, ink, paper) for c, ink, paper in seen if c not in FRAMES and not c.isspace())
    return "".join(c for c, ink, paper in shown if ink is not None and ink == paper)


LOGS = {
    "zest": (running, "12358"),
    "mu2": (mutated, "14"),
    "text": (lambda: mixed(instances=("main",)), "16"),
    "spoton": (aimed, "17"),
    "first": (midway, "14"),
    "hosts": (hosted, "135"),
}


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True], ids=["colour", "NO_COLOR"])
@pytest.mark.parametrize("theme", OURS)
@pytest.mark.parametrize("kind", LOGS)
async def test_ink_differs_from_paper(drive, monkeypatch, kind, theme, plain):
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        monkeypatch.delenv("NO_COLOR", raising=False)
    log, keys = LOGS[kind]
    hidden = {}
    async with drive(log(), theme=theme) as d:
        assert d.app.theme == theme
        for key in [*keys, "question_mark", "escape", "x"]:
            await d.press(*([key] if not key.isdigit() else [key, "j"]))
            for name, system in SYSTEMS.items():
                if text := invisible(d.app, system):
                    hidden[key, name] = text
    assert hidden == {}


async def test_without_colour_none_is_sent(drive, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with drive(running(), theme="ansi") as d:
        console = Console(color_system="truecolor", force_terminal=True)
        frame = LeanUpdate(d.app.screen._compositor.render_full_update()).render_segments(console)
        assert {(ink, paper) for _, ink, paper in cells(frame)} == {(None, None)}


async def test_an_empty_no_color_counts_as_not_set(drive, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    async with drive(running(), theme="midwatch") as d:
        console = Console(color_system="truecolor", force_terminal=True)
        frame = LeanUpdate(d.app.screen._compositor.render_full_update()).render_segments(console)
        inks = {ink for _, ink, _ in cells(frame) if ink is not None}
        assert len(inks) > 3
        assert any(len(set(ink)) > 1 for ink in inks)  # not only greys
