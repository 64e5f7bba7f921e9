"""The kept corpus: what is added, and that nothing is lost."""

import os
from pathlib import Path

import pytest

from fuzztui.tools.ci.corpus import MAX_INPUT_BYTES, KeptCorpus


@pytest.fixture
def corpus(tmp_path: Path) -> KeptCorpus:
    made = KeptCorpus(tmp_path / "corpus")
    made.make()
    return made


def put(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def test_names_are_by_content(corpus: KeptCorpus, tmp_path: Path) -> None:
    one, same, other = (put(tmp_path, n, d) for n, d in [("1", b"a"), ("2", b"a"), ("3", b"b")])
    first = corpus.add(one, corpus.inputs)
    assert first == corpus.add(same, corpus.inputs) and first.read_bytes() == b"a"
    assert corpus.add(other, corpus.inputs) != first
    assert len(corpus.files()) == 2
    # What another process has cut short is written again.
    first.write_bytes(b"")
    corpus.add(one, corpus.inputs)
    assert first.read_bytes() == b"a"


def test_files_of_users_and_what_is_no_file(corpus: KeptCorpus, tmp_path: Path) -> None:
    (corpus.inputs / "more").mkdir()
    mine = put(corpus.inputs / "more", "b.toml", b"x")
    bug = put(corpus.findings, "a", b"y")
    os.mkfifo(corpus.inputs / "pipe")
    (corpus.inputs / "link").symlink_to("/etc/passwd")
    put(corpus.inputs, ".part-0", b"half")
    assert corpus.files() == [mine, bug]
    assert corpus.add(corpus.inputs / "pipe", corpus.inputs) is None
    assert corpus.add(corpus.inputs / "link", corpus.inputs) is None
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(MAX_INPUT_BYTES + 1)
    assert corpus.add(large, corpus.inputs) is None
    assert KeptCorpus(tmp_path / "nowhere").files() == []
