"""Make a new file, as a whole, in a directory in which another program may put anything."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import PART, write_all

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def publish_new(file: Path, data: bytes, before: Callable[[], None] = lambda: None) -> bool:
    """Make ``file``, with the mode of a new file; return False if there is anything of its name.

    Never follows a link, and never replaces a file, whenever it is put there. ``before`` is called
    when the content is written and has no name yet. Raises OSError; ``file`` is then not there.
    """
    part = file.with_name(f"{PART}{secrets.token_hex(8)}")
    _create(part, data)
    try:
        before()
        try:
            os.link(part, file, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            try:
                _create(file, data)
            except FileExistsError:
                return False
        return True
    finally:
        part.unlink(missing_ok=True)


def _create(file: Path, data: bytes) -> None:
    """Raises OSError that names the directory: a name that changes would be a new problem."""
    try:
        fd = os.open(file, _FLAGS, 0o666)
        try:
            write_all(fd, data)
        except OSError:  # a full disk
            file.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(file.parent)) from None
