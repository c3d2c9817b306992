"""The set of ops as something to reduce: what the engine knows of a graph, and the case that a choice stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suture._core import Graph
from suture._minify.case import Case, Input
from suture._minify.recorded import RecordedValues
from suture._minify.suspects import Suspects
from suture._toolbox import Reducer

KEEP, CUT, NUMBER, BYPASS = 0, 1, 2, 3  # levels, see OpFate in src/toolbox/reduce/op_search.h
_NUMBERS: dict[str, Any] = {"f": 1.0, "i": 1, "u": 1, "b": True}


class Operations:
    """Choices over the ops of a case's graph.

    build(choice) gives the case in which ops are cut out, bypassed or replaced by numbers; ValueError when there is none.
    """

    stage = "ops"

    def __init__(self, case: Case, values: RecordedValues, suspects: Sequence[Suspects] = ()) -> None:
        self.case, self._values, self._suspects = case, values, suspects
        self._graph = case.graph
        self._rows = [node for node in self._graph.nodes if node["op"] not in ("constant", "symbol")]
        self._index = {node["name"]: i for i, node in enumerate(self._rows)}
        self._outputs = list(self._graph.outputs)
        self._known = dict(zip(self._graph.placeholders, case.inputs, strict=False))

    def reducer(self, budget: int) -> Reducer:
        nodes = []
        for node in self._rows:
            operands = [self._index[name] for name in node["operands"] if name in self._index]
            alike = [k for k, i in enumerate(operands) if self._rows[i]["type"] == node["type"]]
            nodes.append((node["kind"] != "Input", self._may_be_number(node), operands, alike))
        outputs = [self._index[name] for name in self._outputs if name in self._index]
        rows = [([self._index[name] for name in each.ops], each.why, each.paths) for each in self._suspects]
        return Reducer.operations(nodes, outputs, budget, rows)

    def _may_be_number(self, node: dict[str, Any]) -> bool:
        return node["dtype"][0] in _NUMBERS and node["kind"] != "Effect"

    def size(self, choice: Sequence[int]) -> int:
        """Ops that stay."""
        return sum(row["kind"] != "Input" and level == KEEP for row, level in zip(self._rows, choice, strict=False))

    def build(self, choice: Sequence[int]) -> Case:
        count = len(self._rows)
        levels = list(zip(self._rows, choice[:count], strict=True))
        listed = [name for name in self._outputs if name in self._index]
        returned = [name for name, gone in zip(listed, choice[count:], strict=True) if not gone]
        instead = {}
        for row, level in levels:
            if level >= BYPASS:
                operands = [name for name in row["operands"] if name in self._index]
                instead[row["name"]] = operands[level - BYPASS]
        part, origins = self._graph.subgraph(
            [row["name"] for row, level in levels if row["kind"] != "Input" and level == KEEP],
            returned,
            instead=instead,
            constants={row["name"]: self._number(row) for row, level in levels if level == NUMBER},
        )
        return with_graph(self.case, part, self._inputs(origins))

    def _number(self, row: dict[str, Any]) -> Any:
        return _NUMBERS[row["dtype"][0]]

    def _inputs(self, origins: Sequence[tuple[str, str]]) -> list[Input]:
        recorded = iter(self._values.inputs(o for o in origins if o[1] or o[0] not in self._known))
        return [self._known[name] if not store and name in self._known else next(recorded) for name, store in origins]


def with_graph(case: Case, graph: Graph, inputs: Sequence[Input]) -> Case:
    """The case with another graph: `inputs` are the placeholders'; symbols that nobody carries have the values of the graph."""
    count = len(graph.placeholders)
    extra = sorted((row["input"], row["hint"]) for row in graph.symbols if row["input"] >= count)
    own = [Input("int", "int64", hint) for _, hint in extra]
    return case.with_(graph_text=graph.to_text(), inputs=(*inputs, *own))


def settled(case: Case) -> Case:
    """The same case with a graph whose symbols have the values of this case's inputs."""
    values = case.graph.symbol_values(*case.objects())
    if not values:
        return case
    graph, origins = case.graph.subgraph(symbols=values)
    known = dict(zip(case.graph.placeholders, case.inputs, strict=False))
    return with_graph(case, graph, [known[name] for name, _ in origins])
