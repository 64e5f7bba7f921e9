"""The real afl-fuzz: what it warns of, once for each start; its core; a limit of its speed."""

import os
import signal

import pytest
from homes import compiled, write_seeds
from skipped import needs_afl
from supervised import Supervised

from fuzztui.kernel.wire import events as ev
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.supervise.daemon import start
from fuzztui.tools.status.status import status_dict

pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    char b[64] = {0};
    struct timespec now;
    if (!fread(b, 1, 63, stdin)) return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    switch (now.tv_nsec >> 12 & 3) { case 0: puts("a"); break; case 1: puts("b"); break; }
    if (b[0] == '~') pause();
    if (b[0] == 'x') puts("x");
    return 0;
}
"""
QUICK = TARGET.replace("if (b[0] == '~') pause();", "")
EXPECTED = (
    "is too big (1.91 MB, limit is 1.00 MB)",
    "Some tokens are relatively large (60 B)",
    "Instrumentation output varies across runs.",
    "Some test cases are huge",
)


def missing(instance) -> list[str]:
    return [text for text in EXPECTED if not any(text in w for w in instance.warnings)]


def test_warnings_are_reported_once_for_each_start(tmp_path):
    with Supervised(tmp_path, "afl") as fleet:
        program = compiled(tmp_path, TARGET, compiler="afl-cc", name="varies")
        # An "x" has an edge of its own: of a seed without one, afl-fuzz ignores also the size.
        write_seeds(tmp_path, hello="hello", big="x" * 2_000_000)
        (tmp_path / "large.dict").write_text(f'k="{"A" * 60}"\n')
        fleet.target = f'command = ["{program}"]\ntimeout = "200ms"'
        fleet.engine = 'seeds = ["seeds"]\ndictionary = ["large.dict"]'
        core = min(os.sched_getaffinity(0))
        fleet.engine += f'\nextra_args = ["-b", "{core}"]'
        fleet.start()
        state = fleet.until(lambda s: "main" in s.instances and not missing(s.instances["main"]))
        pid = state.instances["main"].pid
        fleet.until(lambda s: s.instances["main"].stats.core == core)
        assert status_dict(fleet.state())["instances"][0]["core"] == core
        fleet.kill_supervisor()  # afl-fuzz stays: nothing is reported again
        start(fleet.run)
        fleet.until(lambda s: s.instances["main"].stats.execs > 2000)
        os.kill(pid, signal.SIGKILL)
        fleet.until(lambda s: s.instances["main"].pid not in (0, pid))
        fleet.until(lambda s: any("varies" in w for w in s.instances["main"].warnings))
        fleet.stop()
        starts, texts = 0, []
        for record in fleet.records():
            if isinstance(record.event, ev.InstanceState) and record.event.state == "starting":
                starts, texts = starts + 1, []
            elif isinstance(record.event, ev.Message) and record.event.about == ev.PRINTED:
                assert record.event.text not in texts
                assert "\x1b" not in record.event.text
                texts.append(record.event.text)
        assert starts == 2


def test_executions_per_second_are_limited_and_waiting_is_no_hang(tmp_path):
    with Supervised(tmp_path, "afl") as fleet:
        program = compiled(tmp_path, QUICK, compiler="afl-cc", name="quick")
        write_seeds(tmp_path, hello="hello", more="more")
        fleet.target = f'command = ["{program}"]\ntimeout = "100ms"'
        fleet.engine = 'seeds = ["seeds"]\nmax_speed = 200'
        fleet.start(instances=2)
        fleet.until(lambda s: all(s.instances[n].stats.execs > 1600 for n in ("main", "s1")))
        state = fleet.stop()
        hangs = [f for f in state.findings.values() if f.category == "hang"]
        both = [state.instances[name] for name in ("main", "s1")]
        rates = [i.stats.execs / (state.t - i.began_t) for i in both]
        assert all(rate <= 210 for rate in rates), rates
        assert not hangs


def test_a_limit_and_mopt_exclude_each_other(tmp_path):
    with Supervised(tmp_path, "afl") as fleet:
        program = compiled(tmp_path, TARGET, compiler="afl-cc", name="varies")
        fleet.target = f'command = ["{program}"]'
        fleet.engine = 'max_speed = 200\nextra_args = ["-L", "0"]'
        fleet.freeze()
        with pytest.raises(SupervisorError, match=r"max_speed: .*-L"):
            start(fleet.run)
