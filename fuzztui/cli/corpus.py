"""``fuzztui corpus``: exchange a corpus with other fuzzers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from fuzztui.base.files import files_in, read_if_regular
from fuzztui.base.text import several, visible
from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, CliError, say
from fuzztui.cli.runs import find_run
from fuzztui.cli.score import corpus_of
from fuzztui.export.corpus import FORMATS, NoInput, decoded, encoded, name_of

_MAX_BYTES = 16 << 20
_SHOWN = 10


def export_corpus(options: argparse.Namespace) -> int:
    """Write a run's inputs for another fuzzer."""
    return _write(_of_run(options), options.directory, options.format, text=options.text)


def import_corpus(options: argparse.Namespace) -> int:
    """Write another fuzzer's inputs as seeds."""
    source: Path = options.source
    if not source.is_dir():
        raise CliError(f"{source}: there is no such directory", NOT_RUNNING)
    return _write(_of_other(source), options.directory, FORMATS[0], text=False)


def _of_run(options: argparse.Namespace) -> Iterator[tuple[str, bytes | str]]:
    run = find_run(options.source)
    folders = corpus_of(run, [])
    if options.findings:
        folders += sorted(run.glob("out/*/crashes")) + sorted(run.glob("out/*/hangs"))
    for file in files_in(folders):
        if file.name != "README.txt":
            data = read_if_regular(str(file), _MAX_BYTES)
            yield str(file), "is no regular file, or too large" if data is None else data


def _of_other(source: Path) -> Iterator[tuple[str, bytes | str]]:
    for file in files_in([source]):
        content = read_if_regular(str(file), _MAX_BYTES)
        try:
            found = None if content is None else decoded(content)
            yield str(file), "is no regular file, or too large" if found is None else found
        except NoInput as e:
            yield str(file), str(e)


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
            if file.name in seen or file.exists():
                known += 1
            else:
                file.write_bytes(encoded(data, format_, text=text))
                written += 1
            seen.add(file.name)
    except OSError as e:
        raise CliError(f"{e.filename or target}: {e.strerror or e}") from None
    for line in wrong[:_SHOWN]:
        say(line)
    if len(wrong) > _SHOWN:
        say(f"and {len(wrong) - _SHOWN:,} more without an input")
    print(visible(f"{target}: {several(written, 'new file')}, {several(known, 'duplicate')}"))
    return FAILED if wrong and not seen else DONE
