"""The counted work of trials."""

from fuzztui.engines.loop.work import TRIAL, Work


def test_the_mean_work_of_a_trial():
    work = Work()
    assert work.mean == TRIAL, "before the first trial: an empty program"
    work.add(40)
    work.add(0)
    assert (work.done, work.mean) == (2 * TRIAL + 40, TRIAL + 20)
