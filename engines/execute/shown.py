"""What a generator made of an input, as a text for users; of an image also a thumbnail.

Calls code of the target's values, such as ``__repr__``, so must be called under the guard.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import Any, Final

MAX_TEXT: Final = 20_000
"""Characters of the text that are kept."""

_THUMBNAIL: Final = 32
"""Maximal width and height of a thumbnail, in pixels."""

_MAX_PIXELS: Final = 1 << 22
"""A larger image gets no thumbnail: decoding it takes too long."""

_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"RIFF")
"""How files of images begin."""


@dataclass(frozen=True, slots=True)
class InputText:
    """``form``, ``text``, ``length`` and ``picture`` as in
    :class:`~fuzztui.kernel.wire.events.InputShown`.
    """

    form: str
    text: str
    length: int
    picture: str = ""


def input_text(value: object) -> InputText:
    """Return what a value looks like."""
    if type(value) is str:
        return InputText("text", _encodable(value[:MAX_TEXT]), len(value))
    if (image := _image_of(value)) is not None:
        width, height = image.size
        text = f"{type(value).__name__}, {width} x {height} pixels, {image.mode}"
        return InputText("image", text, len(text), _thumbnail(image))
    text = repr(value)
    return InputText("value", _encodable(text[:MAX_TEXT]), len(text))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _image_of(value: object) -> Any:
    """The value as an image of Pillow, if the target has imported Pillow; else None."""
    pillow = sys.modules.get("PIL.Image")
    if pillow is None:
        return None
    if isinstance(value, pillow.Image):
        return value
    if isinstance(value, bytes) and value.startswith(_IMAGES):
        try:
            return pillow.open(io.BytesIO(value))  # reads only the header
        except Exception:  # a broken image is one that fuzzing makes
            return None
    return None


def _thumbnail(image: Any) -> str:
    try:
        width, height = image.size
        if not 0 < width * height <= _MAX_PIXELS:
            return ""
        small = image.convert("RGB")
        small.thumbnail((_THUMBNAIL, _THUMBNAIL))
        width, height = small.size
        return f"{width}x{height}:{small.tobytes().hex()}"
    except Exception:
        return ""
