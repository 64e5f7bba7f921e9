"""The screen through a real sshd, on a line with a delay of 300 ms in each direction."""

import shlex

import pytest
from homes import FUZZTUI
from slow_line import SlowLine

pytestmark = pytest.mark.slow

DOWN = 30
TYPED = "an entry that no queue has: 0123456789 abcdefghijklmnopqrst"


def test_no_key_is_lost_and_none_repaints_the_screen(home, terminal, sshd):
    home.headless("3000 trials")
    port = sshd.index("-p") + 1
    with SlowLine(int(sshd[port])) as line:
        ssh = [sshd[0], "-t", *sshd[1:port], str(line.port), *sshd[port + 1 :]]
        screen = terminal(command=[*ssh, shlex.join([FUZZTUI, "replay", str(home.run)])])
        screen.wait("finished")
        screen.keys("2", then="▏ main/0  ")
        before = line.received
        screen.keys(*["Down"] * DOWN, then=f"▏ main/{DOWN}  ")
        moved = line.received - before
        screen.keys(":", then="🔎")
        before = line.received
        screen.keys(*TYPED, then=TYPED)
        typed = line.received - before
        screen.keys("Escape", then=lambda text: TYPED not in text)
        screen.keys("q", then="exit=0")
    a_repaint = 120 * 40  # at least a byte for each cell
    assert moved < DOWN * a_repaint / 2
    assert typed < len(TYPED) * a_repaint / 2
