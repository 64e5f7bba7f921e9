"""Running an exported file: which tests fail, and which only on another date."""

import sys
from pathlib import Path

import pytest

from fuzztui.tools.export.pytest_run import CannotRun, PytestRunner

pytestmark = pytest.mark.slow

TESTS = """\
import datetime, time
from datetime import date, datetime as moment

YEAR = {year}

class Later(moment):
    pass

def test_date(): assert date.today().year == YEAR
def test_now(): assert datetime.datetime.now().year == YEAR
def test_aware(): assert moment.now(datetime.timezone.utc).year == YEAR
def test_today(): assert moment.today().year == YEAR
def test_subclass(): assert Later.now().year == YEAR
def test_utc(): assert moment.utcnow().year == YEAR
def test_time(): assert moment.fromtimestamp(time.time()).year == YEAR
def test_ns(): assert moment.fromtimestamp(time.time_ns() // 10**9).year == YEAR
def test_clock(): assert time.gmtime(time.clock_gettime(time.CLOCK_REALTIME)).tm_year == YEAR
def test_local(): assert time.localtime().tm_year == time.gmtime(None).tm_year == YEAR
def test_text(): assert time.ctime()[-4:] == time.asctime()[-4:] == time.strftime("%Y") == str(YEAR)

def test_stays_fixed():
    assert time.gmtime(0).tm_year == 1970 and time.strftime("%Y", time.gmtime(0)) == "1970"
    assert moment.fromtimestamp(0).year < 1971
    assert datetime.datetime(2020, 1, 2).date() == date(2020, 1, 2)

def test_stays_the_same_class():
    assert type(moment.now()) is type(moment(2020, 1, 1)) and type(date.today()) is date
    assert type(moment.now().date()) is date and type(Later.today()) is Later
    assert type(moment.combine(date.today(), datetime.time())) is datetime.datetime
    assert repr(moment(2020, 1, 1)) == "datetime.datetime(2020, 1, 1, 0, 0)"

def test_stays_monotonic(): assert 0 <= time.time() - time.time() + 1e-3
"""


def test_tests_that_depend_on_the_date_fail_on_another(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    file = tmp_path / "test_it.py"
    file.write_text(TESTS.format(year=datetime.now(UTC).year))
    runner = PytestRunner(sys.executable, file, {"TZ": "UTC"})
    assert runner.failing("0") == set()
    names = {line[4:].partition("(")[0] for line in TESTS.split("\n") if line[:8] == "def test"}
    dated = {name for name in names if "stays" not in name}
    assert len(dated) == 11
    assert runner.failing("0", other_date=True) == dated


def test_a_file_that_cannot_be_imported_is_no_result(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("1 / 0\n")
    for other_date in (False, True):
        with pytest.raises(CannotRun):
            PytestRunner(sys.executable, file, {}).failing("0", other_date=other_date)
