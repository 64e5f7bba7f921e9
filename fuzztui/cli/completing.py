"""Complete a command line: what the shells' functions call on each Tab.

Imports next to nothing: Python itself takes most of the time. The table of commands is made once
for each installation, and kept in the cache.

``fuzztui complete-words bash LINE BREAKS`` and ``fuzztui complete-words zsh|fish WORD...`` complete
the last word. They print a line of flags (``files``: names of files are possible; ``nospace``: the
word continues), and then a line for each word: the word, a tab, and its description.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import fuzztui

_MAX = 2_000
"""Words that are printed at most; a shell shows no more."""
_MAX_BYTES = 32 << 20
_HEAD_BYTES = 1 << 16
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,@%+")
"""Characters that no shell interprets."""

_CHANGED = ("cli", "engines", "run/campaign", "kernel/wire")
"""Folders of fuzztui that the table is made of."""


def complete(argv: list[str]) -> int:
    """Print what the last word can be. Never fails: a shell would print a traceback."""
    try:
        shell, *rest = argv
        breaks = ""
        if shell == "bash":
            line, breaks = rest
            words, raw, quote = _split(line)
        else:
            words, raw, quote = rest[:], rest[-1], ""
        flags, found = _Completion(load_table(), words).candidates()
        lines = _lines(found, shell, raw, quote, breaks)
        sys.stdout.write("\n".join([" ".join(sorted(flags)), *lines]) + "\n")
    except Exception:  # whatever it is, a shell cannot show it
        sys.stdout.write("files\n")
    return 0


def _split(line: str) -> tuple[list[str], str, str]:
    """Split a line of bash as far as the cursor, without the command's own name.

    Returns the words, the last word as it is written, and its open quote.
    """
    words, word, raw, quote, begun = [], "", "", "", False
    characters = iter(line)
    for c in characters:
        if not quote and c in " \t\n":
            if begun:
                words.append(word)
            word, raw, begun = "", "", False
            continue
        begun = True
        raw += c
        if c == "\\" and quote != "'":
            following = next(characters, "")
            word, raw = word + following, raw + following
        elif c == quote:
            quote = ""
        elif not quote and c in "'\"":
            quote, raw = c, ""
        else:
            word += c
    return [*words[1:], word], raw, quote


def _lines(found: dict[str, str], shell: str, raw: str, quote: str, breaks: str) -> list[str]:
    lines = []
    for word, about in list(found.items())[:_MAX]:
        if not word.isprintable():
            continue
        if shell != "bash":
            safe = "".join(c if c.isprintable() else "?" for c in about)  # perhaps a file's name
            lines.append(f"{word}\t{safe}")
        elif quote:
            lines.append(word)
        else:
            # Readline replaces what follows the last of these characters.
            cut = max((raw.rfind(c) + 1 for c in ":=" if c in breaks), default=0)
            start = len(raw[:cut].replace("\\", ""))
            home = "~" * (raw[:1] == "~" and not start)  # the shell expands it
            shown = word[start + len(home) :]
            escaped = "".join(c if c in _SAFE or c > "\x7f" else f"\\{c}" for c in shown)
            lines.append(f"{home}{escaped}")
    return lines


# -------------------------------------------------------------------------- the table


def load_table() -> dict[str, Any]:
    """Return the table of the cache, or make it again if fuzztui has changed."""
    package = os.path.dirname(os.path.abspath(fuzztui.__file__))
    newest = 0
    with os.scandir(os.path.join(package, "features")) as entries:
        features = [entry.path for entry in entries if entry.is_dir()]
    for folder in (*_CHANGED, *features):
        with os.scandir(os.path.join(package, folder)) as entries:
            times = (e.stat().st_mtime_ns for e in entries if e.name != "__pycache__")
            newest = max(newest, *times)  # __pycache__ changes with each first import of a module
    for place in sys.path:  # a package may add tables
        if place.endswith("-packages") and os.path.isdir(place):
            newest = max(newest, os.stat(place).st_mtime_ns)
    key = f"{fuzztui.__version__} {newest} {package}"
    home = os.environ.get("XDG_CACHE_HOME", "")  # as base.user_dirs, which imports pathlib
    home = home if os.path.isabs(home) else os.path.expanduser("~/.cache")
    path = os.path.join(home, "fuzztui", "completion.json")
    try:
        kept = json.loads(_read(path, _MAX_BYTES))
        if kept["key"] == key:
            return dict(kept["table"])
    except (OSError, ValueError, LookupError, TypeError):
        pass
    return _made(path, key)


def _made(path: str, key: str) -> dict[str, Any]:
    from pathlib import Path

    from fuzztui.cli.completion_table import table
    from fuzztui.cli.parser import parsers
    from fuzztui.kernel.base.atomic import replace_text

    made = table(parsers())
    if not os.path.isabs(path):  # a user without a home
        return made
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_text(Path(path), json.dumps({"key": key, "table": made}))
    except OSError:
        pass  # no cache: the next call makes the table again
    return made


# ------------------------------------------------------------------------ candidates


class _Completion:
    """One command line."""

    def __init__(self, table: dict[str, Any], words: list[str]) -> None:
        self.table = table
        *self.before, self.word = words
        self.flags: set[str] = set()
        self.positional: list[str] = []

    def candidates(self) -> tuple[set[str], dict[str, str]]:
        """Return flags, and words with descriptions."""
        commands = self.table["commands"]
        if not self.before:
            found = {name: c["summary"] for name, c in commands.items() if name}
            if self.word[:1] == "-":
                return self.flags, self._fit(self._options(commands[""]))
            files = self._runs() if "/" in self.word else self._campaigns()
            return self.flags, self._fit({**found, **files})
        name, *rest = self.before
        if name not in commands:
            entry, rest = commands[""], self.before
        else:
            entry = commands[name]
            if words := entry.get("words"):
                if not rest:
                    return self.flags, self._fit(dict.fromkeys(words, ""))
                entry, rest = words.get(rest[0], {"options": {}, "arguments": []}), rest[1:]
        if name == "help" and len(rest) == 1 and (words := commands.get(rest[0], {}).get("words")):
            return self.flags, self._fit(dict.fromkeys(words, ""))
        return self.flags, self._of(entry, rest)

    def _of(self, entry: dict[str, Any], rest: list[str]) -> dict[str, str]:
        options = entry["options"]
        waiting: Any = None
        only_words = False
        for word in rest:
            if waiting is not None:
                waiting = None
            elif word == "--":
                only_words = True
            elif word.startswith("-") and not only_words and len(word) > 1:
                option = options.get(word)
                waiting = option["value"] if option else None
            else:
                self.positional.append(word)
        if waiting is not None:
            return self._values(waiting)
        if self.word.startswith("-") and not only_words:
            name, equals, _ = self.word.partition("=")
            if equals and name in options:
                whole, self.word = self.word, self.word[len(name) + 1 :]
                values = self._values(options[name]["value"] or "")
                self.word = whole
                return {f"{name}={value}": about for value, about in values.items()}
            return self._fit(self._options(entry))
        arguments = entry["arguments"]
        at = len(self.positional)
        if at < len(arguments):
            return self._values(arguments[at]["value"])
        if arguments and arguments[-1]["repeats"]:
            return self._values(arguments[-1]["value"])
        return self._fit(self._options(entry))

    def _options(self, entry: dict[str, Any]) -> dict[str, str]:
        return {name: option["help"] for name, option in entry["options"].items()}

    def _fit(self, words: dict[str, str]) -> dict[str, str]:
        return {word: about for word, about in words.items() if word.startswith(self.word)}

    def _values(self, kinds: Any) -> dict[str, str]:
        if isinstance(kinds, list):
            return self._fit(dict.fromkeys(kinds, ""))
        found: dict[str, str] = {}
        for kind in kinds.split():
            if kind == "ctl":
                action = self.positional[1] if len(self.positional) > 1 else ""
                return self._values(self.table["actions"].get(action, ""))
            if kind == "files":
                self.flags.add("files")
                continue
            found |= getattr(self, f"_{kind.replace('-', '_')}")()
        return self._fit(found)

    # ---------------------------------------------------------------- kinds of values

    def _themes(self) -> dict[str, str]:
        return dict.fromkeys(self.table["themes"], "")

    def _keys(self) -> dict[str, str]:
        name, equals, _ = self.word.partition("=")
        if equals:
            values = self.table["keys"].get(name, {}).get("values", ())
            return {f"{name}={value}": "" for value in values}
        self.flags.add("nospace")
        return {f"{name}=": key["help"] for name, key in self.table["keys"].items()}

    def _runs(self) -> dict[str, str]:
        found = {run: "" for run in _names("runs", "runs/") if is_run(run)}
        fits = self.word and any(run.startswith(self.word) for run in found)
        return {**found, **self._campaign_files(folders=not fits)}

    def _campaigns(self) -> dict[str, str]:
        samples = {} if "/" in self.word else dict.fromkeys(self.table["samples"], "a sample")
        return {**self._campaign_files(), **samples}

    def _campaign_files(self, *, folders: bool = True) -> dict[str, str]:
        """Campaign files where the word leads to, and the directories there."""
        folder = self.word.rpartition("/")[0]
        start = f"{folder}/" if "/" in self.word else ""
        found = {}
        directories = []
        for name in _names(os.path.expanduser(start) or ".", start):
            path = os.path.expanduser(name)
            if name.endswith(".toml") and _is_campaign(path):
                found[name] = "a campaign file"
            elif name.startswith(self.word) and os.path.isdir(path) and not is_run(path):
                directories.append(f"{name}/")
        if (
            folders
            and directories
            and self.word
            and not any(n.startswith(self.word) for n in found)
        ):
            self.flags.add("nospace")
            found |= dict.fromkeys(directories, "")
        return found

    def _run(self) -> str:
        """The run that the line is about; "" if it names none."""
        for word in self.positional[:2]:
            for path in (word, os.path.join("runs", word)):
                if is_run(path):
                    return path
            if word.endswith(".toml"):
                run = os.path.join("runs", os.path.basename(word)[:-5])
                if is_run(run):
                    return run
        runs = [run for run in _names("runs", "runs/") if is_run(run)]
        return runs[0] if len(runs) == 1 and not self.positional else ""

    def _instances(self) -> dict[str, str]:
        out = os.path.join(self._run(), "out")
        return {name: "" for name in _names(out) if os.path.isdir(os.path.join(out, name, "queue"))}

    def _mutants(self) -> dict[str, str]:
        run = self._run()
        found: dict[str, str] = {}
        for instance in self._instances():
            rows = _json(os.path.join(run, "out", instance, "mutants.json"))
            found |= {str(row[0]): "" for row in rows if isinstance(row, list) and row}
        ranked = _json(os.path.join(run, "mutants", "ranked.json"))
        rows = ranked.get("mutants", ()) if isinstance(ranked, dict) else ()
        return found | {str(row["id"]): "" for row in rows if isinstance(row, dict) and "id" in row}

    def _entries(self) -> dict[str, str]:
        run, found = self._run(), {}
        for instance in self._instances():
            for name in _names(os.path.join(run, "out", instance, "queue")):
                if name.startswith("id:") and name[3:9].isdecimal():
                    found[f"{instance}/{int(name[3:9])}"] = name
        return found

    def _findings(self) -> dict[str, str]:
        return dict.fromkeys(self._finding_paths(), "")

    def _finding_files(self) -> dict[str, str]:
        self.flags.add("files")
        run = self._run()
        return {os.path.join(run, "out", path): "" for path in self._finding_paths()}

    def _finding_paths(self) -> list[str]:
        out = os.path.join(self._run(), "out")
        return [
            path
            for instance in _names(out)
            for kind in ("crashes", "hangs", "differs")
            for path in _names(os.path.join(out, instance, kind), f"{instance}/{kind}/")
            if not path.endswith("README.txt")
        ]


def is_run(path: str) -> bool:
    """Whether a directory looks like a run."""
    return os.path.isdir(os.path.join(path, "log")) and os.path.isdir(
        os.path.join(path, "supervisor")
    )


def _is_campaign(path: str) -> bool:
    try:
        return b"engine" in _read(path, _HEAD_BYTES)
    except OSError:
        return False


def _read(path: str, limit: int) -> bytes:
    """Read the start of a file; of a FIFO nothing. ``base.files`` would take long to import."""
    with open(os.open(path, _READ), "rb") as file:
        return file.read(limit) or b""


def _names(folder: str, prefix: str = "") -> list[str]:
    try:
        return sorted(f"{prefix}{n}" for n in os.listdir(folder or ".") if not n.startswith("."))
    except OSError:
        return []


def _json(path: str) -> Any:
    try:
        return json.loads(_read(path, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
