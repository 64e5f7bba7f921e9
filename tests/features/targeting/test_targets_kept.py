"""A document in the cache, with what tells whether it still counts."""

import pytest

from fuzztui.features.targeting.analysis import __main__ as child


def test_a_kept_document_counts_until_a_file_of_a_library_changes(tmp_path):
    library = tmp_path / "library.py"
    library.write_text("A = 1\n")
    file = tmp_path / "targets" / "key.json"
    assert child.kept_document(file) is None

    child.keep_document(file, "first", child._states([library]))
    assert child.kept_document(file) == "first"
    library.write_text("A = 22\n")
    assert child.kept_document(file) is None

    child.keep_document(file, "second", child._states([library]))
    assert child.kept_document(file) == "second"
    library.unlink()
    assert child.kept_document(file) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"others": []}', '{"others": {"a": 1}}', "\0"])
def test_a_damaged_document_in_the_cache_is_none(tmp_path, text):
    (tmp_path / "key.json").write_text(text)
    assert child.kept_document(tmp_path / "key.json") is None


def test_the_oldest_documents_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "_MAX_KEPT", 2)
    for n in range(4):
        child.keep_document(tmp_path / f"{n}.json", "text", {})
    assert len([*tmp_path.iterdir()]) == 2
