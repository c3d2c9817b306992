"""The minifier on seeded faults: what is left, oracle calls, time; the cost of a call; PyTorch's minifier on the same chains.

Calls are candidates that were judged: `graph` those that had fewer ops or results, `form` those that asked for simpler inputs, sizes,
dtypes, layouts, values, options. `runs` also has the first runs of a case and the last check; `children` are the processes, `built` the runs of the C++ compiler.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

from bench import bars
from bench.minify_beside_torch import beside_torch
from bench.minify_faults import FAULTS as BACKEND_FAULTS
from bench.minify_faults import Seeded, chain, dag, is_minimal, ops_of, proves_itself
from bench.minify_native_faults import NATIVE_FAULTS, native_chain, native_dag
from bench.minify_program_faults import PROGRAM_FAULTS, reduced
from bench.minify_program_faults import is_minimal as program_is_minimal
from suture._minify.minimise import Result, minimise
from suture._minify.oracle import Limits, Oracle, Servers

FAULTS = [*BACKEND_FAULTS, *NATIVE_FAULTS]
CALLS = 60  # whose cost is measured
_WRONG = "kind=wrong_value,error=0.5"


def _reduced(seeded: Seeded, servers: Servers, workers: int = 1, case: Any = None) -> Result:
    limits = Limits(seconds=seeded.time_limit)
    return minimise(case or seeded.case(), workers=workers, servers=servers, limits=limits)


def faults(servers: Servers) -> None:
    columns = f"{'calls':>9} {'graph':>5} {'form':>4} {'runs':>5} {'children':>8} {'built':>5} {'seconds':>8}"
    print(f"{'seeded fault':<46} {'seen as':<17} {'ops':>10} {columns}")
    minimal = within = same = certain = 0
    for seeded in FAULTS:
        case = seeded.case()
        result = _reduced(seeded, servers, 1, case)
        minimal += is_minimal(result.case, seeded) and result.signature.kind == seeded.kind
        within += result.calls <= seeded.calls
        both = _reduced(seeded, servers, 2, case) if result.rate == 1 else result
        same += both.case.key == result.case.key
        certain += proves_itself(result)
        ops = f"{case.op_count} -> {result.case.op_count}"
        calls = f"{result.calls} <= {seeded.calls}"
        split = f"{result.graph_calls:>5} {result.calls - result.graph_calls:>4} {result.runs:>5}"
        split += f" {result.children:>8} {result.compiles:>5}"
        row = f"{seeded.name:<46} {result.signature.kind:<17} {ops:>10} {calls:>9} {split} {result.seconds:>8.2f}"
        print(row, flush=True)
    bars.at_least("minify: seeded faults that end minimal", minimal, len(FAULTS))
    bars.at_least("minify: seeded faults within their oracle calls", within, len(FAULTS))
    bars.at_least("minify: seeded faults whose repro file fails in the same way in a new process", certain, len(FAULTS))
    bars.at_least("minify: the same result with 1 and 2 workers", same, len(FAULTS))


def large_graphs(servers: Servers) -> None:
    one = minimise(chain(1000, {666: "maximum"}, "op=maximum,kind=run_error"), servers=servers)
    bars.at_most("minify: oracle calls for one op of 1,000", one.calls, 25)
    two = "op=maximum,with=floor,path=yes,kind=compile_error"
    pair = minimise(chain(1000, {2: "maximum", 997: "floor"}, two), servers=servers)
    bars.at_most("minify: oracle calls for two distant ops of 1,000", pair.calls, 100)
    bars.at_most("minify: ops left of two distant ones of 1,000", len(ops_of(pair.case)), 5)
    crash = minimise(dag(200, {111: "maximum"}, "op=maximum,kind=segfault", 2), workers=2)
    print(f"crash in 200 ops, 2 workers: {crash.seconds:.1f} s, {crash.calls} calls")
    bars.at_most("minify: seconds for a crash in 200 ops, 2 workers", crash.seconds, 30)


def compiled_together() -> None:
    """Native candidates of one run of the C++ compiler, beside the same search with a run for each."""
    for name, case in (
        ("any 12 ops of a chain of 100", native_chain(100, "maximum", f"{_WRONG},op=maximum,when=nodes>=12")),
        ("any 8 ops of 80, crash", native_dag(80, "maximum", "kind=segfault,op=maximum,when=nodes>=8")),
        ("two ops of a chain of 60", native_chain(60, "mul", f"{_WRONG},op=mul,with=sin")),
    ):
        apart, joined = (minimise(case, joins=joins) for joins in (False, True))
        faster = apart.seconds / joined.seconds
        print(
            f"{name}: {joined.calls} candidates, {apart.compiles} -> {joined.compiles} runs of the C++ compiler, "
            f"{apart.seconds:.2f} -> {joined.seconds:.2f} s ({faster:.2f} times faster)"
        )
        bars.at_most(f"minify: compiler runs with candidates together, {name}", joined.compiles / apart.compiles, 0.7)
        bars.holds(f"minify: the same steps with candidates together, {name}", joined.log() == apart.log())


def cost_of_a_call() -> None:
    """What a call costs beside the run of its case: in a child that other candidates share, as most do, and in one of its own (fork,
    limits, cleaning up). A figure of a machine that does nothing else: the load is printed with it."""
    failing = chain(5, {2: "maximum"}, "op=maximum,kind=run_error")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for backend in ("eager", "native"):
        case = failing.with_(backend=backend)
        for alone in (False, True):
            with Oracle(failing) as oracle:
                oracle.judge([case], alone=alone)
                costs = []
                for _ in range(CALLS):
                    start = time.perf_counter()
                    judgement = oracle.judge([case], alone=alone)[0]
                    costs.append(1e3 * (time.perf_counter() - start - judgement.outcome.seconds))
            where = "in a child of its own" if alone else "in a shared child"
            middle, least = statistics.median(costs), min(costs)
            print(f"a call {where} beside its run, backend {backend}: median {middle:.1f} ms, least {least:.1f}")
            bars.at_most(f"minify: overhead of a call {where}, backend {backend}", middle, 10, " ms")


def programs() -> None:
    """Faults outside of graphs: the program and its calls are reduced."""
    minimal = 0
    for fault in PROGRAM_FAULTS:
        done = reduced(fault)
        minimal += program_is_minimal(done, fault)
        lines = f"{len(fault.program.splitlines())} -> {len(done.result.text.splitlines())} lines"
        part = done.fault.part if done.fault else ""
        print(f"{fault.name:<46} {part:<17} {lines:>18} {done.result.calls:>5} {done.result.seconds:>8.2f}", flush=True)
    bars.at_least("minify: seeded faults of guards and resume functions that end minimal", minimal, len(PROGRAM_FAULTS))


def minify() -> None:
    with Servers() as servers:
        cost_of_a_call()
        large_graphs(servers)
        compiled_together()
        faults(servers)
        programs()
        beside_torch(servers)
