"""The verdicts file: what is accepted, what is refused, and what a change leaves as it was."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest
import tomli

from fuzztui.features.verdicts.file import MAX_SIZE, VerdictsError, change_verdicts, read_verdicts
from fuzztui.kernel.base.signals import signal_signature
from fuzztui.kernel.model.state import FindingVerdict
from fuzztui.kernel.wire.verdicts import MAX_NAME, MAX_NOTE

HAND = """\
# reviewed by me
[[finding]]   # the first
signature = 'A'
verdict = "known"  # why
note = "issue 12"
date = 2026-11-24

# the end
"""


def put(file: Path, verdict: FindingVerdict) -> None:
    change_verdicts(file, [verdict.row()])


def take_back(file: Path, signature: str) -> None:
    change_verdicts(file, [], {signature})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.verdicts.toml"


def test_no_file_is_no_verdicts(file: Path) -> None:
    assert read_verdicts(file) is None
    file.touch()
    assert read_verdicts(file) == {}


def test_what_was_written_is_read(file: Path) -> None:
    a = FindingVerdict(
        "A @ 'x\"\n\x1b", "fixed", "ünï\n'''\"\"\"", "me", "2026-11-24T10:00:00+00:00"
    )
    b = FindingVerdict("B", "wont-fix")
    put(file, a)
    put(file, b)
    assert read_verdicts(file) == {a.signature: a, "B": b}
    assert stat.S_IMODE(file.stat().st_mode) & 0o444
    take_back(file, a.signature)
    assert read_verdicts(file) == {"B": b}
    take_back(file, "B")
    take_back(file, "B")
    assert read_verdicts(file) == {}
    put(file, b)
    assert read_verdicts(file) == {"B": b}


def test_comments_order_and_mode_are_kept(file: Path) -> None:
    file.write_text(HAND)
    file.chmod(0o640)
    put(file, FindingVerdict("B", "fixed"))
    put(file, FindingVerdict("A", "fixed", "issue 12", "me"))
    text = file.read_text()
    for comment in ("# reviewed by me", "# the first", "# why", "# the end"):
        assert comment in text
    assert [row["signature"] for row in tomli.loads(text)["finding"]] == ["A", "B"]
    assert tomli.loads(text)["finding"][0]["verdict"] == "fixed"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_symlink_stays_one(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "shared" / "real.toml"
    real.parent.mkdir()
    real.write_text(HAND)
    file.symlink_to(real)
    put(file, FindingVerdict("B", "fixed"))
    assert file.is_symlink()
    assert set(read_verdicts(real) or ()) == {"A", "B"}


ROW = "[[finding]]\nsignature = 'A'\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\n= 3", ":2"),
        (ROW, ":1"),
        (ROW + "verdict = 'known'\n\n" + ROW + "verdict = 'maybe'", ":5"),
        (ROW + "verdict = 'known'\n" + ROW + "verdict = 'fixed'", ":4"),
        ("[[finding]]\nverdict = 'known'", "signature"),
        ("[finding]\nsignature = 'A'", "finding"),
        ("[[findings]]\nsignature = 'A'", "findings"),
        ("finding = [3]", "finding"),
        (ROW + "verdict = 3", "verdict"),
        (ROW + "verdict = 'known'\nreason = 'x'", "reason"),
        (ROW + "verdict = 'known'\ndate = 'soon'", "date"),
        (ROW + "verdict = 'known'\ndate = [[[]]]", "date"),
        (ROW + f"verdict = 'known'\nnote = '{'x' * (MAX_NOTE + 1)}'", "note"),
        (f"[[finding]]\nsignature = '{'x' * (MAX_NAME + 1)}'\nverdict = 'known'", "signature"),
        (f"[[finding]]\nsignature = '{signal_signature(11)}'\nverdict = 'known'", "signature"),
        ("x = " + "[" * 5000, ""),
        ("\x1b]0;title\x07 = 1", ""),
    ],
)
def test_what_is_wrong_is_named_and_nothing_changes(file: Path, text: str, names: str) -> None:
    file.write_text(text)
    for use in (read_verdicts, lambda f: put(f, FindingVerdict("B", "known"))):
        with pytest.raises(VerdictsError) as error:
            use(file)
        assert str(file) in str(error.value)
        assert names in str(error.value).replace(str(file), "", 1)
        assert str(error.value).isprintable()
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"# a\n# \xff\n", ":2"),
        (b"#" * (MAX_SIZE + 1), "verdicts.toml"),
        (b"[[finding]]\nsignature = %s\nverdict = 'known'\n" % (b"1" * 5000), "too large"),
        (b"[[finding]]\nsignature = 0x%s\nverdict = 'known'\n" % (b"f" * 5000), ":1"),
    ],
    ids=["no text", "too large", "too many digits", "too many hexadecimal digits"],
)
def test_what_cannot_be_read_is_an_error(file: Path, data: bytes, names: str) -> None:
    file.write_bytes(data)
    with pytest.raises(VerdictsError, match=names):
        read_verdicts(file)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_neither_blocks_nor_is_replaced(file: Path, make) -> None:  # type: ignore[no-untyped-def]
    make(file)
    mode = file.stat().st_mode
    with pytest.raises(VerdictsError):
        read_verdicts(file)
    with pytest.raises(VerdictsError):
        put(file, FindingVerdict("B", "known"))
    assert file.stat().st_mode == mode


def test_an_array_of_inline_tables_is_read_and_refused_for_writing(file: Path) -> None:
    text = "finding = [{signature = 'A', verdict = 'known'}]\n"
    file.write_text(text)
    assert set(read_verdicts(file) or ()) == {"A"}
    with pytest.raises(VerdictsError):
        put(file, FindingVerdict("B", "known"))
    with pytest.raises(VerdictsError):
        take_back(file, "A")
    assert file.read_text() == text


def test_what_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(VerdictsError):
        put(tmp_path / "gone" / "c.toml", FindingVerdict("B", "known"))
    file = tmp_path / "c.toml"
    with pytest.raises(VerdictsError):
        put(file, FindingVerdict("\udcff", "known"))
    assert not file.exists()

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("fuzztui.features.verdicts.file.replacing", read_only)
    with pytest.raises(VerdictsError, match="Read-only"):
        put(file, FindingVerdict("B", "known"))


def _write(file: Path, writer: int) -> None:
    for n in range(5):
        put(file, FindingVerdict(f"{writer}.{n}", "known"))


@pytest.mark.slow
def test_writers_of_several_runs_lose_nothing(file: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(file, n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert set(read_verdicts(file) or ()) == {f"{w}.{n}" for w in range(4) for n in range(5)}
