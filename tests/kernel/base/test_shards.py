"""Which shard a mutant is in."""

import pytest

from fuzztui.kernel.base.shards import ProgramSum, parse_shard

IDS = [f"pkg.mod:Class.method{n}:negate:{n % 7}:!=" for n in range(2000)]


def shards(of, ids=IDS):
    return {i: k for k in range(1, of + 1) for i in ids if parse_shard(f"{k}/{of}").has(i)}


@pytest.mark.parametrize("of", [1, 2, 5, 64])
def test_each_mutant_is_in_one_shard_and_shards_are_of_about_one_size(of):
    found = [[i for i in IDS if parse_shard(f"{k}/{of}").has(i)] for k in range(1, of + 1)]
    assert sorted(id_ for part in found for id_ in part) == sorted(IDS)
    fair = len(IDS) / of
    assert all(abs(len(part) - fair) < 5 * fair**0.5 for part in found)


def test_a_new_mutant_moves_no_other():
    before = shards(5)
    after = shards(5, ["pkg.mod:new:negate:0:!=", *IDS[:1000], *IDS[1100:]])
    assert all(after[i] == before[i] for i in after if i in before)


def test_the_division_is_the_same_in_every_version():
    assert [shards(5)[i] for i in IDS[:8]] == [5, 4, 2, 2, 1, 4, 3, 3]


@pytest.mark.parametrize(
    "text", ["", "2", "0/5", "6/5", "-1/5", "1/0", "a/b", "1/2/3", "1/10001", "1.0/2", None, "²/5"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="2/5"):
        parse_shard(text)


def test_programs_differ_by_their_mutants_and_not_by_their_order():
    def total(*mutants):
        found = ProgramSum()
        for mutant in mutants:
            found.add(*mutant)
        return found.hex, found.mutants

    assert total(("a", "1"), ("b", "2")) == total(("b", "2"), ("a", "1"))
    assert (
        len({total(("a", "1")), total(("a", "2")), total(("b", "1")), total(), total(("a1",))}) == 5
    )
