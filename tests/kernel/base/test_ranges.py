"""Sets of numbers as text, and texts that are none."""

import pytest

from fuzztui.kernel.base.ranges import MAX_NUMBER, chosen, decode, encode


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([0], "0"), ([7, 3, 4, 5, 3], "3-5,7"), ([1, 3], "1,3")]
)
def test_a_set_and_its_text(numbers, text):
    assert encode(numbers) == text
    assert decode(text) == set(numbers)


def test_what_is_no_range_is_left_out():
    assert decode("x,-1,2-a,1e3, 5,8") == {8}
    assert decode("5-3") == set()
    assert decode(f"{MAX_NUMBER - 1}") == {MAX_NUMBER - 1}
    assert decode("1-99999999999999999999") == set()
    assert decode(f"1-{MAX_NUMBER}") == set()


def test_a_short_text_does_not_stand_for_endless_work():
    hostile = "0-999999," * 20_000
    assert len(decode(hostile)) == MAX_NUMBER
    assert decode("1-5,7-9", 5) == {1, 2, 3, 4, 5}
    among = [3, 5, 8]
    assert len(chosen(hostile, among)) <= 3 * len(among)
    assert chosen("1-4,8,9,5-99", among) == [3, 8, 5, 8]
    assert chosen("x,1", among) == []
