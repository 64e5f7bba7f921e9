"""``fuzztui test --write-examples``: the findings of a suite as ``@example(...)``, as a patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, say, short_path
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import standing
from fuzztui.features.minimise.rewrite import minimised_path
from fuzztui.kernel.base.files import inside
from fuzztui.kernel.base.text import brief, several, without_folders
from fuzztui.kernel.model.examples import new_to_tests
from fuzztui.kernel.model.state import Finding
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.home.finding import WRITE_EXAMPLES
from fuzztui.run.inprocess.ask import NoAnswer
from fuzztui.tools.export.example_patch import FailingExample, patch
from fuzztui.tools.export.made_examples import MadeExample, made_examples


def print_patch(run: Path | None, root: Path) -> int:
    """Print the patch for a run. Raises :class:`CliError` if there is none."""
    if run is None:
        raise CliError(
            f"{root}: these tests were not fuzzed here; name those that were, or leave out "
            "--write-examples",
            NOT_RUNNING,
        )
    smallest: dict[tuple[str, str], MadeExample] = {}
    for one, made in _made(RunDir(run), new_to_tests(standing(run).state)):
        key = (one.property, one.signature or one.key)
        smallest[key] = min(smallest.get(key, made), made, key=lambda m: (m.why, m.size))
    examples = [FailingExample(name, made) for (name, _), made in smallest.items()]
    text, added, refused = patch(_sources(root, examples), examples)
    for name, why in refused.items():
        say(brief(f"{name}: no @example: {why}"))
    print(text, end="")
    how = f"; apply in {root} with: {WRITE_EXAMPLES}"
    what = f"{several(added, 'example')} of {short_path(run)}"
    say(f"{what}{how if added else ': nothing to add'}")
    return DONE


def _made(run_dir: RunDir, found: Sequence[Finding]) -> Iterator[tuple[Finding, MadeExample]]:
    """Run each finding and its minimised form; yield the arguments with which its test is called.

    The log has these arguments as texts, but they are not used: a log may come from someone else,
    and the patch is code. Raises :class:`CliError`.
    """
    files: dict[Path, Finding] = {}
    for one in found:
        file = run_dir.input(one.instance, one.file)
        files |= {path: one for path in (file, minimised_path(run_dir, file)) if path.is_file()}
    if not files:
        return
    try:
        with Estimate() as progress:
            made = made_examples(
                load(run_dir.campaign).campaign,
                list(files),
                run_dir.instance("main"),
                lambda done: progress.show("reading findings", done, len(files)),
            )
    except (CampaignError, NoAnswer, OSError) as e:
        raise CliError(f"{run_dir.path}: its tests cannot be loaded: {e}") from None
    for file, one in files.items():
        example = made.get(file, MadeExample())
        # An input whose test is gone, or has other arguments now, may have become one of another.
        if example.test not in ("", without_folders(one.property)):
            example = MadeExample()
        yield one, example


def _sources(root: Path, examples: list[FailingExample]) -> dict[str, str]:
    """The test files that can be read, by their names in node ids."""
    found: dict[str, str] = {}
    for one in examples:
        try:
            path = inside(root, one.file)
            if path.is_file():
                with path.open(encoding="utf-8", newline="") as file:  # line ends as they are
                    found[one.file] = file.read()
        except (OSError, ValueError):  # ValueError: no UTF-8
            continue
    return found
