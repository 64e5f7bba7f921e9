"""``fuzztui test --write-examples``: the findings of a suite as ``@example(...)``, as a patch."""

from __future__ import annotations

from pathlib import Path

from fuzztui.base.text import brief, several
from fuzztui.campaign import FrozenCampaign
from fuzztui.cli.origins import newest
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, say
from fuzztui.cli.runs import standing
from fuzztui.export.example_patch import FailingExample, patch
from fuzztui.log.files import LogError
from fuzztui.log.reader import LogReader
from fuzztui.wire.afl import EXAMPLE_SEED
from fuzztui.wire.events import InputShown


def print_patch(loaded: FrozenCampaign, root: Path) -> int:
    """Print the patch for the newest run. Raises :class:`CliError` if there is no run."""
    run = newest(loaded)
    if run is None:
        raise CliError(
            f"{root}: its tests were not fuzzed here; leave out --write-examples", NOT_RUNNING
        )
    state = standing(run).state
    of = {
        (f.instance, f.file): f.property
        for f in state.findings.values()
        if f.property and f.category == "crash" and f",orig:{EXAMPLE_SEED}" not in f.file
    }
    texts: dict[tuple[str, str], str] = {}
    try:
        for record in LogReader(run).records():
            event = record.event
            if not isinstance(event, InputShown) or event.length > len(event.text):
                continue  # without the end of a text
            if (key := (event.instance, event.row)) in of:
                texts[key] = event.text
    except (LogError, OSError) as e:
        raise CliError(f"{run}: {e}") from None
    examples = [FailingExample(of[key], text) for key, text in texts.items()]
    text, refused = patch(_sources(root, examples), examples)
    for name, why in refused.items():
        say(brief(f"{name}: no @example: {why}"))
    print(text, end="")
    what = several(len(examples) - len(refused), "example")
    say(f"{what}; apply in {root} with: fuzztui test --write-examples | patch -p1")
    return DONE


def _sources(root: Path, examples: list[FailingExample]) -> dict[str, str]:
    """The test files that can be read, by their names in node ids."""
    found: dict[str, str] = {}
    for one in examples:
        path = (root / one.file).resolve()
        try:
            if path.is_relative_to(root.resolve()) and path.is_file():
                with path.open(encoding="utf-8", newline="") as file:  # line ends as they are
                    found[one.file] = file.read()
        except (OSError, ValueError):
            continue
    return found
