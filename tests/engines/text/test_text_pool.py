"""The pool of fragments: what is kept, how it is written, and what is refused by its reader."""

import os
import random
import subprocess
from pathlib import Path

import pool_reader
import pytest
from compiled_pool import pool_harness, pool_library
from native_pool import NativePool

from fuzztui.engines.text import fragments, poolfile
from fuzztui.engines.text.fragments import (
    EntryFragments,
    Fragments,
    Pool,
    SpliceRecipient,
    balanced,
    key_of,
    packed,
)
from fuzztui.engines.text.reference import Rng
from fuzztui.engines.text.syntax import Spans
from fuzztui.kernel.base.files import read_if_regular

HOST = b"alpha(beta, 17);\n"
SPANS = Spans(
    {"call": ((0, 15),), "number": ((12, 2),)},
    ((0, 5, "identifier"), (6, 4, "identifier")),
    ((0, 5, b"omega"),),
)


def pool(*more: tuple[bytes, Spans]) -> Fragments:
    made = Fragments()
    for data, spans in ((HOST, SPANS), *more):
        made.add(data, spans)
    return made


def outcomes(made: Fragments | Pool, tries: int = 200) -> set[bytes]:
    found = set()
    made = made.pool if isinstance(made, Fragments) else made
    for seed in range(tries):
        host = made.find(HOST)
        assert host is not None
        found.add(made.splice(host, HOST, 1000, Rng(seed)) or HOST)
    return found


def test_a_span_gives_way_to_a_fragment_of_its_kind():
    other = b"f(99)"
    found = outcomes(pool((other, Spans({"number": ((2, 2),)}))))
    assert {made for made in found if b"99" in made} == {b"alpha(beta, 99);\n"}


def test_the_names_of_a_fragment_become_the_names_of_the_host_the_same_one_everywhere():
    other = b"g(x, x, y)"
    names = tuple((at, 1, "identifier") for at in (0, 2, 5, 8))
    found = outcomes(pool((other, Spans({"call": ((0, 10),)}, names))))
    assert b"g(x, x, y);\n" in found
    assert b"g(alpha, alpha, beta);\n" in found
    assert not any(b"(alpha, x" in made or b"(x, alpha" in made for made in found)


def test_names_are_renamed_to_names_of_their_kind_only():
    other = b"g(x)"
    found = outcomes(pool((other, Spans({"call": ((0, 4),)}, ((2, 1, "type_identifier"),)))))
    assert {made for made in found if b"g" in made} == {b"g(x);\n"}


def test_a_template_is_an_edit_of_its_entry():
    host = pool().pool.find(HOST)
    assert host is not None
    assert pool().pool.template(host, HOST, 1000, Rng(1)) == b"omega(beta, 17);\n"
    assert pool().pool.template(host, HOST, 3, Rng(1)) is None, "the limit"


def test_spans_follow_what_was_done_before_them():
    host = SpliceRecipient(HOST, EntryFragments())
    now = b"int " + HOST[:6] + b"zz" + HOST[6:]
    host.follow(b"int " + HOST)
    host.follow(now)
    assert host.place(0, 6) == 4
    assert host.place(12, 2) == 18, "moved by both"
    assert host.place(5, 3) == -1, "changed"
    host.reset()
    assert host.place(5, 3) == 5


def test_an_input_that_is_not_known_has_no_host():
    assert pool().pool.find(HOST + b" ") is None
    assert pool().pool.find(b"") is None


def test_the_sample_of_a_kind_does_not_depend_on_the_order_and_is_bounded():
    inputs = [b"%d" % n for n in range(1000, 2500)]
    one, other = Fragments(), Fragments()
    for data in inputs:
        one.add(data, Spans({"number": ((0, 4),)}))
    for data in inputs[::-1] * 2:
        other.add(data, Spans({"number": ((0, 4),)}))
    kept = one.pool.fragments["number"]
    assert kept == other.pool.fragments["number"]
    assert len(kept) == fragments.MAX_A_KIND
    low = sum(fragment.text < b"1750" for fragment in kept)
    assert 60 < low < 140, "as likely from anywhere"


