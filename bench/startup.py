"""What Suture costs before the first result: import, and the compile of the seed function split by phase."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from statistics import median

from bench import bars


def python(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout


IMPORT = """
import time
start = time.process_time()
import numpy
numpy_done = time.process_time()
import suture
suture_done = time.process_time()

@suture.compile
def f(x):
    return x + 1

def llvm():
    return int('libLLVM' in open('/proc/self/maps').read())

before = llvm()
f(numpy.ones(3))
print(numpy_done - start, suture_done - numpy_done, before, llvm())
"""


def import_time(rounds: int = 15) -> None:
    figures = [tuple(map(float, python(IMPORT, SUTURE_CACHE_DIR="off").split())) for _ in range(rounds)]
    numpy_ms, suture_ms = (median(row[i] for row in figures) * 1e3 for i in (0, 1))
    print(
        f"import numpy {numpy_ms:.1f} ms, import suture adds {suture_ms:.1f} ms (processor time, files in the page cache)"
    )
    bars.at_most("import suture, on top of numpy", suture_ms, 30, " ms")
    # The second half shows that the test can see LLVM at all.
    lazy = not any(row[2] for row in figures)
    seen = all(row[3] for row in figures)
    print(f"LLVM loaded before the first compile: {'no' if lazy else 'yes'}; after it: {'yes' if seen else 'no'}")
    bars.holds("LLVM is loaded by the first compile, not before", lazy and seen)


COMPILE = """
import json, sys, time
import numpy as np
import suture
from suture import _core

def warm(a):
    return np.cos(a) - 1

def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n

if sys.argv[1] == "warm":
    suture.compile(warm)(np.ones((3, 3)))  # loads LLVM
lines = []
_core.subscribe(["frame_done", "kernel_compiled"], lines.append)
g = suture.compile(f)
x = np.ones((32, 32))
start = time.perf_counter()
processor = time.process_time()
g(x, 3.0)
total = time.perf_counter() - start
processor = time.process_time() - processor
print(json.dumps({"total": total * 1e3, "processor": processor * 1e3, "events": [json.loads(line) for line in lines]}))
"""


def compile_phases(rounds: int = 7) -> None:
    """First call of the seed function (both graphs), disk cache off: in a process that has compiled before, and in a new one."""
    for state, label in (("warm", "process has compiled before"), ("new", "first compile of the process")):
        runs = [json.loads(python(COMPILE, state, SUTURE_CACHE_DIR="off")) for _ in range(rounds)]
        total, processor = (median(run[name] for run in runs) for name in ("total", "processor"))
        print(f"seed function, both graphs, {label}: {processor:.1f} ms of processor time, {total:.1f} ms elapsed")
        _print_phases(runs)
        bars.at_most(f"compile of the seed function, {label}", processor, 150, " ms")


def _print_phases(runs: list[dict]) -> None:
    """Medians of the elapsed time of each phase."""
    phases: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        sums: dict[str, float] = defaultdict(float)
        for event in run["events"]:
            fields = event["fields"]
            if event["event"] == "frame_done":
                for name, ms in fields["phases"].items():
                    if name not in ("total", "compile"):
                        sums[name] += ms
            else:
                for name in ("load_ms", "frontend_ms", "optimise_ms", "codegen_ms", "link_ms"):
                    sums["clang " + name.removesuffix("_ms")] += fields[name]
        for name, ms in sums.items():
            phases[name].append(ms)
    for name, figures in sorted(phases.items(), key=lambda item: -median(item[1])):
        print(f"  {name:18s} {median(figures):8.2f} ms")
