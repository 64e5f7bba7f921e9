"""``fuzztui cluster`` and ``--cluster``: what is refused, by which option, with exit code 2."""

import socket
import stat

import pytest
from skipped import needs

from fuzztui.cli import main
from fuzztui.cli.cluster import cluster_of
from fuzztui.cli.output import FAILED, USAGE, CliError
from fuzztui.cli.parser import parse


def refused(capsys, *argv):
    assert main([*argv]) == USAGE
    return capsys.readouterr().err


@needs("cluster")
def test_init_makes_private_files_once(tmp_path, cli, capsys):
    made = tmp_path / "tls"
    assert str(made) in cli("cluster", "init", made).out
    assert stat.S_IMODE((made / "node.key").stat().st_mode) == 0o600
    assert "ca.pem" in refused(capsys, "cluster", "init", str(made))


@needs("cluster")
def test_a_scheduler_is_safe_or_not_at_all(tmp_path, capsys):
    assert "--tls" in refused(capsys, "cluster", "scheduler", "10.0.0.5")
    assert "0.0.0.0" in refused(capsys, "cluster", "scheduler", "0.0.0.0:8786")
    for port in ("x", "²", "65536", "9" * 5000):
        assert f"10.0.0.5:{port}" in refused(capsys, "cluster", "scheduler", f"10.0.0.5:{port}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        assert at in refused(capsys, "cluster", "scheduler", at)
    err = refused(capsys, "cluster", "scheduler", "10.0.0.5", "--tls", str(tmp_path))
    assert str(tmp_path) in err


@needs("cluster")
def test_a_worker_too(capsys):
    assert "protocol" in refused(capsys, "cluster", "worker", "10.0.0.5:8786")
    assert "refused" in refused(capsys, "cluster", "worker", "tcp://10.0.0.5:8786")
    assert "refused" in refused(capsys, "cluster", "worker", "tcp://127.0.0.1:8786")
    assert "--tls" in refused(capsys, "cluster", "worker", "tls://10.0.0.5:8786")


def test_checking_local_slots(cli):
    found = cli("cluster", "check", "--json").json
    assert found["problems"] == []
    assert found["slots"] >= 1


def test_an_address_is_no_file(capsys):
    assert "--cluster" in refused(capsys, "cluster", "check", "tls://10.0.0.5:8786")


def test_checking_what_is_wrong(tmp_path, capsys):
    file = tmp_path / "c.toml"
    file.write_text('[cluster]\nscheduler = "tcp://10.0.0.5:1"\n')
    err = refused(capsys, "cluster", "check", str(file))
    assert f"{file}:2: cluster.scheduler" in err
    file.write_text('[cluster]\nschedular = "x"\n')
    assert f'{file}:2: cluster.schedular: is unknown, did you mean "scheduler"' in refused(
        capsys, "cluster", "check", str(file)
    )
    file.write_text("[campaign]\n")
    assert "[cluster]" in refused(capsys, "cluster", "check", str(file))
    file.write_text("[cluster\n")
    assert str(file) in refused(capsys, "cluster", "check", str(file))
    file.write_text('[cluster]\nscheduler = "tls://127.0.0.1:9"\nslots = 0\n')
    assert "cluster.slots" in refused(capsys, "cluster", "check", str(file))


@needs("cluster")
def test_checking_a_directory_without_certificates(tmp_path, cli):
    (tmp_path / "tls").mkdir()
    file = tmp_path / "c.toml"
    file.write_text('[cluster]\nscheduler = "tls://127.0.0.1:9"\ntls = "tls"\n')
    assert "cluster init" in cli("cluster", "check", file, code=FAILED).out


def where(*argv, table=()):
    return cluster_of(parse(["score", "run", *argv]), dict(table))


def test_where_jobs_run(tmp_path):
    table = {"slots": 3}
    assert where() is None
    assert where(table=table).slots == 3
    assert where("--cluster", "none", table=table) is None
    assert where("--cluster", "local", table=table).local
    assert where("--cluster", "tls://127.0.0.1:1").scheduler == "tls://127.0.0.1:1"
    found = where("--cluster", "tls://b:1", "--cluster-tls", str(tmp_path))
    assert (found.scheduler, found.tls) == ("tls://b:1", str(tmp_path))
    file = tmp_path / "c.toml"
    file.write_text("[cluster]\nslots = 5\n")
    assert where("--cluster", str(file), table=table).slots == 5


@pytest.mark.parametrize(
    "argv",
    [
        ["--cluster", "tls://b:1"],
        ["--cluster", "tcp://b:1"],
        ["--cluster", "tcp://127.0.0.1:1"],
        ["--cluster", "nowhere"],
        ["--cluster-tls", "x"],
        ["--cluster", "local", "--cluster-tls", "x"],
    ],
)
def test_what_is_no_place(argv):
    with pytest.raises(CliError) as caught:
        where(*argv)
    assert caught.value.code == USAGE
    assert "--cluster" in str(caught.value)
