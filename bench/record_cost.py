"""What the write-ahead record costs: the option record off, on-failure (the default) and always, in turns in one process.

Three figures per setting, medians: the first call of a function whose kernels come from the disk cache (the fastest compile
there is, so the largest share), a call on small arrays after that, and a call that has new sizes. The bars are for on-failure:
always is a tool for failures that depend on values.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median

from bench import bars

BARS = {"compile": 10.0, "call": 3.0}  # per cent that on-failure may add

PROGRAM = """
import json, sys, time
import numpy as np
import suture

def f(x, y):
    a = np.sin(x) * y + 1
    return np.maximum(a, 0).sum(axis=0) - y.mean()

small = np.random.default_rng(0).random((8, 8))
large = np.random.default_rng(0).random((512, 1024))

def seconds(call, repeats=1):
    begin = time.perf_counter()
    for _ in range(repeats): call()
    return (time.perf_counter() - begin) / repeats

def figures(record):
    compiled = suture.compile(f, dynamic=False, options={"record": record})
    out = {"compile": seconds(lambda: compiled(small, small))}
    out["call"] = min(seconds(lambda: compiled(small, small), 2000) for _ in range(5))
    compiled = suture.compile(f, dynamic=False, options={"record": record})
    out["compile, 8 MB inputs"] = seconds(lambda: compiled(large, large))
    dynamic = suture.compile(f, dynamic=True, options={"record": record})
    arrays = [np.ones((n, 8)) for n in range(3, 11)]
    dynamic(arrays[0], arrays[0])
    out["call with new sizes"] = seconds(lambda: [dynamic(a, a) for a in arrays[1:]]) / 7
    return out

settings = ("off", "on-failure", "always")
for record in settings: figures(record)
found = {record: [] for record in settings}
for round in range(int(sys.argv[1])):
    for k in range(3):
        record = settings[(round + k) % 3]
        found[record].append(figures(record))
print(json.dumps(found))
"""


def record_cost(rounds: int = 15) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(rounds)],
            capture_output=True,
            text=True,
            check=True,
            env={**inherited, "SUTURE_CACHE_DIR": directory},
        )
    found = json.loads(done.stdout)
    for what in found["off"][0]:
        off = median(row[what] for row in found["off"])
        line = f"{what:24s} off {off * 1e6:9.2f} us"
        for record in ("on-failure", "always"):
            added = median(a[what] - b[what] for a, b in zip(found[record], found["off"], strict=True))
            line += f"   {record} adds {added * 1e6:8.2f} us ({added / off * 100:6.2f} %)"
            if record == "on-failure" and what in BARS:
                bars.at_most(f"record=on-failure, {what}", added / off * 100, BARS[what], " %")
        print(line)
