"""The backend that tells what it is given: `backend="explain"` prints every graph with its ops and counts them.

    explain              ops of each graph on stderr, run by the native compiler
    explain:print=code   the graph as NumPy source; graph: as text with types; none: only counted
    explain:base=eager   run by another backend

`suture.explain(f)` tells more, from the compiler's own records; this counts on its own what a backend sees.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suture import _core

if TYPE_CHECKING:
    from suture._core import Graph

_PRINTS = ("ops", "graph", "code", "none")


class Explain:
    """backend(graph, example_inputs) that counts graphs and ops. Reading the counts from several threads is safe.

    base   name of the backend that runs the graphs, or the backend itself
    print  what is printed of a graph: ops | graph | code | none

    ValueError for another `print` and for a base that does not exist.
    """

    def __init__(self, base: str | Callable[..., Any] = "native", print: str = "ops") -> None:
        from suture import _backends

        if print not in _PRINTS:
            raise ValueError(f"backend 'explain': print is {' | '.join(_PRINTS)}, not '{print}'")
        self.__name__ = "explain"
        self._base = _backends.callable_of(base)
        self._print = print
        self._lock = threading.Lock()
        self.graphs: list[Graph] = []

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def ops_per_graph(self) -> list[list[str]]:
        """Ops as the user wrote them, inputs and constants left out."""
        return [[_spelled(row) for row in _ops(graph)] for graph in self.graphs]

    @property
    def op_count(self) -> int:
        return sum(map(len, self.ops_per_graph))

    def reset(self) -> None:
        """Forgets the graphs."""
        self.graphs = []

    def __call__(self, graph: Graph, example_inputs: list[Any]) -> Callable[..., Any]:
        with self._lock:
            self.graphs.append(graph)
            number = len(self.graphs)
        if self._print != "none":
            sys.stderr.write(_described(graph, number, self._print))
        return self._base(graph, example_inputs)

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Op Count: {self.op_count}", "Ops per Graph:"]
        for number, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<backend explain: {self.graph_count} graphs, {self.op_count} ops>"


def _ops(graph: Graph) -> list[dict[str, Any]]:
    return [row for row in graph.nodes if row["kind"] != "Input"]


def _spelled(row: dict[str, Any]) -> str:
    return row["target"] or row["op"]


def _described(graph: Graph, number: int, what: str) -> str:
    from suture._toolbox import escape_line

    rows = _ops(graph)
    head = (
        f"graph {number}: {graph.name}, {_count(len(rows), 'op')}, {_count(len(graph.placeholders), 'input')}, "
        f"{_count(len(graph.outputs), 'output')}"
    )
    if what == "ops":
        width = max((len(_spelled(row)) for row in rows), default=0)
        body = [f"{_spelled(row):<{width}}  {row['type']}{_place(row)}" for row in rows]
    else:
        body = (graph.code if what == "code" else graph.text).splitlines()
    return "".join(f"{escape_line(line)}\n" for line in [head, *("    " + line for line in body)])


def _place(row: dict[str, Any]) -> str:
    return f"  # {row['file']}:{row['line']}" if row["line"] else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def from_text(text: str) -> Explain:
    """`explain` or `explain:key=value,...`."""
    settings: dict[str, Any] = {}
    for pair in filter(None, text.partition(":")[2].split(",")):
        key, _, value = pair.partition("=")
        if key not in ("base", "print"):
            hint = _core.did_you_mean(key, ["base", "print"], " (it takes base and print)")
            raise ValueError(f"backend '{text}' has no setting '{key}'{hint}")
        settings[key] = value
    return Explain(**settings)
