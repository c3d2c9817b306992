"""The minifier on seeded faults: what is left, oracle calls, time; the cost of a call; PyTorch's minifier on the same chains.

PyTorch runs in a virtual environment of its own (build/torch_venv, made when it is not there); when torch cannot be installed,
that part is left out and says so.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench import bars
from bench.minify_faults import FAULTS as BACKEND_FAULTS
from bench.minify_faults import Seeded, chain, dag, is_minimal, ops_of
from bench.minify_native_faults import NATIVE_FAULTS
from bench.minify_program_faults import PROGRAM_FAULTS, reduced
from bench.minify_program_faults import is_minimal as program_is_minimal
from suture._minify.minimise import Result, minimise
from suture._minify.oracle import Limits, Oracle, Servers

ROOT = Path(__file__).resolve().parent.parent
FAULTS = [*BACKEND_FAULTS, *NATIVE_FAULTS]
TORCH = "torch==2.13.0"
CALLS = 60  # whose cost is measured
PEER_LIMIT = 600.0  # seconds for one graph of PyTorch's


def _reduced(seeded: Seeded, servers: Servers, workers: int = 1, case: Any = None) -> Result:
    limits = Limits(seconds=seeded.time_limit)
    return minimise(case or seeded.case(), workers=workers, servers=servers, limits=limits)


def faults(servers: Servers) -> None:
    print(f"{'seeded fault':<46} {'seen as':<17} {'ops':>10} {'calls':>9} {'seconds':>8}")
    minimal = within = same = 0
    for seeded in FAULTS:
        case = seeded.case()
        result = _reduced(seeded, servers, 1, case)
        minimal += is_minimal(result.case, seeded) and result.signature.kind == seeded.kind
        within += result.calls <= seeded.calls
        both = _reduced(seeded, servers, 2, case) if result.rate == 1 else result
        same += both.case.key == result.case.key
        ops = f"{case.op_count} -> {result.case.op_count}"
        calls = f"{result.calls} <= {seeded.calls}"
        print(f"{seeded.name:<46} {result.signature.kind:<17} {ops:>10} {calls:>9} {result.seconds:>8.2f}", flush=True)
    bars.at_least("minify: seeded faults that end minimal", minimal, len(FAULTS))
    bars.at_least("minify: seeded faults within their oracle calls", within, len(FAULTS))
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


def cost_of_a_call() -> None:
    """What a call costs beside the run of its case: fork, limits, messages, cleaning up."""
    failing = chain(5, {2: "maximum"}, "op=maximum,kind=run_error")
    for backend in ("eager", "native"):
        case = failing.with_(backend=backend)
        with Oracle(failing) as oracle:
            oracle.judge([case])
            costs = []
            for _ in range(CALLS):
                start = time.perf_counter()
                judgement = oracle.judge([case])[0]
                costs.append(1e3 * (time.perf_counter() - start - judgement.outcome.seconds))
        middle = statistics.median(costs)
        print(f"a call beside its run, backend {backend}: {middle:.1f} ms (least {min(costs):.1f})")
        bars.at_most(f"minify: overhead of an oracle call, backend {backend}", min(costs), 10, " ms")


# --- PyTorch --------------------------------------------------------------------------------------------------------------

_CHAINS = ((50, (33,)), (200, (133,)), (1000, (666,)), (50, (2, 47)), (200, (2, 197)))


def _torch_python() -> Path | None:
    """The interpreter that has torch; makes its environment."""
    python = ROOT / "build" / "torch_venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
    commands = ([python, "-c", "import torch"], [python, "-m", "pip", "install", "-q", TORCH, "numpy"])
    try:
        if subprocess.run(commands[0], capture_output=True, timeout=300).returncode:
            subprocess.run(commands[1], check=True, capture_output=True, timeout=1800)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{TORCH} cannot be installed, so there is no comparison with it: {error}")
        return None
    return python


def _theirs(python: Path, length: int, positions: tuple[int, ...]) -> dict[str, Any] | None:
    command = [python, ROOT / "bench" / "minify_peer.py", str(length), ",".join(map(str, positions))]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PEER_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode:
        print(f"PyTorch's minifier ended with code {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
        return None
    row: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return row


def beside_torch(servers: Servers) -> None:
    python = _torch_python()
    if python is None:
        return
    print(f"{'chain':<24} {'suture':>24} {'PyTorch':>24}   ops left / calls / seconds")
    for length, positions in _CHAINS:
        marked = dict(zip(positions, ("maximum", "floor"), strict=False))
        fault = "op=maximum,kind=compile_error" + (",with=floor" if len(positions) == 2 else "")
        ours = minimise(chain(length, marked, fault, check="compile"), servers=servers)
        theirs = _theirs(python, length, positions)
        name = f"{len(positions)} of {length} ops"
        mine = f"{ours.case.op_count} / {ours.calls} / {ours.seconds:.1f}"
        if theirs is None:
            print(f"{name:<24} {mine:>24} {f'more than {PEER_LIMIT:.0f} s':>24}")
            continue
        other = f"{theirs['ops']} / {theirs['calls']} / {theirs['seconds']:.1f}"
        print(f"{name:<24} {mine:>24} {other:>24}", flush=True)
        if len(positions) == 2:
            bars.at_least(f"minify: PyTorch's calls per call, {name}", theirs["calls"] / ours.calls, 10)


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
        faults(servers)
        programs()
        beside_torch(servers)
