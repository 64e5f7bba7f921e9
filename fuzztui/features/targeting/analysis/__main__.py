"""The analysis process: reads a request from stdin, writes lines of JSON to stdout.

Writes ``{"progress": text}`` several times; at last ``{"document": text}`` or ``{"error": text}``.
Argument: the directory for caches and documents.
"""

from __future__ import annotations

import ast
import fcntl
import gc
import hashlib
import json
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from fuzztui import __version__
from fuzztui.engines.instrument.target import search_path
from fuzztui.features.targeting.analysis.application import (
    AnalysedApplication,
    Reference,
    gather,
    spec_of,
)
from fuzztui.features.targeting.analysis.document import VERSION, Request, TargetsError
from fuzztui.features.targeting.analysis.observe import observe, unannotated
from fuzztui.features.targeting.analysis.overlay import functions_of
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.wire.frames import is_installed

_DEEPEST = 5000

_MAX_KEPT = 64
"""Maximum number of documents in the cache."""

_AT_RUN_TIME = frozenset({
    "__dict__", "__getattr__", "eval", "exec", "globals", "locals", "modules", "setattr", "vars",
})  # fmt: skip
"""Names whose use shows that a module may define others at run time."""


def main(arguments: list[str]) -> int:
    """Answer one request; always return 0."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # runs the cleanup of context managers
    gc.set_threshold(200_000, 30, 30)  # as mypy's own command: its trees are large and stay
    sys.setrecursionlimit(_DEEPEST)  # long sums are deep trees
    (directory,) = map(Path, arguments)
    request = Request.loads(sys.stdin.read())
    try:
        application = gather(request, _progress)
        application.unsure = tuple(_unsure(request, application))
        file = directory / "targets" / f"{_key(request, application)}.json"
        document = kept_document(file)
        if document is None:
            with _alone(directory):
                is_whole = _observe(request, application)
                document = _analysed(request, application, directory)
                if is_whole:  # else the next call observes again
                    keep_document(file, document, _others(application))
        _say(document=document)
    except TargetsError as e:
        _say(error=str(e))
    except OSError as e:
        _say(error=f"{e.filename or directory}: {e.strerror or e}")
    return 0


def _say(**words: str) -> None:
    print(json.dumps(words), flush=True)


def _progress(words: str) -> None:
    _say(progress=words)


def _key(request: Request, application: AnalysedApplication) -> str:
    """Return a hash of sources, request, installed packages and fuzztui's analysis."""
    found = hashlib.sha256()
    ours = sorted(Path(__file__).parent.glob("*.py"))
    installed = sorted(
        entry.name
        for directory in application.interpreter.path
        if Path(directory).is_dir()
        for entry in Path(directory).glob("*.dist-info")
    )
    sources = [*application.sources.values(), *application.around.values()]
    about = [
        VERSION,
        __version__,
        version("mypy"),
        request.dumps(),
        application.interpreter.version,
    ]
    about += [
        installed,
        application.observed,
        _seeds(request),
        _nearby(request),
        [(s.name, str(s.file), s.sha) for s in sources],
    ]
    found.update(json.dumps(about, sort_keys=True).encode())
    for file in ours:
        found.update(file.read_bytes())
    return found.hexdigest()[:32]


def _others(application: AnalysedApplication) -> dict[str, list[int]]:
    """Return the states of files of editable installs that mypy has read."""
    own = {s.file for s in [*application.sources.values(), *application.around.values()]}
    # Installed files, mypy's stubs too, are identified by version.
    return _states(f for f in sorted(application.read - own) if not is_installed(str(f)))


