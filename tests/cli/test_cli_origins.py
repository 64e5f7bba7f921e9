"""Which of several runs a campaign file means, wherever one stands."""

import contextlib
import json
import os
import shutil
import signal

import pytest

from fuzztui.cli import main, origins
from fuzztui.cli import run as cli_run
from fuzztui.cli.origins import another, has_begun, newest, remember
from fuzztui.cli.output import NOT_RUNNING, USAGE, CliError
from fuzztui.cli.run import load_file
from fuzztui.cli.runs import find_run, with_output
from fuzztui.kernel.remote.address import link_to_run, socket_path, supervised_runs, withdraw
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import AlreadyRunning, SupervisorError, Unfit, prepare_run

TOML = '[target]\nfunction = "tomllib:loads"\n\n[engine]\nkind = "zest"\n'


@pytest.fixture(autouse=True)
def clock(tmp_path_factory, monkeypatch):
    """Every run is started a second after the one before; nobody else's runs are seen."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("xdg")))
    seconds = iter(range(1, 100))
    monkeypatch.setattr(origins, "time", lambda: float(next(seconds)))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The user's project, where the user stands."""
    path = tmp_path / "project"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def file_at(path, text=TOML):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def begin(run, file):
    """What a start leaves, and no supervisor."""
    loaded = with_output(load(file), run)
    prepare_run(run)
    remember(run, loaded.campaign)
    (run / "log/tail-000000000001.jsonl").touch()
    (run / "campaign.toml").write_text(loaded.toml())
    return run


@contextlib.contextmanager
def alive(run):
    lock, path = RunLock(run), socket_path(run)
    link_to_run(run, path)
    try:
        yield
    finally:
        withdraw(path)
        lock.release()


def test_the_newest_is_meant_and_said(project, capsys):
    file = file_at(project / "c.toml")
    first = begin(project / "runs/c", file)
    assert find_run(file) == first
    assert capsys.readouterr().err == "", "there is one: nothing to say"
    second = begin(project / "runs/c-2", file)
    with alive(first):
        assert find_run(file) == second
        assert capsys.readouterr().err == (
            "fuzztui: c.toml: runs/c-2, the newest of 2 runs; runs/c still runs\n"
        )
    assert find_run(file) == second
    assert capsys.readouterr().err == "fuzztui: c.toml: runs/c-2, the newest of 2 runs\n"
    assert find_run(first / "campaign.toml") == first, "its own copy means the run itself"
    assert capsys.readouterr().err == ""


def test_numbers_with_gaps(project):
    file = file_at(project / "c.toml")
    for name in ("c", "c-2", "c-3"):
        begin(project / "runs" / name, file)
    shutil.rmtree(project / "runs/c-2")
    campaign = load(file).campaign
    assert another(campaign) == project / "runs/c-4"
    shutil.rmtree(project / "runs/c")
    assert find_run(file) == project / "runs/c-3"
    assert another(campaign) == project / "runs/c-4"
    (project / "runs/c-7").touch()
    (project / "runs/c-x").mkdir()
    assert another(campaign) == project / "runs/c-8"
    assert another(load(project / "runs/c-3/campaign.toml").campaign) == project / "runs/c-8"


def test_what_was_refused_counts_for_nothing(project, monkeypatch, capsys):
    file = file_at(project / "c.toml")
    first = begin(project / "runs/c", file)
    for error in (SupervisorError("no"), Unfit("no", "target.function")):

        def refuse(*args, error=error, **kwargs):
            raise error

        monkeypatch.setattr("fuzztui.cli.run.start", refuse)
        assert main([str(file), "--new", "--detach"]) != 0
        assert not has_begun(project / "runs/c-2")
        assert not (project / "runs/c-3").exists(), "its place is taken again"
        assert find_run(file) == first
    capsys.readouterr()
    begin(project / "runs/c-2", file)
    assert find_run(file) == project / "runs/c-2"


def test_another_files_runs_are_not_its(project, cli):
    file, neighbour = file_at(project / "c.toml"), file_at(project / "c-2.toml")
    first = begin(project / "runs/c", file)
    own = begin(another(load(file).campaign), file)
    assert own == project / "runs/c-2"
    with pytest.raises(CliError, match=r"is a run of .*c\.toml; use --new"):
        find_run(neighbour)
    assert f"{own} is a run of {file}; use --new" in cli(neighbour, "--detach", code=USAGE).err
    theirs = begin(another(load(neighbour).campaign), neighbour)
    assert theirs == project / "runs/c-2-2"
    assert find_run(neighbour) == theirs
    assert find_run(file) == own
    shutil.rmtree(own)
    begin(own, neighbour)
    assert find_run(file) == first, "that one is the neighbour's now"


