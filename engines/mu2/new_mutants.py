"""The mutants of modules that were loaded since the last look, also of late imports."""

from __future__ import annotations

from fuzztui.engines.execute.isolation import read_index, write_index
from fuzztui.engines.loop.context import Context
from fuzztui.engines.mu2.analysis import Analysis
from fuzztui.kernel.wire.events import MutantsShard


class NewMutants:
    """Adds the mutants of newly loaded modules to the table, and to the index of a restart."""

    def __init__(self, context: Context, parts: Analysis) -> None:
        self._directory, self._log = context.spec.dir, context.log
        self._program, self._table, self._isolation = parts.program, parts.table, parts.isolation
        self._known = dict(read_index(context.spec.dir))

    def add(self) -> None:
        """Add the mutants of newly loaded modules to the table."""
        program, table, known = self._program, self._table, self._known
        fresh = program.scan()
        if not fresh:
            return
        if (shard := program.shard) is not None:
            whole = program.program_sum
            self._log.write(
                MutantsShard(self._log.instance, shard.number, shard.of, whole.mutants, whole.hex)
            )
        table.add(fresh, {m.id for m in fresh if known.get(m.id, m.hash) != m.hash})
        table.isolate(self._isolation.outside)
        ids = [(m.id, m.hash) for m in program.mutants]
        # Keep hashes of modules that load late, even if the next worker dies before that.
        late = [pair for pair in known.items() if pair[0] not in program.by_id]
        write_index(self._directory, ids + late)
