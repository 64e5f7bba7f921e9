"""Files of a run that others read: where they are, and nothing outside the run."""

from pathlib import Path

import pytest

from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.looking import read_file


def test_a_finding_is_found_where_a_resumed_afl_fuzz_has_put_it(tmp_path: Path) -> None:
    for date in ("2026-11-25", "2026-11-26"):
        folder = tmp_path / "out" / "main" / f"crashes.{date}"
        folder.mkdir(parents=True)
        (folder / "id:000000").write_text(date)
    assert read_file(tmp_path, "out/main/crashes/id:000000") == b"2026-11-26"


@pytest.mark.parametrize("name", ["campaign.toml", "out/main", "out/main/crashes/id:000009"])
def test_a_file_that_is_not_there_is_no_other_file(tmp_path: Path, name: str) -> None:
    with pytest.raises((FileNotFoundError, ProtocolError)):
        read_file(tmp_path, name)
