"""The op that a failure of a graph needs: the last one of the shortest beginning of the program that fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from suture._minify.case import Case, Input
from suture._minify.first_failing import first_failing
from suture._minify.signature import Verdict
from suture._minify.variants import CaseSubject, Subject, Variant

LEAST_WAIT = 3.0  # seconds


def failing_op(
    subject: CaseSubject, variant: Variant, progress: Callable[[str], None] = lambda text: None, runs: int = 1
) -> Mapping[str, Any] | None:
    """Its row in the graph; None when no beginning of the program fails as the subject's signature says, in one of so many runs."""
    signature = subject.signature
    assert signature is not None
    ops = subject.case.ops

    def fails(count: int) -> bool:
        part = _prefix(subject.case, [node["name"] for node in ops[:count]])
        if part is None:
            return False
        progress(f"the first {count} ops")
        beginning = CaseSubject(part, subject.seconds, subject.quiet)
        return any(signature.judge(beginning.run(variant)) is Verdict.SAME for _ in range(runs))

    if not ops or not fails(len(ops)):
        return None
    return ops[first_failing(len(ops), fails) - 1]


def op_text(node: Mapping[str, Any]) -> str:
    return f"{node['name']} = {node['op']} ({node['target']})"


def place_text(node: Mapping[str, Any]) -> str:
    return f"{node['file']}:{node['line']}"


def wait_less(subject: Subject, variant: Variant) -> None:
    """Of a failure that is a hang: a run is one when it takes ten times as long as compiling, and LEAST_WAIT at least."""
    start = time.monotonic()
    subject.compiles(variant)
    compiling = time.monotonic() - start
    subject.seconds = min(subject.seconds, max(LEAST_WAIT, 10 * compiling))


def _prefix(case: Case, keep: list[str]) -> Case | None:
    """The first ops with the same inputs; None when there is no such part."""
    try:
        part, taken = case.graph.subgraph(keep)
    except ValueError:
        return None
    own = dict(zip(case.graph.placeholders, case.inputs, strict=False))
    if any(store or name not in own for name, store in taken):
        return None
    symbols = case.graph.symbol_values(*case.objects())
    extra = [row for row in part.symbols if row["input"] >= len(taken)]
    numbers = [Input.of(symbols[row["name"]]) for row in sorted(extra, key=lambda row: row["input"])]
    return case.with_(graph_text=part.to_text(), inputs=(*(own[name] for name, _ in taken), *numbers))
