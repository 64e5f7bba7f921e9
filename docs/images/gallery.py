"""Make pictures of all screens: those of docs/gallery.md, or with --all each screen in each look.

    apt-get install tmux
    python3 -m pip --python .venv/bin/python install -e '.[samples]'
    .venv/bin/python docs/images/gallery.py [--all DIR] [--runs DIR] [--only TEXT]

Campaigns of the samples, with fixed seeds and budgets, are shown by the real program in a real
terminal (tmux): what the terminal has drawn is written as SVG. ``--runs`` keeps the runs and takes
them again; ``--only`` makes those pictures whose names contain a text, and no page.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME

from fuzztui.tui.base.pictures import portable

HERE = Path(__file__).resolve().parent
FUZZTUI = str(Path(sys.executable).with_name("fuzztui"))

RUNS = {
    "mu2": ("tomllib-mu2.toml", "8000 trials"),
    "suite": ("hypothesis-zest.toml", "4000 trials"),
    "text": ("pycparser-text.toml", "3000 trials"),
    "spoton": ("thumbnails-spoton.toml", "1500 trials"),
    "first": ("slips-fuzzfirst.toml", "60s"),
    "targets": ("parsers-targets.toml", "90s"),
}
"""Name of a run: campaign, budget."""

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "220x60": (220, 60)}

TRUE = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
LOOKS = {
    "dark": {**TRUE, "FUZZTUI_THEME": "midwatch"},
    "light": {**TRUE, "FUZZTUI_THEME": "daylight"},
    "nocolor": {**TRUE, "NO_COLOR": "1"},
    "16": {"TERM": "xterm-16color"},
    "ascii": {**TRUE, "FUZZTUI_ASCII": "1"},
}
"""The environment of each look."""

STILL_S = 0.8
"""Seconds in which a screen does not change when it is done."""


class Shot(NamedTuple):
    """One screen of a run."""

    run: str
    keys: str
    """Keys of tmux, with blanks between them."""
    caption: str
    command: str = "attach"


SHOTS = {
    "overview": Shot("mu2", "", "Overview: totals, charts, instances, what to do next, events"),
    "corpus": Shot("mu2", "2", "Corpus: every queue entry, what it is kept for, its lineage"),
    "findings": Shot("suite", "3", "Findings: failures by signature, with the input and the stack"),
    "mutants": Shot("mu2", "4", "Mutants: their states, the change, the entry that killed one"),
    "survivors": Shot("mu2", "4 v", "Mutants: those that are alive, as a list of work"),
    "log": Shot("mu2", "5", "Log: every event of the campaign"),
    "source": Shot("mu2", "8 Enter", "Source: coverage, mutants and findings by line"),
    "map": Shot("mu2", "8 v", "Source: the map of the target, filled by what is covered"),
    "mutators": Shot("text", "6", "Mutators: what each text mutator has found"),
    "types": Shot("spoton", "7", "Types: what spoton targets, and what it has not covered"),
    "properties": Shot("suite", "0", "Properties: the tests of a suite and their shares"),
    "targets": Shot("targets", "9", "Targets: several in one campaign, and their shares"),
    "first": Shot("first", "4", "Fuzz-first: the worklist of mutants"),
    "replay": Shot("mu2", "Space ] ]", "Replay: at one of the largest gains", "replay --speed 0.1"),
    "help": Shot("mu2", "?", "Help: every key, and why a key is grey"),
}

DOCS = [(name, "120x40", "dark") for name in SHOTS]
DOCS += [("overview", "80x24", look) for look in LOOKS]
DOCS += [("overview", "220x60", "dark")]
"""The pictures of the page; --all makes each screen in each look and size."""

PAGE = """\
# Gallery

