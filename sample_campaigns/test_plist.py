"""Property tests of plistlib, as a project has them: `hypothesis-spoton.toml` fuzzes one."""

import contextlib
import datetime
import plistlib

from hypothesis import assume, example, given
from hypothesis import strategies as st

EPOCH = datetime.datetime(2001, 1, 1)

texts = st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF), max_size=20)
moments = st.datetimes().map(lambda moment: moment.replace(microsecond=0))
uids = st.builds(plistlib.UID, st.integers(0, 2**64 - 1))
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
leaves = st.booleans() | numbers | texts | st.binary(max_size=20) | moments
values = st.recursive(
    leaves | uids,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(texts, part, max_size=4),
)


@example(value=EPOCH, fmt=plistlib.FMT_XML, sort=True)
@given(value=values, fmt=st.sampled_from(plistlib.PlistFormat), sort=st.booleans())
def test_round_trip(value, fmt, sort):
    assume(fmt is plistlib.FMT_BINARY or "UID(" not in repr(value))  # XML has none
    assert plistlib.loads(plistlib.dumps(value, fmt=fmt, sort_keys=sort)) == value


@given(st.binary(max_size=200))
def test_what_is_no_property_list(data):
    for start in (b"bplist00", b"<?xml", b""):
        with contextlib.suppress(plistlib.InvalidFileException):
            plistlib.loads(start + data)
