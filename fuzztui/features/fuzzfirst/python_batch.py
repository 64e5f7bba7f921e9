"""Run many inputs on a Python target, by its interpreter: :mod:`fuzztui.engines.process.batch`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzztui.engines.execute.overseer import stopped_text
from fuzztui.features.fuzzfirst.batch import MAX_STALLS
from fuzztui.features.fuzzfirst.json_lines import JsonObjects
from fuzztui.features.fuzzfirst.showmap import InputResult, Unrunnable, read_input
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.replay import covered_cells
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.run.triage.sandbox import private_directory, remove_sandboxes

LOAD_S = 120.0
"""Time limit of the target's import, in seconds, as in a campaign."""

_OUTCOMES = {
    "success": "ok",
    "invalid": "ok",
    "failure": "crash",
    "died": "crash",
    "timeout": "hang",
    "hung": "hang",
    "unfit": "unfit",
}


@dataclass(slots=True)
class BatchReply:
    """The replies of an engine process, and how it ended."""

    outcome: ProcessResult
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """The engine's last message for the user, or why and with what last line it ended."""
        lines = self.outcome.output.decode(errors="replace").splitlines()
        messages = [line for line in lines if line.startswith("fuzztui: ")]
        if messages:
            return visible(messages[-1].removeprefix("fuzztui: "))
        if self.outcome.stopped:
            return stopped_text(self.outcome.stopped)
        if self.outcome.status is None:
            return f"the engine took more than {self.outcome.seconds:.0f} s"
        printed = [line for line in lines if line.strip() and not line.startswith("{")]
        last = visible(printed[-1])[:300] if printed else "without any output"
        return f"the engine ended with exit status {self.outcome.status}: {last}"


async def ask(
    campaign: Campaign,
    run_dir: RunDir,
    arguments_for: Callable[[Path], Sequence[str]],
    mark: ProcessMark,
    *,
    limit: float = LOAD_S,
    on_reply: Callable[[dict[str, Any]], None] | None = None,
) -> BatchReply:
    """Run the campaign's engine with the arguments that ``arguments_for`` returns.

    ``arguments_for`` is called with a temporary directory, which is removed afterwards.
    ``on_reply`` is called with each reply, a JSON object, as it arrives; None: the replies are in
    the result. ``limit``: seconds. Raises :class:`SupervisorError` if the engine cannot be started.
    """
    answers: list[dict[str, Any]] = []
    lines = JsonObjects(on_reply or answers.append)
    try:
        with private_directory(run_dir.path) as directory:
            spec = directory / "spec.json"
            write_spec(spec, campaign, directory)
            arguments = await asyncio.to_thread(arguments_for, directory)
            (directory / "cwd").mkdir()
            outcome = await execute(
                [campaign.target["python"], "-P", "-m", "fuzztui.engines", str(spec), *arguments],
                mark,
                cwd=directory / "cwd",
                limit=limit,
                env={
                    "PYTHONHASHSEED": "0",  # as in a campaign
                    "PYTHONDONTWRITEBYTECODE": "1",
                    **campaign.target["env"],
                    "PYTHONPATH": str(run_dir.expose_package(campaign.kind)),
                },
                stdout=True,
                on_output=lines.take,
            )
    except OSError as e:
        raise SupervisorError(f"{e.filename or run_dir.path}: {e.strerror or e}") from None
    return BatchReply(outcome, answers)


