"""The CPU time at which an engine saved its entries."""

import os
import subprocess
import sys

from lab.cpu_clock import CpuClock


def test_the_time_between_two_samples_is_interpolated():
    clock = CpuClock()
    assert clock.at(5.0) == 0.0
    clock.samples = [(10.0, 1.0), (12.0, 2.0), (12.0, 2.5), (20.0, 2.5)]
    at = {moment: clock.at(moment) for moment in (9.0, 10.0, 11.0, 12.0, 16.0, 99.0)}
    assert at == {9.0: 1.0, 10.0: 1.0, 11.0: 1.5, 12.0: 2.0, 16.0: 2.5, 99.0: 2.5}


def test_entries_in_the_order_in_which_their_files_were_written(tmp_path):
    clock = CpuClock()
    clock.samples = [(100.0, 0.0), (200.0, 10.0)]
    for name, moment in (("b", 110), ("c", 150), ("a", 190)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, moment))
    (tmp_path / ".state").mkdir()
    assert list(clock.saved(tmp_path).items()) == [("b", 1.0), ("c", 5.0), ("a", 9.0)]


def test_the_workers_of_a_monitor_are_counted_together():
    worker = (
        "import os\nwhile sum(os.times()[:2]) < 0.2: pass\n"
        "os.write(1, b'ready\\n')\nassert os.read(0, 1)"
    )
    monitor = (
        "import subprocess, sys\nfor _ in range(2):"
        f" subprocess.run([sys.executable, '-c', {worker!r}], check=True)"
    )
    clock, pipe = CpuClock(), subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", monitor], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == b"ready\n"
            clock.read(process.pid)
            process.stdin.write(b"x")
            process.stdin.flush()
    assert process.returncode == 0
    (_, one), (_, both) = clock.samples
    assert one >= 0.2
    assert both - one >= 0.2, "the first one, which has ended, still counts"


def test_a_run_that_ends_at_once_has_a_sample():
    clock = CpuClock()
    with clock.watching(os.getpid()):
        pass
    assert clock.samples
