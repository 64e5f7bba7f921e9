"""``fuzztui check --build``: the build of an AFL++ target is tried before the campaign."""

import tempfile

import pytest

from fuzztui.cli import main


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def campaign(build):
        file = tmp_path / "c.toml"
        file.write_text(
            f'[campaign]\nbudget = "1s"\n[target]\ncommand = "x"\nsource = "src"\n'
            f"build = '''{build}'''\n[engine]\nkind = \"afl\"\n"
        )
        return str(file)

    return campaign


def test_a_build_is_tried_only_when_it_is_asked_for(campaign, tmp_path, capsys):
    file = campaign(f"touch {tmp_path}/made x")
    assert main(["check", file]) == 0
    assert not (tmp_path / "made").exists()
    assert "--build" in capsys.readouterr().err
    assert main(["check", file, "--build"]) == 0
    assert (tmp_path / "made").exists()
    assert not [*(tmp_path / "temporary").iterdir()]
    assert not (tmp_path / "runs").exists()


def test_a_build_that_fails_is_an_error_with_its_output(campaign, tmp_path, capsys):
    file = campaign("echo 'ld: cannot find libclang_rt.asan.a'; exit 3")
    assert main(["check", file, "--build"]) != 0
    err = capsys.readouterr().err
    assert "libclang-rt-" in err
    (kept,) = (tmp_path / "temporary").glob("*/build.log")
    assert str(kept) in err


def test_without_a_build_there_is_nothing_to_try(tmp_path, capsys):
    file = tmp_path / "c.toml"
    file.write_text('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    assert main(["check", str(file), "--no-run", "--build"]) != 0
    assert "target.build" in capsys.readouterr().err
