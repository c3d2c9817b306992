"""What it costs to watch: logs and traces, as shares of the compile they accompany, and nothing when they are off. What a fault
of inject_fault costs where it does not act; without one a compile asks less.

Instructions, where valgrind is installed: what watching adds is counted where the kernels come from the disk cache (the events
are the same), the share is that of a compile in which the C++ compiler runs. Times: one process compiles the same functions
again and again without a disk cache, with nothing on, with SUTURE_LOGS=graph_breaks,recompiles and with a full trace, in turns;
medians of what a round adds to the round without. The times have the operating system in them (every record is a write), and
the noise of the machine; the bars are for the instructions, and for the times where valgrind is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median

from bench import bars, instructions

BUDGETS = {  # mode -> what is on, per cent of the compile
    "logs": ("SUTURE_LOGS=graph_breaks,recompiles", 2.0),
    "trace": ("SUTURE_TRACE", 10.0),
}
FAULT = "kind=wrong_value,when=nodes>=100000"  # acts nowhere
OFF = 0.5  # per cent that calls and compiles may cost more after somebody has watched than before: the noise of the counts

PROGRAM = """
import json, os, sys, tempfile, time
import numpy as np
import suture
from suture import _core

directory = tempfile.mkdtemp()

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

def compile_all():
    for function, arguments in ((f, (3.0,)), (g, ())):
        compiled = suture.compile(function)
        for size in (4, 6, 8):
            compiled(np.ones((size, size)), *arguments)

def watched(mode, run):
    with suture.config.patch(
        trace=os.path.join(directory, "trace") if mode == "trace" else "", logs_out=os.path.join(directory, "log")
    ):
        with suture.set_logs("graph_breaks,recompiles" if mode == "logs" else ""):
            return run()
"""

TIMES = (
    PROGRAM
    + """
def timed():
    begin = time.process_time()
    compile_all()
    return (time.process_time() - begin) * 1e3

modes = ("off", "logs", "trace")
for mode in modes: watched(mode, timed)
times = {mode: [] for mode in modes}
for round in range(int(sys.argv[1])):
    for k in range(3):
        mode = modes[(round + k) % 3]
        times[mode].append(watched(mode, timed))
print(json.dumps(times))
"""
)

COUNTS = (
    PROGRAM
    + f"\nFAULT = {FAULT!r}\n"
    + """
from bench.instructions import section

def counted(name, run):
    def once():
        with section(name):
            run()
    return once

small = suture.compile(lambda x, y: x * 2 + y)
x = np.ones(3)
def calls():
    for _ in range(1000): small(x, x)

for _ in range(3): calls()
compile_all()
for again in ("", " again"):
    counted("compile off" + again, compile_all)()
    counted("calls off" + again, calls)()
    for mode in ("logs", "trace"):
        watched(mode, compile_all)  # what is imported and opened only once is not counted
        watched(mode, counted("compile " + mode + again, compile_all))
        watched(mode, counted("calls " + mode + again, calls))
    with suture.config.patch(inject_fault=FAULT):
        compile_all()
        counted("compile fault" + again, compile_all)()
    _core.profile(True)
    compile_all()
    calls()
    _core.profile(False)
"""
)

COLD = PROGRAM + "\nfrom bench.instructions import section\ncompile_all()\nwith section('cold'): compile_all()\n"


def counts() -> dict[str, int]:
    """Instructions of a compile of 12 frames whose kernels are in the disk cache and of 1000 calls: `off` before anybody watched
    in this process, `logs` and `trace` while they are on, `off again` after that."""
    with tempfile.TemporaryDirectory() as directory:
        return instructions.count(COUNTS, SUTURE_CACHE_DIR=directory)


def _times(rounds: int) -> dict[str, list[float]]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    done = subprocess.run(
        [sys.executable, "-c", TIMES, str(rounds)],
        capture_output=True,
        text=True,
        check=True,
        env={**inherited, "SUTURE_CACHE_DIR": "off"},
    )
    return json.loads(done.stdout)


def _by_instructions() -> None:
    found, cold = counts(), instructions.count(COLD, SUTURE_CACHE_DIR="off")["cold"]
    off = found["compile off"]
    print(
        f"compiles of 12 frames: {cold / 1e6:.0f} million instructions, {off / 1e6:.1f} with kernels from the disk cache"
    )
    for mode, (text, budget) in BUDGETS.items():
        added = found[f"compile {mode} again"] - off
        print(f"  {text:36s} adds {added / 1e6:6.2f} million: {added / cold * 100:5.2f} %")
        bars.at_most(f"{text}, share of the instructions of a compile", added / cold * 100, budget, " %")
    added = found["compile fault again"] - found["compile off again"]
    print(f"  {'a fault that acts nowhere':36s} adds {added / 1e6:6.2f} million: {added / cold * 100:5.2f} %")
    bars.at_most(
        "inject_fault where it does not act, share of the instructions of a compile", added / cold * 100, OFF, " %"
    )
    for what in ("compile", "calls"):
        change = (found[f"{what} off again"] / found[f"{what} off"] - 1) * 100
        print(f"{what} off: {found[f'{what} off']} instructions before anybody watched, {change:+.3f} % after it")
        bars.at_most(f"{what} with everything off, more after somebody has watched", change, OFF, " %")


def trace_cost(rounds: int = 15) -> None:
    counted = instructions.available()
    if counted:
        _by_instructions()
    else:
        print("valgrind is not installed, or cannot be asked on this processor: instructions are not counted")
    times = _times(rounds)
    base = median(times["off"])
    print(f"compiles of 12 frames, medians of {rounds} rounds: {base:.1f} ms of CPU")
    for mode, (text, budget) in BUDGETS.items():
        added = median(on - off for on, off in zip(times[mode], times["off"]))
        print(f"  {text:36s} adds {added:6.3f} ms: {added / base * 100:5.2f} %")
        if not counted:
            bars.at_most(f"{text}, share of the time of a compile", added / base * 100, budget, " %")
