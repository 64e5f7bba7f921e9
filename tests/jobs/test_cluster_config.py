"""The table [cluster]: what is refused, and by which key; certificates and their files."""

import stat

import pytest

from fuzztui.campaign.cluster import ClusterConfig, ClusterError, is_loopback


def keys(**table):
    return [key for key, _ in ClusterConfig.of(table).problems()]


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, []),
        ({"slots": 4}, []),
        ({"scheduler": "tcp://127.0.0.1:8786"}, []),
        ({"scheduler": "tcp://localhost:8786"}, []),
        ({"scheduler": "tcp://[::1]:8786"}, []),
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
        ({"scheduler": "tcp://127.0.0.1:1", "ssh": ["a"]}, ["ssh", "tls", "address"]),
    ],
)
def test_problems(table, wrong):
    assert keys(**table) == wrong


def test_loopback():
    assert is_loopback("127.9.9.9")
    assert not is_loopback("127.0.0.1.evil.org")
    assert not is_loopback("0.0.0.0")


def test_certificates_are_private(tmp_path):
    pytest.importorskip("cryptography")
    from fuzztui.jobs.tls import days_left, make_certificates, tls_files

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
    (made / "node.key").chmod(0o640)
    with pytest.raises(ClusterError, match="chmod 600"):
        tls_files(str(made))
    with pytest.raises(ClusterError, match="cluster init"):
        tls_files(str(tmp_path))
