import math

from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.wire.codec import decode_event, encode_event
from fuzztui.kernel.wire.events import Stats
from fuzztui.run.observe.fuzzer_stats import MAX_SIZE, parse_stats, to_stats

AFL_4 = b"""start_time        : 1700000000
last_update       : 1700000060
run_time          : 60
fuzzer_pid        : 4242
cycles_done       : 3
execs_done        : 123456
execs_per_sec     : 2057.60
execs_ps_last_min : 2057.60
corpus_count      : 81
corpus_favored    : 12
max_depth         : 5
cur_item          : 7
pending_favs      : 1
pending_total     : 40
stability         : 99.53%
bitmap_cvg        : 0.52%
saved_crashes     : 2
saved_hangs       : 1
edges_found       : 341
total_edges       : 65536
afl_banner        : [/x]$(touch pwned)
afl_version       : ++4.04c
command_line      : afl-fuzz -i in -o out -- ./t : x
"""

AFL_2 = b"""start_time        : 1
last_update       : 2
fuzzer_pid        : 3
cycles_done       : 0
execs_done        : 999
execs_per_sec     : 10.00
paths_total       : 11
paths_favored     : 5
max_depth         : 2
cur_path          : 4
pending_total     : 6
stability         : 100.00%
unique_crashes    : 1
unique_hangs      : 0
"""


def read(raw: bytes) -> Stats:
    values = parse_stats(raw)
    assert values is not None
    return to_stats("main", values, 1.5)


def test_todays_file():
    assert read(AFL_4) == Stats(
        "main", execs=123456, execs_per_sec=2057.6, corpus=81, favored=12, pending=40, crashes=2,
        hangs=1, edges=341, edges_total=65536, cycles=3, cur_item=7, max_depth=5, stability=99.53,
        age=1.5, pending_favored=1,
    )  # fmt: skip


def test_names_of_afl_2():
    stats = read(AFL_2)
    assert (stats.corpus, stats.favored, stats.cur_item, stats.crashes) == (11, 5, 4, 1)
    assert (stats.edges, stats.edges_total) == (-1, -1)


def test_keys_of_our_own():
    stats = read(AFL_4 + b"edges_valid : 300\nvalid_inputs : 10\ninvalid_inputs : 90\n")
    assert (stats.edges_valid, stats.valid, stats.invalid) == (300, 10, 90)
    assert stats.edges_third_party == -1  # nobody has counted
    assert read(AFL_4 + b"edges_third_party : 0\n").edges_third_party == 0


def test_what_is_not_all_there_is_refused():
    assert parse_stats(b"") is None
    assert parse_stats(AFL_4[:-1]) is None
    assert parse_stats(AFL_4[: AFL_4.index(b"execs_done")]) is None
    assert parse_stats(b"start_time : 1\n") is None


def test_odd_numbers():
    stats = read(
        b"execs_done : 99999999999999999999999999\nexecs_per_sec : inf\ncur_item : -3\n"
        b"stability : nan%\nsaved_crashes : lots\nmax_depth : 3.7\n"
    )
    assert stats.execs == 0
    assert (stats.execs_per_sec, stats.stability) == (0.0, -1.0)
    assert (stats.cur_item, stats.crashes, stats.max_depth) == (-1, 0, 3)


def test_the_last_of_two_counts():
    assert read(b"execs_done : 1\nexecs_done : 2\n").execs == 2


def test_a_cut_file_gives_whole_lines_only():
    raw = b"execs_done : 12\n" + b"command_line : " + b"x" * MAX_SIZE
    assert read(raw[:MAX_SIZE]).execs == 12


@given(st.binary(max_size=300) | st.text().map(lambda s: f"execs_done : {s}\n".encode()))
def test_anything_can_be_logged(raw):
    values = parse_stats(raw)
    if values is not None:
        stats = to_stats("main", values, math.pi)
        assert decode_event(encode_event(stats)) == stats
