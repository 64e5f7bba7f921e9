"""What commands say about a run whose log is damaged, at many places, in three ways.

    python benchmarks/log_damage.py RUN               # every byte of the sealed log
    python benchmarks/log_damage.py RUN --places 120  # 120 places, evenly spread

Without RUN it makes one: a second of zest on tomllib.

Flips a bit, writes 32 zeros, or cuts the log off; then runs ``status --json`` and ``replay --json``
in this process, on a copy of the run. What comes of each try is one of

* reported: exit code 4, a message on stderr, ``at_least`` in JSON, no figure above the sound ones;
* same: exit code 0 and the very figures of the sound run (damage that nothing depends on);
* WRONG: another figure with exit code 0, a figure above the sound ones, or no message;
* never: "never begun", although the campaign was;
* traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows

from fuzztui.cli import main as fuzztui

FIGURES = ("execs", "corpus", "crashes", "hangs", "log_seq", "elapsed_s")


def flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= 1 << rng.randrange(8)


def zero(data: bytearray, at: int, rng: random.Random) -> None:
    data[at : at + 32] = bytes(len(data[at : at + 32]))


def truncate(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at:]


def run_command(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = fuzztui([*argv])
    return code, out.getvalue(), err.getvalue()


def figures(answer: dict[str, Any]) -> list[float]:
    return [answer[name] for name in FIGURES] + [len(answer["findings"])]


def judge(code: int, out: str, err: str, sound: list[float]) -> str:
    if "never begun" in err or "log is empty" in err:
        return "never"
    answer = json.loads(out) if out else None
    seen = figures(answer) if answer else sound
    if code == 4:
        least = answer is None or (answer["at_least"] and answer["problems"])
        below = all(a <= b for a, b in zip(seen, sound, strict=True))
        return "reported" if err and least and below else "WRONG"
    return "same" if code == 0 and seen == sound and not err else "WRONG"


def attempt(argv: list[str], sound: list[float]) -> str:
    try:
        return judge(*run_command(*argv), sound)
    except Exception as e:
        return f"traceback {type(e).__name__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?", help="default: makes one")
    parser.add_argument("--places", type=int, default=0, help="0: every byte")
    options = parse(parser, "log_damage", places=5)
    rows = Rows("log_damage", options.results)
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        if options.run:
            shutil.copytree(options.run, run, symlinks=True)
        else:
            make_run(run)
        log = run / "log" / "campaign.jsonl.gz"
        data = log.read_bytes()
        count = min(options.places or len(data), len(data))
        print(f"{len(data):,} bytes, {count:,} places, 3 kinds of damage")
        for name in ("status", "replay"):
            argv = [name, str(run), "--json"]
            log.write_bytes(data)
            sound = figures(json.loads(run_command(*argv)[1]))
            for how in (flip, zero, truncate):
                seen: Counter[str] = Counter()
                for n in range(count):
                    damaged = bytearray(data)
                    how(damaged, n * len(data) // count, rng)
                    if damaged != data:
                        log.write_bytes(damaged)
                        seen[attempt(argv, sound)] += 1
                words = ", ".join(f"{n:,} {word}" for word, n in sorted(seen.items()))
                print(f"{name:<7} {how.__name__:<9} {words}", flush=True)
                rows.add(command=name, damage=how.__name__, bytes=len(data), **seen)


def make_run(run: Path) -> None:
    """A campaign of zest on tomllib, which ends after 2,000 trials."""
    sample = Path(__file__).parents[1] / "sample_campaigns/tomllib-zest.toml"
    settings = [f"campaign.output={run}", "campaign.budget=2000 trials"]
    command = [sys.executable, "-m", "fuzztui", str(sample), "--headless"]
    command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
