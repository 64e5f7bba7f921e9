"""Directories in which nothing can be written while the log still can."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from fuzztui.kernel.wire.events import Message
from fuzztui.run.supervise import write_check
from fuzztui.run.supervise.write_check import Notice, WriteCheck


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_it_is_reported_once_and_when_it_is_over(tmp_path, monkeypatch, number):
    said: list[Message] = []
    shown: list[str] = []
    check = WriteCheck(said.append, shown.append)
    places = [tmp_path / "missing", tmp_path]
    asyncio.run(check.check(places))
    assert not said and not shown

    def refuse(directory: Path) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(write_check, "check_writable", refuse)
        for _ in range(3):
            asyncio.run(check.check(places))
    assert [message.level for message in said] == ["error"]
    assert os.strerror(number) in shown[-1]
    asyncio.run(check.check(places))
    assert [message.level for message in said] == ["error", "info"]
    assert shown[-1] == ""


def test_one_part_does_not_wipe_the_words_of_another():
    shown: list[str] = []
    notice = Notice(shown.append)
    log, directories = notice.setter("log"), notice.setter("directories")
    log("the log")
    directories("out")
    log("")
    assert shown[-1] == "out"
    directories("")
    assert shown[-1] == ""