def kept_document(file: Path) -> str | None:
    """Return a document in the cache; None if there is none, or what it depends on has changed."""
    try:
        kept = json.loads(file.read_bytes())
        if _states(map(Path, kept["others"])) != kept["others"]:
            return None
        return str(kept["document"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def keep_document(file: Path, document: str, others: dict[str, list[int]]) -> None:
    """Put a document into the cache, with the dependencies that its key lacks. Raises OSError."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    replace_text(file, json.dumps({"others": others, "document": document}))
    for old in sorted(file.parent.glob("*.json"), key=lambda f: -f.stat().st_mtime)[_MAX_KEPT:]:
        old.unlink(missing_ok=True)


def _states(files: Iterable[Path]) -> dict[str, list[int]]:
    """Return size and modification time by file; [] for a file that does not exist."""
    found: dict[str, list[int]] = {}
    for file in files:
        found[str(file)] = []
        with suppress(OSError):
            status = file.stat()
            found[str(file)] = [status.st_size, status.st_mtime_ns]
    return found


def _seeds(request: Request) -> dict[str, list[int]]:
    """Return the states of the seeds with which the target may be run."""
    paths = map(Path, request.run.get("engine", {}).get("seeds", ()))
    every = (file for path in paths for file in [path, *sorted(path.rglob("*"))])
    return _states(file for file in every if file.is_file())


def _nearby(request: Request) -> dict[str, list[int]]:
    """Return the states of files outside the application that it may import."""
    return _states(
        file
        for directory in sorted({Path(p) for p in search_path(spec_of(request))})
        for file in sorted([*directory.glob("*.py"), *directory.glob("*/*.py")])
    )


def _observe(request: Request, application: AnalysedApplication) -> bool:
    """Observe types of parameters without annotations, if requested; False if that fails."""
    wanted = unannotated(application) if request.run else {}
    if not wanted:
        return True
    application.observed, words = observe(request, wanted, _progress)
    if words:
        application.notes.append(f"observing the types of parameters: {words}")
    return bool(application.observed) or not words


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Allow one analysis at a time, because of mypy's cache and of memory."""
    with (directory / "targets.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _progress("waiting for another analysis to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _analysed(request: Request, application: AnalysedApplication, directory: Path) -> str:
    from fuzztui.features.targeting.analysis.analyse import (
        analyse,  # imports mypy, which takes a second
    )
    from fuzztui.features.targeting.analysis.mypyapi import untested

    try:
        return analyse(
            application, request.python, cache=str(directory / "mypy"), progress=_progress
        ).dumps()
    except Exception as e:
        if words := untested():
            raise TargetsError(f"the analysis failed ({type(e).__name__}: {e}); {words}") from e
        raise


def _unsure(request: Request, application: AnalysedApplication) -> Iterator[str]:
    """Yield the keys whose functions only an import can check.

    These are inherited methods, functions imported by ``*``, and those of compiled modules. Raises
    :class:`TargetsError` for functions that certainly do not exist.
    """
    entry, generator = application.entry, application.generator
    module = entry.module.partition(".")[0]
    if module in application.interpreter.unknown:
        raise TargetsError(
            f'target.function = "{request.function}": no module {module} for {request.python};'
            " install it there, or set target.path to its directory"
        )
    yield from _unsure_key("target.function", request.function, entry, application)
    if request.generator:
        yield from _unsure_key("target.generator", request.generator, generator, application)


def _unsure_key(
    key: str, reference: str, meaning: Reference, application: AnalysedApplication
) -> Iterator[str]:
    tree = application.trees.get(meaning.module)
    found = has(tree, meaning.function) if tree is not None else None
    if found is None:
        yield key
    elif not found and tree is not None:
        shown = application.source(meaning.module).shown
        known = [name for name, _, _ in functions_of(tree)]
        offered = meant(near(meaning.function, known))
        raise TargetsError(f'{key} = "{reference}": {shown} has no {meaning.function}{offered}')


def has(tree: ast.Module, name: str) -> bool | None:
    """Whether a module has a ``function`` or ``Class.method``; None: unknown."""
    if any(name == function for function, _, _ in functions_of(tree)):
        return True
    first, dot, _ = name.partition(".")
    bound: set[str] = set()
    certain = True
    for node in ast.walk(tree):
        match node:
            case ast.alias(name="*"):
                certain = False
            case ast.alias():
                certain &= not {node.name, node.asname} & _AT_RUN_TIME
                bound.add(node.asname or node.name.partition(".")[0])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
                certain &= node.name not in _AT_RUN_TIME
            case ast.Name():
                certain &= node.id not in _AT_RUN_TIME
                if isinstance(node.ctx, ast.Store):
                    bound.add(node.id)
            case ast.Attribute():
                certain &= node.attr not in _AT_RUN_TIME
            case ast.MatchAs(name=str(bound_name)) | ast.MatchStar(name=str(bound_name)):
                bound.add(bound_name)
            case ast.MatchMapping(rest=str(bound_name)):
                bound.add(bound_name)
    if first in bound:  # anywhere: in a function it may be a global
        return None if dot else True
    return False if certain and not dot else None  # ``name`` may be in a submodule


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
