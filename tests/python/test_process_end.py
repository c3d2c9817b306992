"""A process ends as it would without Suture: nothing is printed, and threads that still run do no harm."""

from __future__ import annotations

import pytest

PREAMBLE = """
import threading
import time
import numpy as np
import suture
"""

COMPILES_AT_THE_END = """
@suture.compile
def f(x):
    return np.exp(np.sqrt(x) + 1).sum()

from suture import _core

compiling = threading.Event()
_core.subscribe(["frame_start"], lambda line: compiling.set())
threading.Thread(target=f, args=(np.ones(300),), daemon=True).start()
print("compiling" if compiling.wait(60) else "not compiling")
"""

KEEPS_COMPILING = """
compiled = []

def work():
    while True:
        space = {"np": np}
        exec(f"def f(x): return np.exp(np.sqrt(x) + {len(compiled)}).sum()", space)
        f = suture.compile(space["f"])
        f(np.ones(300))
        compiled.append(f.status()["graph_count"])

threading.Thread(target=work, daemon=True).start()
while sum(compiled) < 1:
    time.sleep(0.01)
print("frames", min(compiled))
"""

KEEPS_BREAKING = """
@suture.disable
def opaque(x):
    return sum(range(200)) * x

@suture.compile
def f(x):
    for k in range(1000):
        x = x + 1
        opaque(k)
    return x * 2

def work():
    while True:
        f(np.ones(3))

f(np.ones(3))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
print("frames", f.status()["graph_count"])
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [(COMPILES_AT_THE_END, "compiling"), (KEEPS_COMPILING, "frames 1"), (KEEPS_BREAKING, "frames 2")],
    ids=["compiles", "keeps_compiling", "keeps_breaking"],
)
def test_a_daemon_thread_does_not_disturb_the_end(run_python, program, printed):
    for _ in range(5):
        done = run_python("-c", PREAMBLE + program, SUTURE_CACHE_DIR="off")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(printed)


def test_a_graph_that_a_backend_keeps_is_freed_with_its_module(run_python):
    program = """
def backend(graph, example_inputs):
    def run(*inputs):
        return graph.eval(*inputs)
    return run

@suture.compile(backend=backend)
def f(x):
    return x + 1

print(f(np.ones(3)), f.status()["graph_count"])
"""
    done = run_python("-c", PREAMBLE + program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[2. 2. 2.] 1\n"


def test_a_second_interpreter_says_what_to_do(run_python):
    program = """
import _xxsubinterpreters
other = _xxsubinterpreters.create()
try:
    _xxsubinterpreters.run_string(other, "import suture")
except _xxsubinterpreters.RunFailedError as error:
    print(error)
print(suture.compile(lambda x: x + 1)(np.ones(2)))
"""
    done = run_python("-c", PREAMBLE + program)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "suture works in one interpreter of a process" in first and "multiprocessing" in first
    assert second == "[2. 2.]"
