"""The words of ``fuzztui corpus``."""

import argparse
import resource
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from fuzztui.cli import corpus
from fuzztui.cli.corpus_options import WORDS
from fuzztui.cli.output import FAILED, USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.tools.export.corpus import name_of


def test_each_word_has_options_of_its_own():
    for words, module in (
        (["export", "r", "d"], "corpus.export_corpus"),
        (["import", "d", "s"], "corpus.import_corpus"),
        (["minimise", "r", "-o", "d"], "corpus_care.minimise"),
        (["why", "r", "main/12"], "corpus_why.why"),
    ):
        assert parse(["corpus", *words]).command.args == (module,)
    merge = parse(["corpus", "merge", "d", "r", "--by", "edges", "e", "--jobs", "3"])
    assert merge.command.args == ("corpus_care.merge",)
    assert (merge.sources, merge.by, merge.jobs) == ([Path("r"), Path("e")], "edges", 3)


@pytest.mark.parametrize("word", WORDS)
def test_the_help_of_each_word_fits(word, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("corpus", word, "--help").out
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
def test_wrong_words_are_refused(words, cli):
    assert "error:" in cli("corpus", *words, code=USAGE).err


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


def imported(source: Path, seeds: Path) -> tuple[int, set[bytes]]:
    code = corpus.import_corpus(argparse.Namespace(source=source, directory=seeds))
    return code, {file.read_bytes() for file in seeds.iterdir()}


def test_the_archive_of_seeds_of_oss_fuzz_is_unpacked_by_content(tmp_path, capsys):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "plain").write_bytes(b"plain")
    file = tmp_path / "corpus" / "parse_seed_corpus.zip"
    with ZipFile(file, "w") as archive:
        for name in ("a", "../../escaped", "/absolute", "dir/b", "go"):
            archive.writestr(name, f"of {name}")
        archive.writestr("go", 'go test fuzz v1\nstring("x\\n")\n')
        archive.mkdir("empty")
    of = {b"of a", b"of ../../escaped", b"of /absolute", b"of dir/b", b"of go", b"x\n"}
    assert imported(tmp_path / "corpus", tmp_path / "one") == (0, of | {b"plain"})
    assert imported(file, tmp_path / "two") == (0, of)
    assert {path.name for path in tmp_path.iterdir()} == {"corpus", "one", "two"}
    assert capsys.readouterr().err == ""


def test_archives_that_are_damaged_or_bombs_are_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(corpus, "_MAX_BYTES", 1000)
    monkeypatch.setattr(corpus, "_MAX_UNPACKED", 2500)
    file = tmp_path / "x_seed_corpus.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(1 << 20))
        for n in range(9):
            archive.writestr(str(n), bytes([n]) * 400)
    assert imported(file, tmp_path / "seeds") == (0, {bytes([n]) * 400 for n in range(4)})
    err = capsys.readouterr().err
    assert f"{file}: bomb" in err
    assert f"{file}: 5 of its files" in err
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"\x63\x60", b"\xff\xff", 1))
    assert imported(file, tmp_path / "more")[1] <= {bytes([n]) * 400 for n in range(9)}
    assert f"{file}: " in capsys.readouterr().err
    file.write_bytes(whole[:-30])
    assert imported(file, tmp_path / "none") == (FAILED, set())
    assert f"{file}: " in capsys.readouterr().err


def test_a_file_that_could_not_be_written_is_written_by_the_next_pass(tmp_path, monkeypatch):
    run, target, passes = make_run(tmp_path / "run"), tmp_path / "target", []
    (run / "out/main/queue/id:000000,orig:a").write_bytes(b"a")

    def two_passes(every, one_pass, last):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # as on a disk that is full
        try:
            with pytest.raises(CliError):
                one_pass()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        passes.append(last())
        return passes[0]

    monkeypatch.setattr(corpus, "loop", two_passes)
    options = argparse.Namespace(
        source=run, directory=target, format="raw", text=False, findings=False, every=1.0
    )
    assert corpus.export_corpus(options) == 0
    assert [file.read_bytes() for file in target.iterdir()] == [b"a"]


def test_an_export_follows_no_link_of_the_other_fuzzer(tmp_path):
    run, target = make_run(tmp_path / "run"), tmp_path / "target"
    for data in (b"a", b"b"):
        (run / "out/main/queue" / f"id:00000{data[0] % 2},orig:a").write_bytes(data)
    target.mkdir()
    (target / name_of(b"a", "libfuzzer")).symlink_to(tmp_path / "outside")
    options = parse(["corpus", "export", str(run), str(target)])
    assert options.command(options) == 0
    assert not (tmp_path / "outside").exists()
    assert (target / name_of(b"b", "libfuzzer")).read_bytes() == b"b"