def test_all_fragments_together_are_bounded(monkeypatch):
    monkeypatch.setattr(fragments, "MAX_FRAGMENTS", 20_000)
    made = Fragments()
    for n in range(200):
        made.add(b"%04d" % n * 250, Spans({"big": ((0, 1000),), "small": ((0, 4),)}))
    sizes = {k: sum(f.size for f in all_) for k, all_ in made.pool.fragments.items()}
    assert sum(sizes.values()) <= 20_000
    assert sizes["small"] == 200 * 20, "what takes the most room makes it"


def test_the_oldest_entries_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(fragments, "MAX_ENTRIES", 2_000)
    made = Fragments()
    inputs = [b"%04d" % n for n in range(100)]
    for data in inputs:
        made.add(data, Spans({"number": ((0, 4),)}))
    assert made.pool.find(inputs[0]) is None
    assert made.pool.find(inputs[-1]) is not None


def test_what_is_passing_has_room_of_its_own(monkeypatch):
    monkeypatch.setattr(fragments, "MAX_ENTRIES", 200)
    monkeypatch.setattr(fragments, "MAX_PASSING", 200)
    made = Fragments()
    inputs = [b"%04d" % n for n in range(100)]
    first, kept, *others = map(key_of, inputs)
    for n, data in enumerate(inputs):
        made.add(data, Spans({"number": ((0, 4),)}), passing=n > 0)
        if kept in made:
            made.keep(kept, passing=True)
    assert {first, kept, others[-1]} <= made.pool.entries.keys()
    assert others[0] not in made
    made.keep(kept)  # wanted permanently, it takes no room from those that pass
    for data in inputs[2:]:
        made.add(data, Spans({"number": ((0, 4),)}), passing=True)
    assert {first, kept} <= made.pool.entries.keys()


def test_a_fragment_with_too_many_names_keeps_them():
    data = b"a " * 100
    names = tuple((2 * i, 1, "identifier") for i in range(100))
    made = Fragments()
    made.add(data, Spans({"block": ((0, 200), (0, 20))}, names))
    assert sorted(len(f.names) for f in made.pool.fragments["block"]) == [0, 10]


def test_what_is_written_is_what_is_read(tmp_path):
    made = pool((b"g(x, 1)", Spans({"call": ((0, 7),)}, ((0, 1, "identifier"),))))
    size = poolfile.write(tmp_path / "pool", made.pool)
    assert (tmp_path / "pool").stat().st_size == size
    assert (tmp_path / "pool").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["pool"]
    read = pool_reader.parse((tmp_path / "pool").read_bytes())
    assert {k: list(v) for k, v in read.fragments.items()} == made.pool.fragments
    assert {key: read.entries[key] for key in read.entries} == made.pool.entries
    assert outcomes(read) == outcomes(made)


def test_balanced_groups_are_exchanged():
    found = {balanced(b'a[1] = f("x");', 99, Rng(n), b'b[22]; c("yy"); {}') for n in range(99)}
    assert b'a[22] = f("x");' in found
    assert b'a[1] = f("yy");' in found
    assert b'a[1] = f("x"); c("yy");' not in found, "there is one semicolon"
    assert balanced(b"", 99, Rng(1), b"(a)") is None
    assert balanced(b"(a)", 99, Rng(1), b"") is None
    assert balanced(b"(a)", 99, Rng(1), b"(a)") is None


# ------------------------------------------------------------------ the reader in C


@pytest.fixture
def native(tmp_path):
    reader = NativePool(pool_library(), str(tmp_path / "pool"))
    yield reader
    reader.close()


