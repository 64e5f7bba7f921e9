"""Our themes are whole and legible; a broken one is one message that names file and key."""

import os
from pathlib import Path

import pytest
from rich.color import ColorSystem
from textual.color import Color

from fuzztui.tui.base.palette import Palette, fallbacks, to_textual
from fuzztui.tui.base.themes import BASE, DEFAULT, PLAIN, SEMANTIC, load_themes, theme_dirs

OURS, PROBLEMS = load_themes([theme_dirs()[0]])
TRUECOLOR = [t for t in OURS.values() if not t.ansi]


def test_ours_are_there_and_whole():
    assert not PROBLEMS
    assert {DEFAULT, PLAIN, "daylight", "contrast"} <= OURS.keys()
    assert any(not t.dark for t in OURS.values())
    for theme in OURS.values():
        assert theme.colors.keys() == set(BASE)
        assert theme.semantic.keys() == SEMANTIC.keys()
        assert theme.title


def contrast(a, b):
    """WCAG 2.1's contrast ratio."""

    def luminance(text):
        parts = [c / 255 for c in Color.parse(text).rgb]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", TRUECOLOR, ids=lambda t: t.name)
def test_text_can_be_read_on_every_ground(theme):
    for ground in ("background", "surface", "panel"):
        assert contrast(theme.colors["foreground"], theme.colors[ground]) >= 7
        for name, color in theme.semantic.items():
            if name not in ("rule", "gauge"):  # lines, not text
                assert contrast(color, theme.colors[ground]) >= 4, (name, ground)


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / name
    file.write_text(text)
    return file


GOOD = "[colors]\n" + "".join(f'{key} = "#123456"\n' for key in BASE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not toml", ["is not TOML"]),
        (GOOD + "[semantic]\ncrsh = '#111111'", ["[semantic]", "'crsh'", "did you mean 'crash'"]),
        (GOOD + "[semantic]\ncrash = 'redd'", ["[semantic] crash", "'redd'", "a colour like"]),
        (GOOD + "[semantic]\ncrash = 7", ["crash = 7"]),
        ("dark = 3\n" + GOOD, ["dark = 3", "bool"]),
        ("colour = 1\n" + GOOD, ["'colour'", "did you mean 'colors'"]),
        ("colors = 1", ["colors", "table"]),
        ('[colors]\nprimary = "#123456"', ["lacks", "secondary"]),
        ("ansi = true\n" + GOOD, ["primary", "ansi_red"]),
        ("x = " + "[" * 5000, ["is not TOML"]),
    ],
)
def test_a_broken_file_is_one_message(tmp_path, text, words):
    file = write(tmp_path, "mine.toml", text)
    themes, problems = load_themes([tmp_path])
    assert not themes
    assert len(problems) == 1
    assert problems[0].startswith(f"{file}: ")
    for word in words:
        assert word in problems[0]


def test_hostile_files_do_not_stop_the_others(tmp_path):
    os.mkfifo(tmp_path / "a-fifo.toml")
    (tmp_path / "b-big.toml").write_bytes(b"#" * 100_000)
    (tmp_path / "c-latin.toml").write_bytes(b"title = '\xe9'")
    (tmp_path / "d-gone.toml").symlink_to(tmp_path / "nowhere")
    write(tmp_path, "e-good.toml", GOOD)
    themes, problems = load_themes([tmp_path])
    assert list(themes) == ["e-good"]
    assert len(problems) == 4
    assert themes["e-good"].semantic["crash"] == "#123456"


def test_a_users_theme_wins_over_ours_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    mine = tmp_path / "fuzztui" / "themes"
    mine.mkdir(parents=True)
    write(mine, f"{DEFAULT}.toml", GOOD)
    themes, problems = load_themes()
    assert not problems
    assert themes[DEFAULT].colors["primary"] == "#123456"
    assert PLAIN in themes


def test_palette_words():
    palette = Palette({"crash": "#ff0000", "panel": "#222222", "muted": "ansi_bright_black"})
    style = palette["bold crash on panel"]
    assert style.bold
    assert style.color.triplet.hex == "#ff0000"
    assert style.bgcolor.triplet.hex == "#222222"
    assert palette["muted"].color.number == 8
    assert palette["nonsense"] == palette[""]


@pytest.mark.parametrize("name", OURS)
def test_crashes_and_hangs_have_two_of_16_colours(name):
    palette = Palette(OURS[name].semantic)
    crash, hang = (
        palette[kind].color.downgrade(ColorSystem.STANDARD) for kind in ("crash", "hang")
    )
    assert crash.number % 8 != hang.number % 8


def test_textuals_own_themes_get_our_meanings():
    theme = to_textual(OURS[DEFAULT])
    assert theme.variables["crash"] == OURS[DEFAULT].semantic["crash"]
    from textual.theme import BUILTIN_THEMES

    for builtin in BUILTIN_THEMES.values():
        for name, color in fallbacks(builtin).items():
            assert Color.parse(color), (builtin.name, name)
