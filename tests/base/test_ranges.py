"""Sets of numbers as text, and texts that are none."""

import pytest

from fuzztui.base.ranges import MAX_NUMBER, decode, encode


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