def test_a_file_and_its_runs_are_moved(project, tmp_path, monkeypatch):
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file)
    begin(project / "runs/c-2", file)
    moved = tmp_path / "moved"
    monkeypatch.chdir(tmp_path)
    project.rename(moved)
    assert find_run(moved / "c.toml") == moved / "runs/c-2", "from above"
    monkeypatch.chdir(moved)
    assert find_run(moved / "c.toml") == moved / "runs/c-2"
    remember(moved / "runs/c", load(moved / "c.toml").campaign)
    assert find_run(moved / "c.toml") == moved / "runs/c-2", "going on makes it no newer"


def test_runs_that_do_not_tell(project):
    """Of an older version: their names and the name in their copy are all there is."""
    file = file_at(project / "c.toml")
    for name in ("c", "c-2"):
        (begin(project / "runs" / name, file) / "supervisor/origin.json").unlink()
    assert find_run(file) == project / "runs/c-2"
    endless = '{"file": "/x", "began": 1' + "0" * 400 + "}"
    for wrong in (
        "",
        "[]",
        endless,
        '{"file": "/x", "began": NaN}',
        '{"file": 1, "began": 2}',
        '{"file": "/x", "began": null}',
    ):
        (project / "runs/c-2/supervisor/origin.json").write_text(wrong)
        assert find_run(file) == project / "runs/c-2"
    (project / "runs/c-2/campaign.toml").write_text("campaign = 3")
    assert find_run(file) == project / "runs/c"


def test_a_directory_that_the_file_names_is_its(project):
    one = file_at(project / "one.toml", '[campaign]\noutput = "out"\n' + TOML)
    other = file_at(project / "other.toml", one.read_text())
    shutil.rmtree(begin(project / "runs/out", one) / "supervisor")
    with pytest.raises(CliError, match="has no run yet"):
        find_run(one)
    run = begin(project / "out", one)
    assert find_run(other) == run
    begin(project / "out-2", one)
    assert find_run(one) == project / "out-2"
    assert find_run(other) == run


def test_from_elsewhere_what_lies_beside_the_file_is_found(project, tmp_path, monkeypatch, capsys):
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file)
    second = begin(project / "runs/c-2", file)
    far = tmp_path / "far"
    far.mkdir()
    monkeypatch.chdir(far)
    assert find_run(file) == second
    assert capsys.readouterr().err == f"fuzztui: its run is {second}, the newest of 2 runs\n"
    newest(load_file(file, []), "; --new starts another run here")
    assert capsys.readouterr().err.endswith("2 runs; --new starts another run here\n")
    (far / "c.toml").symlink_to(file)
    assert find_run(far / "c.toml") == second
    here = begin(far / "runs/c", file)
    capsys.readouterr()
    assert find_run(file) == here, "one that was started here is meant here"
    with alive(second):
        assert find_run(file) == here
        assert capsys.readouterr().err == f"fuzztui: c.toml: runs/c; {second} still runs\n"


def test_from_elsewhere_what_runs_is_found(project, tmp_path, monkeypatch, cli):
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run = begin(scratch / "runs/c", file)
    far = tmp_path / "far"
    far.mkdir()
    monkeypatch.chdir(far)
    assert find_run(file) == project / "runs/c"
    with alive(run):
        assert find_run(file) == run
        cli(file, "--detach", "--set", "campaign.budget=nope", code=USAGE)
        assert newest(load_file(file, ["campaign.name=other"])) is None, "another run is wanted"
        twin = file_at(tmp_path / "twin/c.toml")
        with pytest.raises(CliError, match="has no run yet"):
            find_run(twin)
        with pytest.raises(CliError, match=rf"no run in .*running elsewhere: .*{run}"):
            find_run(None)
    link_to_run(run, socket_path(run))  # its supervisor was killed
    assert find_run(file) == project / "runs/c"


def test_a_sample_is_a_campaign_file_too(project):
    from fuzztui.cli.samples import SAMPLES

    sample = SAMPLES / "crate-zest.toml"
    run = begin(project / "runs" / load(sample).campaign.name, sample)
    assert find_run(type(sample)("crate-zest.toml")) == run


def test_what_is_frozen_does_not_hang_on_where_one_stood(project, tmp_path, monkeypatch):
    file = file_at(project / "c.toml")
    (project / "sub").mkdir()
    straight = load_file(file, []).frozen
    monkeypatch.chdir(project / "sub")
    crooked = load_file(type(file)("../c.toml"), []).frozen
    assert crooked["target"] == straight["target"]


def test_other_users_runs_beside_the_file_are_left_alone(project, tmp_path, monkeypatch):
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(CliError) as e:
        find_run(file)
    assert e.value.code == NOT_RUNNING


