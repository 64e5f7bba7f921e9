"""The user's directories, also of a user without a home."""

import pwd

import pytest

from fuzztui.cli import main
from fuzztui.kernel.base.user_dirs import cache_dir, config_dir, state_dir

VARIABLES = {
    "XDG_CACHE_HOME": (cache_dir, ".cache"),
    "XDG_CONFIG_HOME": (config_dir, ".config"),
    "XDG_STATE_HOME": (state_dir, ".local/state"),
}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_or_the_home(variable, tmp_path, monkeypatch):
    directory, usual = VARIABLES[variable]
    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative"):
        monkeypatch.setenv(variable, ignored)
        assert directory() == tmp_path / usual / "fuzztui"
    monkeypatch.setenv(variable, "/x")
    assert str(directory()) == "/x/fuzztui"


@pytest.fixture
def homeless(monkeypatch):
    """A user without an account, as in a container with any user id."""

    def unknown(uid):
        raise KeyError(uid)

    for name in ("HOME", *VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_without_a_home(homeless, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for directory in (cache_dir, state_dir):
        with pytest.raises(OSError, match="home"):
            directory()
    assert not config_dir().exists()
    assert main(["themes"]) == 0
    assert "midwatch" in capsys.readouterr().out
    assert main(["complete-words", "fish", "doct"]) == 0
    assert "doctor\t" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []
