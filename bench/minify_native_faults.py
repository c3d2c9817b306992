"""Seeded faults of the native compiler, stage by stage (option inject_fault): as bench/minify_faults.py, whose lists hold faults of
other backends.

A chain of ops that lose nothing of a difference, with one op in the middle at which the compiler goes wrong.
"""

from __future__ import annotations

from dataclasses import replace

from bench.minify_faults import Seeded, chain, dag
from suture._minify.case import Case

_KEEPING = ("neg", "pos")


def native_chain(length: int, op: str, fault: str, calls: int = 1) -> Case:
    """Unary ops around one binary `op`, compiled natively with this fault."""
    at = length // 2
    marked = {at: op} | {i: _KEEPING[i % 2] for i in range(at + 1, length)}
    case = chain(length, marked, "op=*", calls=calls)
    return replace(case, backend="native", options={"inject_fault": fault})


def native_dag(length: int, op: str, fault: str) -> Case:
    """Ops over values before them, `op` in the middle, compiled natively with this fault."""
    return replace(dag(length, {length // 2: op}, "op=*"), backend="native", options={"inject_fault": fault})


def _seeded(
    fault: str, kind: str, length: int, op: str = "maximum", ops: list[str] | int | None = None, **more: int
) -> Seeded:
    calls = more.pop("calls", 11)
    return Seeded(
        f"native: {fault}",
        lambda: native_chain(length, op, fault, more.get("runs", 1)),
        kind,
        [op] if ops is None else ops,
        calls,
        more.get("sizes", 1),
        float(more.get("time_limit", 20)),
    )


NATIVE_FAULTS = [
    _seeded("kind=drop_node,op=maximum", "wrong_value", 100),
    _seeded("kind=swap_operands,op=sub", "wrong_value", 100, "sub"),
    _seeded("kind=unlawful_graph,op=maximum", "compile_error", 40),
    _seeded("kind=pass_error,op=maximum", "compile_error", 60),
    _seeded("kind=stale_value,op=maximum", "wrong_value", 50, ops=2, calls=19),
    _seeded("kind=schedule_error,op=maximum", "compile_error", 30),
    _seeded("kind=wrong_operator,op=maximum", "wrong_value", 200),
    _seeded("kind=bad_code,op=maximum", "compile_error", 50),
    _seeded("kind=codegen_error,op=maximum,when=nodes>=4", "compile_error", 50, ops=4, calls=31),
    _seeded("kind=toolchain_error,op=maximum", "compile_error", 30),
    _seeded("kind=toolchain_segfault,op=maximum", "segfault", 20),
    _seeded("kind=wrong_value,op=maximum,error=0.5", "wrong_value", 200),
    _seeded("kind=wrong_value,op=maximum,error=0.5,when=call==2", "nondeterministic", 30, runs=2),
    _seeded("kind=wrong_value,op=mul,with=sin,error=0.5", "wrong_value", 60, "mul", ops=2, calls=26),
    _seeded("kind=segfault,op=maximum", "segfault", 200),
    _seeded("kind=trap,op=maximum", "killed", 40),
    _seeded("kind=hang,op=maximum", "hang", 10, time_limit=2),
    _seeded("kind=wrong_strides", "wrong_value", 20, ops=1, sizes=2, calls=24),
    _seeded("kind=wrong_dtype", "wrong_dtype", 20, ops=1),
]
