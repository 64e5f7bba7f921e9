"""Looking at an input file never hangs, never leaves the run, never shows raw bytes."""

import os

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.features.inputs.screen.hexview import LIMIT, Preview, hex_rows, load, text_lines
from fuzztui.features.inputs.screen.input_views import file_lines


def test_a_regular_file(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_bytes(b"[a]\nb = 1\n")
    preview = load(tmp_path, "out/a")
    assert (preview.data, preview.size, preview.problem) == (b"[a]\nb = 1\n", 10, "")
    assert preview.is_text
    assert text_lines(preview) == ["[a]", "b = 1", ""]


def test_a_huge_file_is_read_at_its_start_only(tmp_path):
    with (tmp_path / "big").open("wb") as f:
        f.truncate(10 << 30)
    preview = load(tmp_path, "big")
    assert (len(preview.data), preview.size) == (LIMIT, 10 << 30)


def test_fifo_directory_and_device(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dir").mkdir()
    assert load(tmp_path, "fifo").problem == "not a regular file"
    assert load(tmp_path, "dir").problem
    assert load(tmp_path, "missing").problem == "the file does not exist any more"


def test_nothing_outside_the_run(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret").write_text("s")
    (run / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", "/etc/passwd", "link", "a\0b"):
        preview = load(run, path)
        assert preview.problem
        assert preview.data == b""


def test_the_directory_of_an_adopted_fleet_is_a_link_and_nothing_outside_it_is_read(tmp_path):
    run, queue = tmp_path / "run", tmp_path / "fleet/main/queue"
    run.mkdir()
    queue.mkdir(parents=True)
    (run / "out").symlink_to(tmp_path / "fleet")
    (queue / "entry").write_bytes(b"abc")
    assert load(run, "out/main/queue/entry").problem, "the directory does not name this run"
    (tmp_path / "fleet/.fuzztui-run").write_text(str(run))
    (tmp_path / "secret").write_text("s")
    (queue / "link").symlink_to(tmp_path / "secret")
    assert load(run, "out/main/queue/entry").data == b"abc"
    for path in ("out/main/queue/link", "out/../../secret", "out//etc/passwd", "out"):
        assert load(run, path).problem
        assert load(run, path).data == b""


def test_a_link_loop_is_a_problem_not_a_crash(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert load(tmp_path, "a").problem


@given(st.binary(max_size=200), st.sampled_from([4, 8, 16]))
def test_hex_rows_hold_every_byte(data, per_row):
    rows = list(hex_rows(data, per_row))
    assert bytes.fromhex("".join(h for _, h, _ in rows)) == data
    assert len({len(h) for _, h, _ in rows}) <= 1
    assert all(text.isprintable() for row in rows for text in row)


@given(st.binary(max_size=300), st.integers(10, 120))
def test_previews_are_safe_to_draw(data, width):
    for line in file_lines(Preview(data, len(data)), width):
        assert all(span.text.isprintable() for span in line)


def test_text_is_text_even_when_cut_inside_a_character():
    assert Preview("naïve é".encode()[:-1], 9).is_text
    assert not Preview(b"\xff\xfe\x00\x01" * 9, 36).is_text
    assert not Preview(b"\x00\x01\x02abc", 6).is_text
