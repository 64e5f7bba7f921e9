"""Statistics of the benchmarks' tables."""

from lab.figures import holm


def test_holm_corrects_for_the_number_of_tests():
    assert holm([0.01, 0.04, 0.03, 0.005]) == [0.03, 0.06, 0.06, 0.02]
    assert holm([0.2, 0.9]) == [0.4, 0.9]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
