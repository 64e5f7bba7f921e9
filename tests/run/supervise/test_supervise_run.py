import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from campaigns import campaign
from hypothesis import given
from hypothesis import strategies as st
from lab_clock import LabClock
from waiting import wait_until

import fuzztui
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.instances.launcher import instance_names, trials_share
from fuzztui.run.process.identity import boot_id
from fuzztui.run.supervise.clock import CampaignClock
from fuzztui.run.supervise.launchers import launcher_for

# ------------------------------------------------------------------- the directory


def test_a_new_run_is_private(tmp_path):
    run = tmp_path / "runs" / "name"
    prepare_run(run)
    for path in (run, run / "log", run / "out", run / "supervisor"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_an_old_run_is_left_as_it_is(tmp_path):
    run = tmp_path / "run"
    prepare_run(run)
    (run / "out" / "main").mkdir()
    (run / "campaign.toml").write_text("x")
    run.chmod(0o755)
    prepare_run(run)
    assert (run / "out" / "main").is_dir()
    assert (run / "campaign.toml").read_text() == "x"
    assert run.stat().st_mode & 0o777 == 0o700


def refusal(run: Path) -> str:
    with pytest.raises(SupervisorError) as e:
        prepare_run(run)
    assert "campaign.output" in str(e.value)
    assert str(run) in str(e.value)
    return str(e.value)


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "run").write_text("precious")
    assert "not a directory" in refusal(tmp_path / "run")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert "not a directory" in refusal(tmp_path / "dangling")


def test_somebody_elses_directory_is_not_used(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    assert "'thesis.tex'" in refusal(tmp_path)
    assert not (tmp_path / "log").exists()


def test_a_place_that_cannot_be_written():
    assert "cannot make or write" in refusal(Path("/proc/run"))


def test_a_disk_without_room_is_said_at_once(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # names fit, bytes do not
    try:
        assert "File too large" in refusal(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_nothing_but_fuzztui_is_exposed_to_a_target(tmp_path):
    prepare_run(tmp_path / "run")
    directory = RunDir(tmp_path / "run").expose_package()
    link = directory / "fuzztui"
    assert os.listdir(directory) == ["fuzztui"]
    assert link.resolve() == Path(fuzztui.__file__).parent
    link.unlink()
    link.symlink_to("/an/older/installation")
    RunDir(tmp_path / "run").expose_package()
    assert link.resolve() == Path(fuzztui.__file__).parent


# ----------------------------------------------------------------------- the engines


def test_instances_are_named_as_afl_users_do():
    assert instance_names(campaign()) == ["main"]
    assert instance_names(campaign(instances=3)) == ["main", "s1", "s2"]


@given(st.integers(1, 50), st.integers(0, 10**9))
def test_the_shares_of_a_budget_add_up(instances, trials):
    c = campaign(instances=instances, budget_trials=trials)
    shares = [trials_share(c, index) for index in range(instances)]
    assert sum(shares) == trials
    assert max(shares) - min(shares) <= 1


def test_an_unknown_engine_is_refused_in_words():
    with pytest.raises(SupervisorError, match=r"nope.*zest"):
        launcher_for("nope")


# ------------------------------------------------------------------------- the clock


@pytest.fixture
def machine():
    return LabClock(5000.0)


@pytest.fixture
def clock(tmp_path, machine):
    """Makes the clock of a supervisor; each reads the file of the one before."""
    return lambda last_t=0.0: CampaignClock(tmp_path / "c", last_t, monotonic=machine)


def test_time_stands_still_while_nothing_lives(clock, machine):
    first = clock()
    first.save()
    machine.now += 100
    assert first.now() == 100
    machine.now += 3600
    assert clock(last_t=100.0).now() == 100


def test_time_stands_still_once_nothing_lives_any_more(clock, machine):
    one = clock()
    machine.now += 5
    one.stop()
    machine.now += 10
    assert one.now() == 5
    one.start()
    machine.now += 1
    assert one.now() == 6


@pytest.mark.parametrize(
    ("most", "now", "more"), [(math.inf, 100, 0), (4.0, 94, 6.0), (0.0, 90, 10.0), (30.0, 100, 0)]
)
def test_the_gap_counts_when_engines_survived_but_no_more_than_is_paid_for(
    clock, machine, most, now, more
):
    clock().save()
    machine.now += 100
    second = clock(last_t=90.0)
    assert second.count_gap(most) == more
    assert second.now() == now


def test_the_gap_does_not_count_over_a_reboot(clock, machine, monkeypatch):
    clock().save()
    machine.now = 1.0
    monkeypatch.setattr("fuzztui.run.supervise.clock.boot_id", lambda: "another boot")
    second = clock(last_t=90.0)
    second.count_gap()
    assert second.now() == 90


BOOT = f'"boot": "{boot_id()}"'


@pytest.mark.parametrize(
    ("text", "now"),
    [
        *((text, 50) for text in ("", "{}", "[]", '{"zero": "x", "boot": null}', "\xff")),
        *((f'{{"zero": {zero}, {BOOT}}}', 50) for zero in ("true", "-1e999", "NaN", 10**400)),
        (f'{{"zero": -9e18, {BOOT}}}', 5050),
    ],
)
def test_lost_bearings_cost_no_more_than_the_gap_nor_than_the_machine_has_been_up(
    tmp_path, clock, text, now
):
    (tmp_path / "c").write_text(text, encoding="latin-1")
    again = clock(last_t=50.0)
    again.count_gap()
    assert again.now() == now


def test_the_real_clock_moves(tmp_path):
    real = CampaignClock(tmp_path / "c", 3.0)
    wait_until(lambda: real.now() > 3.0)


# ------------------------------------------------------------------------- the files


def test_our_small_files_are_never_written_through_anothers(tmp_path):
    path = tmp_path / "spec.json"
    (tmp_path / "precious").write_text("precious")
    path.symlink_to(tmp_path / "precious")
    replace_text(path, "{}")
    assert (tmp_path / "precious").read_text() == "precious"
    assert read_json(path) == {}


@pytest.mark.slow
def test_the_supervisor_needs_no_screen():
    code = (
        "import sys, fuzztui.run.supervise.supervisor, fuzztui.run.supervise.daemon\n"
        "print([m for m in sys.modules if m.startswith(('textual', 'rich', 'fuzztui.tui'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