def test_status_keeps_its_output_clean(project, capsys):
    file = file_at(project / "c.toml")
    for name in ("c", "c-2"):
        begin(project / "runs" / name, file)
    with alive(project / "runs/c"), alive(project / "runs/c-2"):
        assert main(["status", str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["state"] == "starting"
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["stop", "runs/c"], "stop is a command for a run: use fuzztui ctl runs/c stop"),
        (["stop"], "fuzztui ctl RUN stop"),
        (["pause", "a b"], "fuzztui ctl 'a b' pause"),
        (["add-seed", "runs/c", "seeds"], "fuzztui ctl runs/c add-seed seeds"),
        (["stpo", "runs/c"], "neither a campaign file nor a command; did you mean ctl RUN stop?"),
        (["atach"], "did you mean attach?"),
        (["findings", "runs/c"], "did you mean status or repro?"),
        (["verdicts", "runs/c"], "did you mean ctl RUN judge?"),
        (["skip-mutant", "x"], "did you mean ctl RUN skip-mutants?"),
    ],
)
def test_what_is_a_command_to_a_run_is_said(project, argv, words, cli):
    for there in (False, True):
        if there and argv[0] in ("stop", "pause") and len(argv) > 1:
            file_at(project / argv[0])
        assert words in cli(*argv, code=USAGE).err


def test_a_campaign_file_may_be_called_stop(project, cli):
    file_at(project / "stop", "nonsense")
    assert "stop:1: is not valid TOML" in cli("stop", code=USAGE).err


def test_what_was_put_aside_is_not_meant(project, capsys):
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file).rename(project / "runs/c-20261122")
    assert newest(load(file)) is None
    begin(project / "runs/c-2", file).rename(project / "runs/c")
    assert find_run(file) == project / "runs/c", "what is put into its place is meant"


def test_one_that_is_not_where_it_would_be_is_told(project, capsys):
    file = file_at(project / "c.toml")
    begin(project / "runs/c-2", file)
    assert find_run(file) == project / "runs/c-2"
    assert capsys.readouterr().err == "fuzztui: c.toml: runs/c-2\n"


def test_two_that_begin_another_at_once_begin_two(project, monkeypatch):
    """The other one has the directory's lock, and we come with the next number."""
    file = file_at(project / "c.toml")
    begin(project / "runs/c", file)
    started = []

    def start(where, frozen, progress, module):
        started.append(where.name)
        if where.name == "c-2":
            begin(where, file)
            raise AlreadyRunning(where, 1)

    monkeypatch.setattr("fuzztui.cli.run.start", start)
    monkeypatch.setattr("fuzztui.cli.run.show", lambda options, where, *, over: 0)
    assert main([str(file), "--new"]) == 0
    assert started == ["c-2", "c-3"]


def test_a_start_that_is_killed_leaves_no_file_of_its_own(project):
    file = file_at(project / "c.toml")
    run = project / "runs/c"
    prepare_run(run)
    if not (pid := os.fork()):
        cli_run.start = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        main([str(file), "--headless"])
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert {p.name for p in run.iterdir()} == {"supervisor", "log", "out"}


def test_a_file_that_names_a_numbered_directory(project):
    file = file_at(project / "c.toml", '[campaign]\noutput = "runs/c-2"\n' + TOML)
    run = begin(project / "runs/c-2", file)
    own = begin(another(load(file).campaign), file)
    assert own == project / "runs/c-2-2"
    assert find_run(file) == own != run


def test_a_refused_start_of_another_file_keeps_its_place(project):
    file, neighbour = file_at(project / "c.toml"), file_at(project / "c-2.toml")
    begin(project / "runs/c", file)
    prepare_run(project / "runs/c-2")
    remember(project / "runs/c-2", load(neighbour).campaign)
    assert another(load(file).campaign) == project / "runs/c-3"


@pytest.mark.parametrize(
    ("text", "overrides", "says"),
    [
        (f"campaign.name = 'c'\n{TOML}", ["campaign.budget=1m"], False),
        (f"campaign = {{ output = 'runs/c' }}\n{TOML}", [], True),
        (TOML, ["campaign.output=x"], True),
    ],
)
def test_whether_the_directory_is_named(project, text, overrides, says):
    assert load_file(file_at(project / "c.toml", text), overrides).says_where is says


def test_one_that_is_being_prepared_is_found_and_a_dead_ones_link_is_removed(
    project, tmp_path, monkeypatch
):
    file = file_at(project / "c.toml")
    scratch = tmp_path / "scratch/runs/c"
    prepare_run(scratch)
    remember(scratch, load(file).campaign)
    with alive(scratch):
        assert newest(load(file)) == scratch
        monkeypatch.setattr("os.geteuid", lambda: 12345)
        assert newest(load(file)) is None, "somebody else's"
        monkeypatch.undo()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "xdg"))
    (tmp_path / "xdg").mkdir(mode=0o700)
    link_to_run(scratch, socket_path(scratch))
    link = socket_path(scratch).with_suffix(".run")
    assert link.is_symlink()
    assert scratch not in supervised_runs()
    assert not link.is_symlink()
