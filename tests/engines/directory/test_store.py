"""The files of an instance directory that count as its entries and findings."""

from fuzztui.engines.directory.store import entry_ids


def test_only_names_of_six_digits_or_more_are_entries(tmp_path):
    names = ["id:000003,src:000000", "id:1234567,op:x", "id:7,op:x", "id:00012,op:x", ".state", "x"]
    for name in names:
        (tmp_path / name).touch()
    assert entry_ids(tmp_path) == {3: names[0], 1234567: names[1]}
