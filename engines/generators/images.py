"""Generators of images, with encoders that need no library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.generators.text import ERRONEOUS, mistake
from fuzztui.engines.inputs.source import Source

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOURS: Final = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG's colour type by the number of bytes of a pixel: grey, with alpha, RGB, with alpha."""


_MODES: Final = ("L", "LA", "RGB", "RGBA")
"""Modes of Pillow with one byte for each letter."""


class Png(bytes):
    """A PNG file; a separate type, so that mutations can be directed at it."""

    __slots__ = ()


class Ppm(bytes):
    """A PPM (P6) or PGM (P5) file."""

    __slots__ = ()


class Pixels(bytes):
    """The pixels of an image, row by row."""

    __slots__ = ()


@generator
def gen_pixels(r: Source, size: int, *, each: bool = False) -> Pixels:
    """``size`` bytes: one choice, or with ``each`` one choice for each byte, as in the paper."""
    return Pixels(r.bytes(size, each=each))


@generator
def gen_png(
    r: Source,
    *,
    most: int = 16,
    each: bool = False,
    channels: Sequence[int] = (1, 2, 3, 4),
    erroneous: float = ERRONEOUS,
) -> Png:
    """A PNG image of at most ``most`` x ``most`` pixels with 8 bits for each channel."""
    width, height, depth = r.integer(1, most), r.integer(1, most), r.choose(channels)
    pixels = gen_pixels(r, width * height * depth, each=each)
    row = width * depth
    rows = b"".join(b"\0" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[depth], 0, 0, 0)
    texts = [b"Comment\0" + r.bytes(r.integer(1, 8)) for _ in r.more(0, 2, continues=0.25)]
    chunks = [_chunk(b"IHDR", head), *(_chunk(b"tEXt", text) for text in texts)]
    chunks += [_chunk(b"IDAT", zlib.compress(rows, 1)), _chunk(b"IEND", b"")]
    return Png(_damaged(r, _SIGNATURE + b"".join(chunks), erroneous))


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


@generator
def gen_ppm(r: Source, *, most: int = 16, each: bool = False, erroneous: float = ERRONEOUS) -> Ppm:
    """A PPM or PGM image of at most ``most`` x ``most`` pixels."""
    width, height, depth = r.integer(1, most), r.integer(1, most), r.choose((1, 3))
    pixels = gen_pixels(r, width * height * depth, each=each)
    head = f"P{5 if depth == 1 else 6}\n{width} {height}\n255\n"
    return Ppm(_damaged(r, head.encode() + pixels, erroneous))


def _damaged(r: Source, data: bytes, erroneous: float) -> bytes:
    """The data, truncated or with one byte changed if a mistake is drawn."""
    if not mistake(r, erroneous):
        return data
    at = r.below(len(data))
    return data[:at] if r.boolean() else data[:at] + r.bytes(1) + data[at + 1 :]


def gen_image(r: Source, *, most: int = 16, each: bool = False) -> Any:
    """A Pillow image (``PIL.Image.Image``, not a file) of at most ``most`` x ``most`` pixels.

    Raises ImportError if Pillow is not installed.
    """
    return _image_generator()(r, most, each)


@cache
def _image_generator() -> Callable[[Source, int, bool], Any]:
    pillow = import_module("PIL.Image")  # from the target's interpreter

    @generator(pillow.Image)
    def image(r: Source, most: int, each: bool) -> Any:
        width, height, mode = r.integer(1, most), r.integer(1, most), r.choose(_MODES)
        pixels = gen_pixels(r, width * height * len(mode), each=each)
        return pillow.frombytes(mode, (width, height), bytes(pixels))

    made: Callable[[Source, int, bool], Any] = image
    return made
