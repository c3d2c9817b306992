"""The minifier beside PyTorch's, on chains of unary ops of which one, or two, are what fails.

Both compile each candidate with a backend that looks for the ops and raises: PyTorch's in its own process, with the test that its
launcher uses; ours in child processes with limits, and with the result run three times more in a process of its own. The seconds
are those of the call that minimises. Both numbers of calls are given for the same work (fewer ops; PyTorch's never makes inputs
simpler) and all in all.

PyTorch runs in a virtual environment of its own (build/torch_venv, made when it is not there); when torch cannot be installed,
this is left out and says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import bars
from bench.minify_faults import chain
from suture._minify.minimise import Result, minimise
from suture._minify.oracle import Servers

ROOT = Path(__file__).resolve().parent.parent
TORCH = "torch==2.13.0"
PEER_LIMIT = 600.0  # seconds for one graph of PyTorch's
REPEATS = 3  # of what takes seconds; the fastest counts
PAUSE = 0.05  # seconds in which a server cleans up behind the search before, which is no part of the next one


@dataclass(frozen=True)
class Shape:
    """
    positions  of the ops that fail; together, or any one of them
    fault      in the language of faulty backends
    bar        whether ten times fewer calls for the ops and a tenth of the time are promised
    """

    name: str
    length: int
    positions: Sequence[int]
    fault: str
    bar: bool = True

    @property
    def together(self) -> bool:
        return len(self.positions) == 2

    def ours(self, servers: Servers) -> Result:
        ops = ("maximum", "floor") if self.together else ("maximum",) * len(self.positions)
        marked = dict(zip(self.positions, ops, strict=True))
        case = chain(self.length, marked, self.fault, check="compile")
        runs = []
        for _ in range(REPEATS):
            time.sleep(PAUSE)
            runs.append(minimise(case, servers=servers))
        return min(runs, key=lambda result: result.seconds)

    def theirs(self, python: Path) -> dict[str, Any] | None:
        """Ops that are left, calls, seconds; None after PEER_LIMIT."""
        words = [str(self.length), ",".join(map(str, self.positions)), "all" if self.together else "any", "compiles"]
        rows = []
        for _ in range(1 if self.together else REPEATS):
            row = _peer([str(python), str(ROOT / "bench" / "minify_peer.py"), *words])
            if row is None:
                return None
            rows.append(row)
        return min(rows, key=lambda row: float(row["seconds"]))


_NAMED, _SILENT = "op=maximum,kind=compile_error", "op=maximum,kind=not_callable"
SHAPES = (
    Shape("one op of 50, named", 50, (33,), _NAMED),
    Shape("one op of 200, named", 200, (133,), _NAMED),
    Shape("one op of 1,000, named", 1000, (666,), _NAMED),
    Shape("one rare op of 200, not named", 200, (133,), _SILENT),
    Shape("40 alike ops of 200, not named", 200, range(3, 200, 5), _SILENT, bar=False),
    Shape("two ops of 50, one named", 50, (2, 47), f"{_NAMED},with=floor"),
    Shape("two ops of 200, one named", 200, (2, 197), f"{_NAMED},with=floor"),
)


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


def _peer(command: list[str]) -> dict[str, Any] | None:
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PEER_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode:
        raise SystemExit(f"PyTorch's minifier ended with code {run.returncode}: {run.stderr.strip()[-500:]}")
    row: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return row


def beside_torch(servers: Servers) -> None:
    python = _torch_python()
    if python is None:
        return
    minimise(
        chain(5, {3: "maximum"}, _NAMED, check="compile"), servers=servers
    )  # PyTorch is loaded, too, when its time begins
    ours = f"{'left':>5} {'graph':>5} {'calls':>5} {'runs':>5} {'children':>8} {'seconds':>8}"
    print(
        f"{'chain':<32} {ours} | {'PyTorch: left':>13} {'calls':>6} {'seconds':>8} | times fewer: graph, calls; faster"
    )
    for shape in SHAPES:
        mine, theirs = shape.ours(servers), shape.theirs(python)
        counts = f"{mine.case.op_count:>5} {mine.graph_calls:>5} {mine.calls:>5} {mine.runs:>5} {mine.children:>8}"
        row = f"{shape.name:<32} {counts} {mine.seconds:>8.3f} |"
        if theirs is None:
            print(f"{row} more than {PEER_LIMIT:.0f} s", flush=True)
            continue
        fewer = [theirs["calls"] / calls for calls in (mine.graph_calls, mine.calls)]
        faster = theirs["seconds"] / mine.seconds
        ratios = f"{fewer[0]:.1f}, {fewer[1]:.1f}; {faster:.1f}"
        print(f"{row} {theirs['ops']:>13} {theirs['calls']:>6} {theirs['seconds']:>8.3f} | {ratios}", flush=True)
        if shape.bar:
            bars.at_least(f"minify: PyTorch's calls per call for the ops, {shape.name}", fewer[0], 10)
            bars.at_least(f"minify: PyTorch's time per time, {shape.name}", faster, 10)
