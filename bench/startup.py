"""What Suture costs before the first result: import, and the compile of the seed function split by phase."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from statistics import median


def python(code: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout


def import_time(rounds: int = 9) -> None:
    code = (
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import suture; c = time.perf_counter();"
        "maps = open('/proc/self/maps').read(); print(b - a, c - b, int('libLLVM' in maps))"
    )
    figures = [tuple(map(float, python(code).split())) for _ in range(rounds)]
    numpy_ms, suture_ms = (median(row[i] for row in figures) * 1e3 for i in (0, 1))
    print(
        f"import numpy {numpy_ms:.1f} ms, import suture adds {suture_ms:.1f} ms; LLVM loaded: {'yes' if any(row[2] for row in figures) else 'no'}"
    )


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

suture.compile(warm)(np.ones((3, 3)))          # loads LLVM
lines = []
_core.subscribe(["frame_done", "kernel_compiled"], lines.append)
g = suture.compile(f)
x = np.ones((32, 32))
start = time.perf_counter()
g(x, 3.0)
total = time.perf_counter() - start
print(json.dumps({"total": total * 1e3, "events": [json.loads(line) for line in lines]}))
"""


def compile_phases(rounds: int = 5) -> None:
    """Cold compile of the whole seed function (both graphs) in a process that has loaded LLVM; disk cache off."""
    totals, phases = [], defaultdict(list)
    for _ in range(rounds):
        result = json.loads(python(COMPILE, SUTURE_CACHE_DIR="off"))
        totals.append(result["total"])
        sums: dict[str, float] = defaultdict(float)
        for event in result["events"]:
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
    print(f"seed function, both graphs, first call: {median(totals):.1f} ms (best {min(totals):.1f})")
    for name, figures in sorted(phases.items(), key=lambda item: -median(item[1])):
        print(f"  {name:18s} {median(figures):8.2f} ms")
