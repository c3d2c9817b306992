"""Native candidates compiled together: one run of the C++ compiler for several graphs.

Starting the compiler costs as much as compiling some 100 ops, so while it compiles one candidate it takes along those that will
probably be asked about next. Their kernels wait in the server's disk cache, which its children share; verdicts are given one
after another as ever, so the result does not depend on it. What is compiled beside others is not quite what it is alone: the check
of the result compiles alone, as every repro does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from suture import _core
from suture._config import config
from suture._minify.case import Case

Row = tuple[str, str, dict[str, Any]]  # graph, numerics, options: what decides the kernels
Ahead = Callable[[], Sequence[Case]]  # the candidates that come next

MOST = 8  # graphs of one run
# Costs in what one op of a large graph costs (0.1 ms here): the start of the compiler, and a graph however small.
_START, _GRAPH = 100, 30
LEAST_CHANCE = _GRAPH / (_START + _GRAPH)
_LARGE = _START - _GRAPH  # ops of a graph that comes along at even odds, and no larger one


def nothing() -> Sequence[Case]:
    return ()


def row_of(case: Case) -> Row:
    return case.graph_text, case.numerics, dict(case.options)


def key_of(case: Case) -> str:
    """Equal for cases that have the same kernels."""
    return json.dumps([case.graph.canonical_hash(), case.numerics, dict(case.options)], sort_keys=True)


def is_worth_it(chance: float, ops: int) -> bool:
    """Whether compiling along costs less than what it probably saves."""
    cost = _GRAPH + ops
    return chance * (_START + cost) > cost


def is_large(case: Case) -> bool:
    """What comes next is too large for company as well: it is not looked at."""
    return case.op_count > _LARGE


def has_flags_of(case: Case, other: Case) -> bool:
    """Whether one run of the compiler can do both."""
    return case.numerics == other.numerics and all(
        case.options.get(name) == other.options.get(name) for name in ("kernel_opt", "debug_info")
    )


def compile_rows(rows: Iterable[Row]) -> None:
    """In this process, into its disk cache; without one it would be for nothing. What cannot be compiled is left for its own turn."""
    if config.cache_dir == "off":
        return
    graphs = []
    for text, numerics, options in rows:
        try:
            graphs.append((_core.Graph.from_text(text), numerics, config.texts(options)))
        except (ValueError, TypeError):
            continue
    _core.compile_ahead(graphs)
