"""``fuzztui test --write-examples``: the findings of a suite as ``@example(...)``, as a patch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzztui.base.text import brief, several, without_folders
from fuzztui.campaign import CampaignError, load
from fuzztui.campaign.rundir import RunDir
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import short_path, standing
from fuzztui.export.example_patch import FailingExample, patch
from fuzztui.home.origin import WRITE_EXAMPLES
from fuzztui.inprocess.ask import NoAnswer
from fuzztui.inprocess.shown_inputs import shown_inputs
from fuzztui.log.files import LogError
from fuzztui.log.reader import LogReader
from fuzztui.minimise.turns import minimised_path
from fuzztui.model.properties import new_to_tests
from fuzztui.model.state import Finding
from fuzztui.wire.events import InputShown


def print_patch(run: Path | None, root: Path) -> int:
    """Print the patch for a run. Raises :class:`CliError` if there is none."""
    if run is None:
        raise CliError(
            f"{root}: these tests were not fuzzed here; name those that were, or leave out "
            "--write-examples",
            NOT_RUNNING,
        )
    found = new_to_tests(standing(run).state)
    smallest: dict[tuple[str, str], str] = {}
    for texts in (_recorded(run, found), _minimised(RunDir(run), found)):
        for one in found:
            if text := texts.get(one.key):
                key = (one.property, one.signature or one.key)
                smallest[key] = min(smallest.get(key, text), text, key=len)
    examples = [FailingExample(name, text) for (name, _), text in smallest.items()]
    text, added, refused = patch(_sources(root, examples), examples)
    for name, why in refused.items():
        say(brief(f"{name}: no @example: {why}"))
    print(text, end="")
    how = f"; apply in {root} with: {WRITE_EXAMPLES}"
    what = f"{several(added, 'example')} of {short_path(run)}"
    say(f"{what}{how if added else ': nothing to add'}")
    return DONE


def _recorded(run: Path, found: Sequence[Finding]) -> dict[str, str]:
    """The texts of findings in the log, by the finding's key; not those that are cut there.

    Raises :class:`CliError`.
    """
    of = {(f.instance, f.file): f.key for f in found}
    texts: dict[str, str] = {}
    try:
        for record in LogReader(run).records():
            event = record.event
            if not isinstance(event, InputShown) or event.length > len(event.text):
                continue
            if (key := of.get((event.instance, event.row))) is not None:
                texts[key] = event.text
    except (LogError, OSError) as e:
        raise CliError(f"{run}: {e}") from None
    return texts


def _minimised(run_dir: RunDir, found: Sequence[Finding]) -> dict[str, str]:
    """The texts of minimised findings, by the finding's key. Says why if they are unknown."""
    files = {minimised_path(run_dir, run_dir.instance(f.instance) / f.file): f for f in found}
    files = {file: f for file, f in files.items() if file.is_file()}
    if not files:
        return {}
    progress = Estimate()
    try:
        texts = shown_inputs(
            load(run_dir.campaign).campaign,
            list(files),
            run_dir.instance("main"),
            lambda done: progress.show("reading minimised findings", done, len(files)),
        )
    except (CampaignError, NoAnswer, OSError) as e:
        say(
            brief(f"the minimised findings are left out, because their tests cannot be loaded: {e}")
        )
        return {}
    finally:
        progress.clear()
    # An input whose test is gone, or has other arguments now, may have become one of another test.
    named = {f.key: (without_folders(f.property), texts.get(file, "")) for file, f in files.items()}
    return {key: text for key, (name, text) in named.items() if text.startswith(f"{name}(")}


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
