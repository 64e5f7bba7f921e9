"""The target's frames: which ones belong to the engine, and the running stack without these."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Final

Stack = Sequence[tuple[CodeType, int]]
"""Code and line of each frame, outermost first."""

_ENGINE: Final = __file__.rpartition("/instrument/")[0] + "/"


def is_engine(code: CodeType) -> bool:
    """Whether ``code`` is the engine's own."""
    return code.co_filename.startswith(_ENGINE)


def frames_above(frame: FrameType | None, limit: int = 2000) -> list[tuple[CodeType, int]]:
    """The running stack from ``frame`` up, outermost first, without the engine's frames."""
    frames: list[tuple[CodeType, int]] = []
    while frame is not None and len(frames) < limit:
        if not is_engine(frame.f_code):
            frames.append((frame.f_code, frame.f_lineno))
        elif frames:
            break  # the executor: all outer frames are the engine's
        frame = frame.f_back
    frames.reverse()
    return frames