@pytest.mark.slow
def test_a_new_file_is_noticed_and_a_spoilt_one_refused(native, tmp_path):
    path = tmp_path / "pool"
    assert not native.refresh(), "there is none yet"
    assert native.find(HOST) is None
    poolfile.write(path, pool().pool)
    assert native.refresh()
    assert not native.refresh(), "the same file"
    assert native.find(HOST) is not None
    torn = path.read_bytes()[:-1]
    path.unlink()
    path.write_bytes(torn)
    assert not native.refresh()
    assert native.trouble == "the file is incomplete"
    assert native.find(HOST) is not None, "the one before is still good"
    path.unlink()
    assert not native.refresh()
    poolfile.write(path, pool((b"2", Spans({"number": ((0, 1),)}))).pool)
    assert native.refresh()
    assert native.trouble == ""


@pytest.mark.parametrize("kind", ["fifo", "link", "directory", "empty"])
def test_what_is_no_file_is_passed_over(native, tmp_path, kind):
    path, good = tmp_path / "pool", tmp_path / "good"
    poolfile.write(good, pool().pool)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "link":
            path.symlink_to(good)
        case "directory":
            path.mkdir()
        case _:
            path.write_bytes(b"")
    assert not native.refresh()
    assert native.find(HOST) is None
    with pytest.raises(pool_reader.PoolError):
        pool_reader.parse(read_if_regular(path, pool_reader.MAX_BYTES) or b"")


def test_each_wrong_number_is_refused_or_harmless(native, tmp_path):
    """Every 32-bit number of a small pool, one at a time, as something else."""
    good = poolfile.dump(pool((b"g(x, 1)", Spans({"call": ((0, 7),)}, ((0, 1, "w"),)))).pool)
    path = tmp_path / "pool"
    for at in range(0, len(good), 4):
        for value in (b"\xff\xff\xff\xff", b"\0\0\0\x80"):
            path.unlink(missing_ok=True)
            path.write_bytes(good[:at] + value + good[at + 4 :])
            os.utime(path, (at, len(value) + value[0]))
            native.refresh()
            if (host := native.find(HOST)) is not None:
                for seed in range(4):
                    native.splice(host, HOST, 1000, Rng(seed))
                    native.template(host, HOST, 1000, Rng(seed))
            try:
                read = pool_reader.parse(path.read_bytes())
                if found := read.find(HOST):
                    read.splice(found, HOST, 1000, Rng(at))
            except pool_reader.PoolError:
                pass


@pytest.mark.slow
def test_spoilt_pools_do_no_harm_under_sanitizers(tmp_path):
    flags = "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    program = pool_harness(tmp_path / "harness", *flags)
    poolfile.write(tmp_path / "pool", pool(*others(20)).pool)
    (tmp_path / "input").write_bytes(HOST)
    argv = [program, tmp_path / "pool", tmp_path / "input", tmp_path / "spoilt", "3000", "7"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    taken, changed = map(int, done.stdout.split())
    assert taken > 200
    assert changed > 2000


def others(many: int) -> list[tuple[bytes, Spans]]:
    """Inputs with calls, numbers and names at random."""
    rng = random.Random(many)
    made = []
    for n in range(many):
        data = b"f%d(x%d, %d);" % (n, rng.randrange(9), rng.randrange(1000))
        names = ((0, data.index(b"("), "identifier"), (data.index(b"x"), 2, "identifier"))
        made.append((data, Spans({"call": ((0, len(data) - 1),)}, names, ((0, 1, b"g"),))))
    return made


def test_an_entry_has_each_of_its_identifiers_once():
    entry = EntryFragments.of(
        b"a b a", Spans({}, ((0, 1, "i"), (2, 1, "i"), (4, 1, "i"), (2, 1, "t")))
    )
    assert entry.words == (("i", packed([(0, 1), (2, 1)])), ("t", packed([(2, 1)])))


def test_keys_tell_inputs_apart():
    assert key_of(b"abc") >> 32 == 3
    assert len({key_of(b"%d" % n) for n in range(1000)}) == 1000


def test_pools_are_written_beside_and_renamed(tmp_path):
    (tmp_path / "pool").symlink_to(tmp_path / "elsewhere")
    poolfile.write(tmp_path / "pool", Pool())
    assert not Path(tmp_path / "elsewhere").exists()
    assert not (tmp_path / "pool").is_symlink()
