"""The table [cluster]: what is refused, and by which key; certificates and their files."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from skipped import needs

from fuzztui.features.jobs.config import ClusterConfig, ClusterError, is_loopback
from fuzztui.features.jobs.nodes import scheduler_argv, worker_argv
from fuzztui.features.jobs.opening import connected
from fuzztui.features.jobs.tls import TlsFiles
from fuzztui.run.campaign.load import load
from fuzztui.run.campaign.model import CampaignError


def keys(**table):
    return [key for key, _ in ClusterConfig.of(table).problems()]


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, []),
        ({"slots": 4}, []),
        ({"scheduler": "tls://127.0.0.1:8786"}, []),
        ({"scheduler": "tls://localhost:8786"}, []),
        ({"scheduler": "tls://[::1]:8786"}, []),
        ({"scheduler": "tls://127.0.0.1.evil.org:8786"}, ["tls"]),
        ({"scheduler": "tcp://127.0.0.1:8786"}, ["scheduler"]),
        ({"scheduler": "tcp://localhost:8786", "tls": "d"}, ["scheduler"]),
        ({"scheduler": "tcp://[::1]:8786"}, ["scheduler"]),
        ({"scheduler": "tcp://10.0.0.5:8786"}, ["scheduler"]),
        ({"scheduler": "tcp://box:8786", "tls": "d"}, ["scheduler"]),
        ({"scheduler": "tcp://127.0.0.1.evil.org:8786"}, ["scheduler"]),
        ({"scheduler": "127.0.0.1:8786"}, ["scheduler"]),
        ({"scheduler": "box"}, ["scheduler"]),
        ({"scheduler": "ucx://127.0.0.1:1"}, ["scheduler"]),
        ({"scheduler": "inproc://x"}, ["scheduler"]),
        ({"scheduler": "tls://10.0.0.5:8786"}, ["tls"]),
        ({"scheduler": "tls://10.0.0.5:8786", "tls": "d"}, []),
        ({"ssh": ["user@a"], "tls": "d", "address": "10.0.0.1"}, []),
        ({"ssh": ["user@a"]}, ["tls", "address"]),
        ({"ssh": ["-oProxyCommand=x"], "tls": "d", "address": "10.0.0.1"}, ["ssh"]),
        ({"ssh": ["a b"], "tls": "d", "address": "here"}, ["ssh", "address"]),
        ({"slurm": {"jobs": 2, "options": ["--account=x"]}, "tls": "d", "address": "10.0.0.1"}, []),
        ({"slurm": {"jobs": 0, "x": 1}, "tls": "d", "address": "::1"}, ["slurm"] * 2),
        ({"slurm": {"memory": "1\n#"}, "tls": "d", "address": "::1"}, ["slurm"]),
        ({"kubernetes": {"namespace": "x"}}, ["kubernetes"]),
        ({"scheduler": "tls://127.0.0.1:1", "ssh": ["a"]}, ["ssh", "tls", "address"]),
    ],
)
def test_problems(table, wrong):
    assert keys(**table) == wrong


def test_loopback():
    assert is_loopback("127.9.9.9")
    assert not is_loopback("127.0.0.1.evil.org")
    assert not is_loopback("0.0.0.0")
    assert is_loopback("tls://[::1]:1")
    assert not is_loopback("tls://127.0.0.1@10.0.0.1:1")


def test_certificates_are_private(tmp_path):
    pytest.importorskip("cryptography")
    from fuzztui.features.jobs.tls import days_left, make_certificates, tls_files

    made = tmp_path / "made"
    make_certificates(made)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {(f.name, stat.S_IMODE(f.stat().st_mode)) for f in made.iterdir()} == {
        ("ca.pem", 0o600),
        ("node.pem", 0o600),
        ("node.key", 0o600),
    }, "the authority's key is nowhere"
    assert 360 < days_left(tls_files(str(made))) <= 365
    with pytest.raises(ClusterError, match=r"ca\.pem"):
        make_certificates(made)
    for name, loose in (("node.key", 0o640), ("ca.pem", 0o620), ("node.pem", 0o602), (".", 0o770)):
        strict = stat.S_IMODE((made / name).stat().st_mode)
        (made / name).chmod(loose)
        with pytest.raises(ClusterError, match=f"chmod {strict:o}"):
            tls_files(str(made))
        (made / name).chmod(strict)
    tls_files(str(made))
    with pytest.raises(ClusterError, match="cluster init"):
        tls_files(str(tmp_path))


def test_certificates_for_loopback_are_made_once_by_whoever_is_first(tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    from fuzztui.features.jobs.tls import tls_for

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: tls_for("", "tls://127.0.0.1:1"), range(8)))
    assert len({Path(files.key).read_bytes() for files in found}) == 1
    [files] = set(found)
    made = Path(files.key).parent
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    before = Path(files.key).read_bytes()
    Path(files.ca).unlink()  # a full disk in the middle
    assert tls_for("", "localhost") == files
    assert Path(files.key).read_bytes() != before
    before = Path(files.key).read_bytes()
    monkeypatch.setattr("fuzztui.features.jobs.tls.days_left", lambda files: 0)
    assert tls_for("", "::1") == files
    assert Path(files.key).read_bytes() != before
    with pytest.raises(ClusterError, match="cluster init"):
        tls_for("", "tls://10.0.0.5:8786")


@needs("cluster")
def test_a_run_of_a_former_version_opens_but_does_not_connect(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text(
        '[target]\nfunction = "tomllib:loads"\n[engine]\nkind = "zest"\n'
        '[cluster]\nscheduler = "tcp://127.0.0.1:8786"\n'
    )
    with pytest.raises(CampaignError, match=r"cluster\.scheduler"):
        load(file)
    for part in ("out", "log", "supervisor"):
        (tmp_path / part).mkdir()
    campaign = load(file).campaign
    with pytest.raises(ClusterError, match="tls://127"):
        connected(ClusterConfig.of(campaign.table("cluster")), "")


def test_an_ipv6_address_has_brackets():
    files = TlsFiles("ca", "cert", "key")
    assert "tls://[::1]" in scheduler_argv("python", "::1", 1, files)
    assert "tls://[::1]" in worker_argv("python", "tls://[::1]:1", "::1", 1, files)
    assert "tls://10.0.0.5" in worker_argv("python", "tls://10.0.0.5:1", "10.0.0.5", 1, files)
