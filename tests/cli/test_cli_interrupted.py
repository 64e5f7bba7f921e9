"""Ctrl-C while a campaign starts: what is left behind is named."""

import pytest

from fuzztui.cli import run as cli
from fuzztui.remote.lock import RunLock


@pytest.mark.parametrize("ran", [False, True])
def test_ctrl_c_names_what_is_left(tmp_path, monkeypatch, capsys, ran):
    (tmp_path / "supervisor").mkdir()
    locks = []

    def interrupted(options, where, *, over):
        if ran:
            locks.append(RunLock(where))
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_shown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cli._show(None, tmp_path, over=False)
    err = capsys.readouterr().err
    assert (f"fuzztui ctl {tmp_path} stop" in err) is ran
    assert str(tmp_path) in err


def test_a_start_that_ends_with_its_starter_is_waited_for(tmp_path, capsys):
    (tmp_path / "supervisor").mkdir()
    lock = RunLock(tmp_path)  # the supervisor has not yet noticed

    def noticed(_s):
        lock.release()

    with pytest.MonkeyPatch.context() as m, pytest.raises(KeyboardInterrupt):
        m.setattr(cli.time, "sleep", noticed)
        with cli._left_behind(tmp_path, 60.0):
            raise KeyboardInterrupt
    assert "stop" not in capsys.readouterr().err
