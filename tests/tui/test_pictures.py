"""Pictures of the screens: what is in the files, and where they are."""

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from fakes import running

from fuzztui.tui.app.palette_commands import PICTURES
from fuzztui.tui.base import pictures
from fuzztui.tui.base.pictures import NoPicture, in_cells, png, portable, save_new

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 99 20"><style>
    @font-face {
        font-family: "Fira Code";
        src: url("https://example.org/FiraCode.woff2") format("woff2");
    }
    .r1 { fill: #fff }</style>
<text class="r1" x="12.2" y="20" textLength="48.8" clip-path="url(#a)">a&amp; ✓</text></svg>"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_the_screen_is_saved_and_the_notification_says_where(drive, here):
    async with drive(running(), press=["2"]) as d:
        d.app.save_picture(".svg")
        await d.until_notice("fuzztui-corpus-")
        (file,) = here.glob("*.svg")
        assert file.name.startswith("fuzztui-corpus-")
        assert str(file) in "".join(d.notices())
        text = file.read_text()
        drawn = "".join(ET.fromstring(text).itertext())
        assert "lineage" in drawn and "url(http" not in text


@pytest.mark.slow
async def test_the_palette_saves_what_is_below_it(drive, here):
    async with drive(running(), press=["ctrl+p"]) as d:
        for ch in "SVG":
            await d.pilot.press(ch)
        await d.until_shows(PICTURES[".svg"])
        await d.press("enter")
        await d.until(lambda: [*here.glob("fuzztui-overview-*.svg")])
        (file,) = here.glob("*.svg")
        assert PICTURES[".svg"].replace(" ", "\xa0") not in file.read_text()


async def test_without_a_converter_the_notification_says_what_to_install(drive, here, monkeypatch):
    monkeypatch.setenv("PATH", str(here))
    async with drive(running()) as d:
        d.app.save_picture(".png")
        await d.until_notice("apt-get install librsvg2-bin")
        assert not [*here.glob("fuzztui-*")]


def test_a_converter_gets_each_character_in_its_place(here, monkeypatch):
    converter = here / "rsvg-convert"
    converter.write_text("#!/bin/sh\nprintf PNG; exec cat\n")
    converter.chmod(0o755)
    monkeypatch.setenv("PATH", str(here), prepend=os.pathsep)
    assert png(SVG) == b"PNG" + in_cells(SVG).encode()
    places = [(t.text, t.get("x")) for t in ET.fromstring(in_cells(SVG)) if t.tag.endswith("text")]
    assert places == [("a", "12.2"), ("&", "24.4"), ("✓", "48.8")]
    converter.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(NoPicture, match="cannot be converted"):
        png(SVG)


def test_a_picture_fetches_nothing():
    assert "@font-face" not in portable(SVG) and "example.org" not in portable(SVG)
    assert ".r1" in portable(SVG)


def test_a_file_is_never_replaced(here):
    saved = [save_new("a", ".svg", bytes([n])) for n in range(3)]
    assert [path.name for path in saved] == ["a.svg", "a-2.svg", "a-3.svg"]
    assert [path.read_bytes() for path in saved] == [b"\0", b"\1", b"\2"]
    (here / "b.svg").symlink_to("nowhere")
    assert save_new("b", ".svg", b"").name == "b-2.svg"
    assert not (here / "nowhere").exists()


def test_it_is_saved_at_home_if_the_directory_is_gone(here, monkeypatch):
    home, gone = here / "home", here / "gone"
    home.mkdir()
    gone.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert save_new("a", ".svg", b"x") == home / "a.svg"
    monkeypatch.setattr(pictures, "MAX_SAME", 2)
    with pytest.raises(NoPicture, match=r"a\.svg"):
        save_new("a", ".svg", b"y")
