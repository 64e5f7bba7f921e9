"""``fuzztui corpus``: exchange a corpus with other fuzzers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, CliError, say
from fuzztui.cli.score import corpus_of
from fuzztui.cli.sync import loop
from fuzztui.cli.target_runs import find_one_target
from fuzztui.kernel.base.files import files_in, open_regular, read_if_regular, status
from fuzztui.kernel.base.publish import publish_new
from fuzztui.kernel.base.text import several, visible
from fuzztui.tools.export.corpus import FORMATS, NoInput, decoded, encoded, name_of

_MAX_BYTES = 16 << 20
_SHOWN = 10
_ARCHIVE = "_seed_corpus.zip"
_MAX_MEMBERS = 100_000
_MAX_UNPACKED = 1 << 30
"""Bytes of all files in an archive."""


def export_corpus(options: argparse.Namespace) -> int:
    """Write a run's inputs for another fuzzer, once or every ``--every`` until a signal comes."""
    read: dict[Path, tuple[int, int]] = {}

    def one_pass() -> int:
        inputs = _of_run(options, read)
        return _write(inputs, options.directory, options.format, text=options.text)

    return loop(options.every, one_pass, one_pass) if options.every else one_pass()


def import_corpus(options: argparse.Namespace) -> int:
    """Write another fuzzer's inputs as seeds."""
    source: Path = options.source
    if not (source.is_dir() or (source.name.endswith(_ARCHIVE) and source.is_file())):
        raise CliError(
            f"{source}: there is no such directory, and no file *{_ARCHIVE}", NOT_RUNNING
        )
    return _write(_of_other(source), options.directory, FORMATS[0], text=False)


def _of_run(
    options: argparse.Namespace, read: dict[Path, tuple[int, int]]
) -> Iterator[tuple[str, bytes | str]]:
    """The inputs of files that are not in ``read``, or have changed: time and size by path."""
    run = find_one_target(options.source)
    folders = corpus_of(run, [])
    if options.findings:
        folders += sorted(run.glob("out/*/crashes")) + sorted(run.glob("out/*/hangs"))
    for file in files_in(folders):
        found = status(file)
        if found is None or file.name == "README.txt":
            continue
        now = found.st_mtime_ns, found.st_size
        if read.get(file) != now:
            data = read_if_regular(str(file), _MAX_BYTES)
            yield str(file), "is no regular file, or too large" if data is None else data
            read[file] = now  # after it was written: the next pass tries again what failed


def _of_other(source: Path) -> Iterator[tuple[str, bytes | str]]:
    for file in files_in([source]):
        if file.name.endswith(_ARCHIVE):
            yield from _unpacked(file)
        else:
            yield str(file), _decoded(read_if_regular(str(file), _MAX_BYTES))


def _decoded(content: bytes | None) -> bytes | str:
    try:
        return "is no regular file, or too large" if content is None else decoded(content)
    except NoInput as e:
        return str(e)


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes | str]]:
    """The inputs in OSS-Fuzz's archive of seeds. Its names are shown, never used as paths."""
    left = _MAX_UNPACKED
    try:
        with os.fdopen(open_regular(archive), "rb") as file, ZipFile(file) as opened:
            members = [member for member in opened.infolist() if not member.is_dir()]
            for number, member in enumerate(members):
                if number >= _MAX_MEMBERS or left <= 0:
                    yield str(archive), f"{len(members) - number:,} of its files are left out"
                    return
                data = _member(opened, member)
                left -= len(data)
                large = len(data) > _MAX_BYTES
                name = f"{archive}: {member.filename}"
                yield name, data if isinstance(data, str) else _decoded(None if large else data)
    except Exception as e:  # damage makes zipfile raise errors of any class
        yield str(archive), f"cannot be unpacked: {e}"


def _member(opened: ZipFile, member: ZipInfo) -> bytes | str:
    try:
        with opened.open(member) as packed:
            return packed.read(_MAX_BYTES + 1)
    except Exception as e:  # encrypted, damaged, or compressed in an unknown way
        return f"cannot be unpacked: {e}"


def _write(
    inputs: Iterator[tuple[str, bytes | str]], target: Path, format_: str, *, text: bool
) -> int:
    """Write each input once; a text in place of an input is the reason why there is none."""
    written = known = 0
    seen: set[str] = set()
    wrong: list[str] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, data in inputs:
            if isinstance(data, str):
                wrong.append(f"{name}: {data}")
                continue
            file = target / name_of(data, format_)
            is_new = not (file.name in seen or os.path.lexists(file))
            is_new = is_new and publish_new(file, encoded(data, format_, text=text))
            written, known = written + is_new, known + (not is_new)
            seen.add(file.name)
    except OSError as e:
        raise CliError(f"{e.filename or target}: {e.strerror or e}") from None
    for line in wrong[:_SHOWN]:
        say(line)
    if len(wrong) > _SHOWN:
        say(f"and {len(wrong) - _SHOWN:,} more without an input")
    print(visible(f"{target}: {several(written, 'new file')}, {several(known, 'duplicate')}"))
    return FAILED if wrong and not seen else DONE
