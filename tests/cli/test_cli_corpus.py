"""The words of ``fuzztui corpus``."""

from pathlib import Path

import pytest

from fuzztui.cli import corpus, corpus_care, corpus_why
from fuzztui.cli.corpus_options import WORDS
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.parser import parse


def test_each_word_has_options_of_its_own():
    assert parse(["corpus", "export", "r", "d"]).command is corpus.export_corpus
    assert parse(["corpus", "import", "d", "s"]).command is corpus.import_corpus
    assert parse(["corpus", "minimise", "r", "-o", "d"]).command is corpus_care.minimise
    merge = parse(["corpus", "merge", "d", "r", "--by", "edges", "e", "--jobs", "3"])
    assert merge.command is corpus_care.merge
    assert (merge.sources, merge.by, merge.jobs) == ([Path("r"), Path("e")], "edges", 3)
    assert parse(["corpus", "why", "r", "main/12"]).command is corpus_why.why


@pytest.mark.parametrize("word", WORDS)
def test_the_help_of_each_word_fits(word, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        parse(["corpus", word, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert f"corpus {word}" in out


@pytest.mark.parametrize(
    "words",
    [
        [], ["minimize"], ["export"], ["import", "d", "s", "--format", "go"], ["minimise", "r"],
        ["merge", "d"], ["merge", "d", "r", "--by", "lines"], ["why", "r"],
        ["minimise", "r", "-o", "d", "--jobs", "0"],
    ],
)  # fmt: skip
def test_wrong_words_are_refused(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["corpus", *words])
    assert ended.value.code == USAGE
    assert "error:" in capsys.readouterr().err


def make_run(path: Path) -> Path:
    for part in ("supervisor", "log", "out/main/queue"):
        (path / part).mkdir(parents=True)
    (path / "campaign.toml").write_text("")
    return path


def test_nothing_is_written_into_a_run_or_over_files(tmp_path):
    run = make_run(tmp_path / "run")
    (tmp_path / "filled").mkdir()
    (tmp_path / "filled" / "x").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(run)
    for output in ("filled", "file", "run", "run/new", "run/out/main/queue", "link", "link/new"):
        options = parse(["corpus", "minimise", str(run), "-o", str(tmp_path / output)])
        with pytest.raises(CliError) as refused:
            options.command(options)
        assert refused.value.code == USAGE
        assert output in str(refused.value)
    for target in ("file", "run", "run/out/main/queue", "link/new"):
        options = parse(["corpus", "merge", str(tmp_path / target), str(run)])
        with pytest.raises(CliError) as refused:
            options.command(options)
        assert refused.value.code == USAGE
        assert target in str(refused.value)
    # A directory of runs is no directory of inputs.
    options = parse(["corpus", "merge", str(tmp_path / "new"), str(tmp_path)])
    with pytest.raises(CliError) as refused:
        options.command(options)
    assert refused.value.code == USAGE
    assert not (tmp_path / "new").exists()
