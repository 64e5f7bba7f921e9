"""Make overview.png, the picture in README: a real campaign, steered once, in a real terminal.

    apt-get install tmux librsvg2-bin fonts-firacode
    python3 -m pip --python .venv/bin/python install -e '.[samples]'    # Pillow
    .venv/bin/python docs/images/overview.py

The campaign is that of README's first command. After 12 seconds the living mutants of one function
are promoted; some 13 seconds later Textual saves the Overview as SVG. In the PNG each character
is at its cell, whatever font it comes from.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from fuzztui.tui.base import pictures

HERE = Path(__file__).resolve().parent
FUZZTUI = str(Path(sys.executable).with_name("fuzztui"))
SIZE = ("120", "38")
SHOT_S = 8
"""Seconds from the start of the screen to the picture."""


def fuzztui(*words: str) -> None:
    """Run one command of fuzztui in the temporary directory."""
    subprocess.run([FUZZTUI, *words], check=True)


def picture(svg: Path) -> None:
    """The screen as SVG."""
    env = {"TERM": "tmux-256color", "COLORTERM": "truecolor", "TEXTUAL_SCREENSHOT": str(SHOT_S),
           "TEXTUAL_SCREENSHOT_LOCATION": str(svg.parent),
           "TEXTUAL_SCREENSHOT_FILENAME": svg.name}  # fmt: skip
    words = ["env", *(f"{k}={v}" for k, v in env.items()), FUZZTUI, "attach", "--theme", "midwatch"]
    tmux = ["tmux", "-S", str(svg.with_suffix(".socket")), "-f", "/dev/null"]
    start = ["new-session", "-d", "-x", SIZE[0], "-y", SIZE[1], shlex.join(words)]
    subprocess.run([*tmux, *start], check=True)
    while not svg.exists():
        time.sleep(0.5)


def main() -> None:
    """Write overview.png beside this file."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        fuzztui("tomllib-mu2.toml", "--detach")
        time.sleep(12)
        fuzztui("ctl", "tomllib-mu2.toml", "promote-mutants", "function=skip_until,state=alive")
        time.sleep(5)
        svg, png = Path(name, "overview.svg"), Path(name, "overview.png")
        picture(svg)
        fuzztui("ctl", "tomllib-mu2.toml", "stop")
        png.write_bytes(pictures.png(svg.read_text()))
        few = Image.open(png).convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE)
        few.save(HERE / png.name, optimize=True)
    print(f"{HERE / png.name}: look at it")


if __name__ == "__main__":
    main()