All screens, with campaigns of the [samples](samples.md), in a terminal of 120x40 if the title
names no other size. `make gallery` makes the pictures; `docs/images/gallery.py --all DIR` makes
each screen in each size and look.
"""


class Terminal:
    """fuzztui in a window of tmux."""

    def __init__(self, socket: Path, size: tuple[int, int], look: str, words: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        unset = ["env", "-u", "COLORTERM", "-u", "NO_COLOR", "-u", "TMUX"]
        # Without what this user has chosen on the screens.
        state = [f"XDG_{name}_HOME={socket.parent}/none" for name in ("STATE", "CONFIG")]
        set_ = [*state, *(f"{name}={value}" for name, value in LOOKS[look].items())]
        self.call("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  shlex.join([*unset, *set_, FUZZTUI, *words]))  # fmt: skip

    def call(self, *words: str) -> str:
        """Run one command of tmux; return its output."""
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def when_still(self) -> str:
        """The drawn screen, with its colours, once it does not change any more."""
        seen, since = "", time.monotonic()
        while not seen.strip() or time.monotonic() - since < STILL_S:
            now = self.call("capture-pane", "-p", "-e", "-N")
            if now != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.1)
        return seen

    def type(self, keys: str) -> None:
        """Type keys, by tmux's names."""
        for key in keys.split():
            self.call("send-keys", key)
            time.sleep(0.1)

    def close(self) -> None:
        """Close the window."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


def picture(drawn: str, size: tuple[int, int], look: str, title: str, runs: Path) -> str:
    """What a terminal has drawn, as SVG."""
    console = Console(
        width=size[0], height=size[1], record=True, file=StringIO(), force_terminal=True,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    for home in (HERE.parents[1], runs.parent):  # paths of who makes the pictures; the width stays
        begin = f"{home}/"
        drawn = re.sub(rf"{re.escape(begin)}([^\x1b\n]*)", rf"\1{' ' * len(begin)}", drawn)
    for line in [*AnsiDecoder().decode(drawn)][: size[1]]:  # a style lasts over several lines
        console.print(line, overflow="crop", no_wrap=True, crop=True)
    theme = DEFAULT_TERMINAL_THEME if look == "light" else SVG_EXPORT_THEME
    return portable(console.export_svg(title=title, theme=theme, unique_id="g"))


def record(names: set[str], runs: Path) -> None:
    """Run those campaigns that are not in ``runs`` yet."""
    for name, (campaign, budget) in RUNS.items():
        if name in names and not (runs / name).exists():
            print(f"{campaign}: {budget}", flush=True)
            sets = [
                f"campaign.budget={budget}",
                f"campaign.output={runs / name}",
                "campaign.seed=1",
            ]
            words = [word for text in sets for word in ("--set", text)]
            subprocess.run([FUZZTUI, campaign, "--headless", *words], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def shoot(wanted: list[tuple[str, str, str]], runs: Path, to: Path) -> None:
    """Write the pictures; each has its own start of the program."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for name, size, look in wanted:
            shot = SHOTS[name]
            words = [*shot.command.split(), f"runs/{shot.run}"]
            os.chdir(runs.parent)  # short paths on the screens
            socket = Path(directory, file_of(name, size, look))  # a tmux of its own
            terminal = Terminal(socket, SIZES[size], look, words)
            try:
                terminal.when_still()
                terminal.type(shot.keys)
                drawn = terminal.when_still()
            finally:
                terminal.close()
            svg = picture(drawn, SIZES[size], look, shlex.join(["fuzztui", *words]), runs)
            (to / file_of(name, size, look)).write_text(svg)
            print(file_of(name, size, look), flush=True)


def file_of(name: str, size: str, look: str) -> str:
    """The name of a picture."""
    return f"{name}-{size}-{look}.svg"


def page() -> str:
    """docs/gallery.md."""
    parts = [PAGE]
    for name, size, look in DOCS:
        caption = SHOTS[name].caption
        if (size, look) != ("120x40", "dark"):
            caption = f"{caption.partition(':')[0]}, {size}, {look}"
        parts.append(f"## {caption}\n![{name}](images/gallery/{file_of(name, size, look)})\n")
    return "\n".join(parts)


def main() -> None:
    """Write the pictures, and the page if all of its pictures were made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", type=Path, metavar="DIR", help="each screen in each look")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="keep the runs there")
    parser.add_argument("--only", default="", metavar="TEXT", help="pictures with TEXT in the name")
    options = parser.parse_args()
    every = [(name, size, look) for name in SHOTS for size in SIZES for look in LOOKS]
    wanted = [w for w in (every if options.all else DOCS) if options.only in file_of(*w)]
    to = (options.all or HERE / "gallery").absolute()
    with tempfile.TemporaryDirectory() as directory:
        runs = (options.runs or Path(directory)).absolute() / "runs"
        record({SHOTS[name].run for name, _, _ in wanted}, runs)
        shoot(wanted, runs, to)
    if not options.all and not options.only:
        (HERE.parent / "gallery.md").write_text(page())
    print(f"{to}: look at them")


if __name__ == "__main__":
    main()
