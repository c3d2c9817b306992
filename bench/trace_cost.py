"""What it costs to watch: logs and traces, as shares of the compile time they accompany.

One process compiles the same functions again and again, with nothing on, with SUTURE_LOGS=graph_breaks,recompiles, and with a
full trace, in turns, and compares CPU times. What watching adds is measured where the kernels come from the disk cache: the
events are the same, and the C++ compiler, whose time varies by more than the whole of it, does not run. The share is that
of a compile in which it does run. Warm calls emit nothing: their instructions are counted with valgrind, where it is
installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

from bench import bars

BUDGETS = {  # mode -> what is on, per cent of the compile time
    "logs": ("SUTURE_LOGS=graph_breaks,recompiles", 2.0),
    "trace": ("SUTURE_TRACE", 10.0),
}

MEASURE = """
import json, os, sys, time
import numpy as np
import suture

directory, rounds = sys.argv[1], int(sys.argv[2])

def scale(x, k):
    return x * k

def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = scale(y, 2)
    return np.maximum(y, 0) * n

def g(x):
    rows = x - x.mean(axis=1)[:, None]
    return np.sqrt((rows * rows).sum(axis=1)) + np.tanh(x[:, 0])

suture.config.logs_out = os.path.join(directory, "log")

def compile_all():
    for function, arguments in ((f, (3.0,)), (g, ())):
        compiled = suture.compile(function)
        for size in (4, 6, 8):
            compiled(np.ones((size, size)), *arguments)

def timed(mode):
    with suture.config.patch(trace=os.path.join(directory, "trace") if mode == "trace" else ""):
        with suture.set_logs("graph_breaks,recompiles" if mode == "logs" else ""):
            begin = time.process_time()
            compile_all()
            return (time.process_time() - begin) * 1e3

modes = ("off", "logs", "trace")
for mode in modes: timed(mode)
times = {mode: [] for mode in modes}
for round in range(rounds):
    for k in range(3):
        mode = modes[(round + k) % 3]
        times[mode].append(timed(mode))
print(json.dumps(times))
"""

WARM = """
import sys
import numpy as np
import suture

f = suture.compile(lambda x, y: x * 2 + y)
x = np.ones(2)
f(x, x)
for _ in range(int(sys.argv[1])): f(x, x)
"""


def _environment(**more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    return {**inherited, **more}


def _measure(cache: str, rounds: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, directory, str(rounds)],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(SUTURE_CACHE_DIR=cache or os.path.join(directory, "cache")),
        )
    return json.loads(done.stdout)


def _best(figures: list[float]) -> float:
    """Of the best third of the rounds: what other programs take away only ever adds."""
    kept = sorted(figures)[: max(1, len(figures) // 3)]
    return sum(kept) / len(kept)


def _instructions(calls: int, **environment: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "callgrind")
        subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", sys.executable, "-c", WARM, str(calls)],
            capture_output=True,
            check=True,
            env=_environment(
                SUTURE_TRACE=os.path.join(directory, "t") if environment.pop("trace", "") else "", **environment
            ),
        )
        (summary,) = [line for line in output.read_text().splitlines() if line.startswith(("summary:", "totals:"))][:1]
    return int(summary.split()[1])


def trace_cost(rounds: int = 15) -> None:
    cold, cached = _best(_measure("off", rounds)["off"]), _measure("", rounds)
    base = _best(cached["off"])
    print(
        f"compiles of 12 frames: {cold:.1f} ms of CPU with the C++ compiler, {base:.1f} ms with kernels from the disk cache"
    )
    for mode, (text, budget) in BUDGETS.items():
        added = _best(cached[mode]) - base
        share = added / cold * 100
        print(
            f"  {text:36s} adds {added:6.3f} ms: {share:5.2f} % with the compiler, {added / base * 100:5.1f} % without"
        )
        bars.at_most(f"{text}, share of a compile", share, budget, " %")
    if which("valgrind") is None:
        print("warm calls: valgrind is not installed, instructions are not counted")
        return
    for name, settings in (("nothing on", {}), ("with a full trace", {"trace": "1"})):
        few, many = (_instructions(calls, SUTURE_CACHE_DIR="off", **settings) for calls in (100, 1100))
        print(f"warm call, {name:18s} {(many - few) / 1000:8.1f} instructions")
