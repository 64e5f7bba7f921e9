"""``fuzztui.open_run`` on a live campaign: waiting, steering with a receipt, and its end."""

import math

import pytest
from homes import Home

import fuzztui

pytestmark = pytest.mark.slow


def test_a_script_steers_a_campaign_and_reads_what_came(home: Home, capsys) -> None:
    home.detach("--set", "campaign.budget=10m")
    with fuzztui.open_run(home.file) as run:
        now = run.wait(lambda now: now.corpus > 5, timeout_s=120)
        assert now.state == "running"
        first = now.entries[0]
        assert first.path and first.path.read_bytes() is not None
        (answer,) = run.steer("promote", first.key, timeout_s=math.inf)
        assert (answer.result, answer.ok) == ("applied", True)
        later = run.wait(lambda later: later.execs > now.execs, timeout_s=120)
        assert later.receipt(answer)
        assert now.execs < later.execs, "a state does not change"
        with pytest.raises(fuzztui.RunError, match="not within"):
            run.wait(timeout_s=0)
        (stopped,) = run.steer("stop")
        assert stopped.ok
        assert run.wait(timeout_s=60).state == "stopped"
    assert capsys.readouterr() == ("", "")