class PythonBatch:
    """Runs the target of ``campaign``, with the campaign's limits.

    ``label`` distinguishes programs that are run at the same time ("m7"). One object runs one
    batch at a time. Edges have the same numbers in all batches that share the file ``edges``.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, label: str, edges: Path | None = None
    ) -> None:
        self._campaign = campaign
        self._run_dir = run_dir
        self._edges = edges
        self._mark = ProcessMark(run_dir.path, f"batch-{label}")
        self._turn = asyncio.Lock()
        self._swept = False

    async def run(self, inputs: Sequence[Path]) -> list[InputResult]:
        """As ``BatchRunner``. Cancelling ends the process at once."""
        async with self._turn:
            if not self._swept:  # left by an earlier supervisor that was killed
                await asyncio.to_thread(self._mark.kill_leftovers)
                await asyncio.to_thread(remove_sandboxes, self._run_dir.path)
                self._swept = True
            return await self._run(inputs)

    async def _run(self, inputs: Sequence[Path]) -> list[InputResult]:
        found: dict[int, InputResult] = {}
        done = stalls = 0
        alone = False
        while done < len(inputs):
            part = inputs[done : done + 1] if alone else inputs[done:]
            reason = await self._pass(part, done, found)
            before, done = done, max(found, default=-1) + 1
            if not alone or done > before:
                # The input that ended the process of all inputs may not be the next one.
                alone = not alone and done < len(inputs)
                continue
            stalls += 1
            if stalls > MAX_STALLS:
                raise Unrunnable(f"{self._campaign.subject}: inputs end the engine: {reason}")
            found[done] = InputResult("crash")
            done, alone = done + 1, False
        return [found.get(at, InputResult("unfit")) for at in range(len(inputs))]

    async def _pass(self, inputs: Sequence[Path], first: int, found: dict[int, InputResult]) -> str:
        """Run inputs in one process; return why it ended. Raises :class:`Unrunnable`."""
        loaded = False

        def on_reply(answer: dict[str, Any]) -> None:
            nonlocal loaded
            if "loaded" in answer:
                loaded = True
            elif (verdict := _verdict(answer)) and verdict[0] < len(inputs):
                found[first + verdict[0]] = verdict[1]

        reply = await self._ask(inputs, on_reply=on_reply, edges=str(self._edges or ""))
        if not loaded:
            raise Unrunnable(f"{self._campaign.subject}: {reply.reason}")
        return reply.reason

    async def load(self, modules: Sequence[str], limit: float) -> Mapping[str, str]:
        """Import the target; return the files of ``modules``. Raises :class:`SupervisorError`."""
        async with self._turn:
            reply = await self._ask([], limit, modules=list(modules))
        for answer in reply.answers:
            match answer:
                case {"loaded": dict(files)} if reply.outcome.status == 0:
                    return {str(name): str(file) for name, file in files.items()}
        raise SupervisorError(reply.reason)

    async def describe(self, file: Path) -> dict[str, Any]:
        """Describe the failure of one input, with the fields of FindingDescribed.

        Returns {} if the input does not fail. Raises :class:`SupervisorError`.
        """
        for answer in await self._replies([file], words=True):
            match answer:
                case {"words": [int(), dict(description)]}:
                    return {str(key): value for key, value in description.items()}
        return {}

    async def answers(self, inputs: Sequence[Path]) -> dict[int, str]:
        """Return digests of the target's results by the input's index, without failing inputs.

        Raises :class:`SupervisorError`.
        """
        found: dict[int, str] = {}
        for answer in await self._replies(inputs, answers=True):
            match answer:
                case {"answer": [int(at), str(digest)]}:
                    found[at] = digest
        return found

    async def lines(self, inputs: Sequence[Path], below: Path) -> dict[str, set[int]]:
        """Return the lines executed by the import or any input, by file below a directory.

        Raises :class:`SupervisorError`.
        """
        found: dict[str, set[int]] = {}
        for answer in await self._replies(inputs, lines=str(below)):
            match answer:
                case {"lines": dict(files)}:
                    for file, numbers in files.items():
                        inside = os.path.relpath(file, below)
                        found.setdefault(inside, set()).update(map(int, numbers))
        return found

    async def _replies(self, inputs: Sequence[Path], **wanted: Any) -> list[dict[str, Any]]:
        """Return one process's replies on inputs. Raises :class:`Unrunnable` if it runs none."""
        async with self._turn:
            reply = await self._ask(inputs, **wanted)
        if not any("loaded" in answer for answer in reply.answers):
            raise Unrunnable(f"{self._campaign.subject}: {reply.reason}")
        return reply.answers

    async def _ask(
        self,
        inputs: Sequence[Path],
        limit: float | None = None,
        on_reply: Callable[[dict[str, Any]], None] | None = None,
        **wanted: Any,
    ) -> BatchReply:
        """Ask the engine about inputs. ``wanted``: other keys of the request.

        ``limit``: seconds; None: a limit that grows with the number of inputs.
        """
        return await ask(
            self._campaign,
            self._run_dir,
            lambda directory: _request(directory, inputs, wanted),
            self._mark,
            limit=self._limit(len(inputs)) if limit is None else limit,
            on_reply=on_reply,
        )

    def _limit(self, inputs: int) -> float:
        """Return a time limit, in seconds, that no batch exceeds while it makes progress."""
        timeout: float = self._campaign.target["timeout_s"]
        return LOAD_S + inputs * 2 * (5 + 3 * timeout)


_NOTHING = {"edges": "", "modules": [], "words": False, "answers": False, "lines": ""}
"""A request besides its inputs: a file of edges, modules to load, what to reply."""


def _request(directory: Path, inputs: Sequence[Path], wanted: Mapping[str, object]) -> list[str]:
    """Write copies of inputs and the request; return the engine's arguments. Raises OSError."""
    copies = directory / "in"
    copies.mkdir()
    names = []
    for at, path in enumerate(inputs):
        copy = copies / f"{at:06}"
        # Copies: the files may be removed or replaced at any moment.
        if (data := read_input(path)) is not None:
            copy.write_bytes(data)
        names.append(str(copy))
    request = directory / "request.json"
    request.write_text(json.dumps({"inputs": names, **_NOTHING, **wanted}))
    return ["--batch", str(request)]


def _verdict(answer: Mapping[str, Any]) -> tuple[int, InputResult] | None:
    match answer:
        case {"verdict": [int(at), str(word), str(cells), int(sig)]} if (
            word in _OUTCOMES and at >= 0
        ):
            trace = covered_cells(cells, valid=word == "success")
            return at, InputResult(_OUTCOMES[word], trace, sig)
    return None
