"""Values inside a graph: what a node holds when the graph runs under NumPy on the inputs of a case.

A candidate that leaves an op out reads its value as an input. A graph without stores runs once, as one function that returns every
value. With stores it runs op by op: values are copied as they are when the op has run, and again behind every store into their
memory. When all of them together would take more than `limit` bytes, only those that are asked for are kept, and the graph runs
again for what is not there.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suture._minify.case import ALIGNMENT, Case, Input, lowest_address
from suture._minify.reference import Op, Program, fixed, values_of

Key = tuple[str, str]  # node, and the store right behind which its value is taken ("": when it has been computed)


class RecordedValues:
    """
    case   whose graph and inputs they are of
    limit  bytes of values that are kept
    runs   how often the graph ran
    """

    def __init__(self, case: Case, limit: int = 256 << 20) -> None:
        self._case, self._limit = case, limit
        self._values: dict[Key, Input] = {}
        self._computed: dict[str, Any] = {}  # of a graph without stores: they stay what they are
        self._graph = fixed(case.graph, case.objects())
        self._rows = {node["name"]: node for node in self._graph.nodes}
        self._has_stores = any(row["kind"] == "Effect" for row in self._rows.values())
        total = sum(self._size(name) for name in self._rows)
        self._everything = total * 2 <= limit
        self.runs = 0

    def _memory(self) -> dict[str, str]:
        """Per node the node whose memory it is in."""
        roots: dict[str, str] = {}
        for name, row in self._rows.items():
            shares = row["kind"] in ("View", "Effect")
            roots[name] = roots[row["operands"][0]] if shares else name
        return roots

    def _size(self, name: str) -> int:
        row = self._rows[name]
        return math.prod(int(extent) for extent in row["shape"]) * np.dtype(row["dtype"]).itemsize

    def prepare(self) -> None:
        """Computes what will be asked for, when that is everything and NumPy does not raise; inputs() finds out otherwise."""
        if self._everything and not self._has_stores:
            with contextlib.suppress(Exception):
                self._compute([name for name, row in self._rows.items() if row["kind"] != "Input"])

    def inputs(self, keys: Iterable[Key]) -> list[Input]:
        """One input per key. KeyError for a node that has no such value."""
        keys = list(keys)
        if missing := {key for key in keys if key not in self._values}:
            held = sum(item.nbytes for item in self._values.values())
            if not self._everything and held > self._limit:
                self._values.clear()
                missing = set(keys)
            if self._has_stores:
                self._record(None if self._everything else missing)
            else:
                self._take(missing)
        return [self._values[key] for key in keys]

    def _take(self, wanted: set[Key]) -> None:
        names = [name for name in self._rows if (name, "") in wanted]
        if unknown := [name for name in names if name not in self._computed]:
            everything = [name for name, row in self._rows.items() if row["kind"] != "Input"]
            self._compute(everything if self._everything else unknown)
        for name in names:
            value = self._computed[name]
            self._values[name, ""] = Input.of(value, offset=_offset(value))
        if not self._everything:
            self._computed.clear()

    def _compute(self, names: Sequence[str]) -> None:
        """Values of these nodes and of the inputs."""
        self.runs += 1
        self._computed = dict(zip(self._graph.placeholders, self._case.objects(), strict=False))
        ops = [name for name in names if name not in self._computed]
        if ops:
            values = values_of(self._graph, ops, self._case.objects())
            self._computed.update(zip(ops, values, strict=True))

    def _record(self, wanted: set[Key] | None) -> None:
        """Runs the graph op by op; None: keeps everything."""
        self.runs += 1
        roots = self._memory()
        program = Program(self._graph, self._case.objects())

        def keep(name: str, store: str, value: Any) -> None:
            if (wanted is None or (name, store) in wanted) and (name, store) not in self._values:
                self._values[name, store] = Input.of(value, offset=_offset(value))

        def after(op: Op, value: Any, values: Mapping[str, Any]) -> Any:
            keep(op.name, "", value)
            if op.kind == "Effect":
                for name, known in values.items():
                    if roots[name] == roots[op.name] and self._rows[name]["kind"] != "Effect":
                        keep(name, op.name, known)
            return value

        inputs = self._case.objects()
        for name, value in zip(program.placeholders, inputs, strict=False):
            keep(name, "", value)
        program.run(inputs, after=after)


def _offset(value: Any) -> int:
    """How far a view begins behind its memory. Where memory itself lies differs from run to run and is left out."""
    if not isinstance(value, np.ndarray):
        return 0
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    return (lowest_address(value) - lowest_address(base)) % ALIGNMENT
