"""Watching costs nothing once it is off: a compile and a call take as many instructions after logs, traces, profiling and
subscribers have been on and off again as in a process that never had any. `python -m bench trace_cost` has the costs while
they are on.
"""

from __future__ import annotations

import pytest

from bench import instructions

# The counts of equal work differ by this much: addresses decide where the allocator and hash tables search.
TOLERANCE = 0.01

PROGRAM = """
import os, tempfile
import numpy as np
import suture
from bench.instructions import section
from suture import _core

def f(x, y):
    z = np.sqrt(x) * 2 + y
    if z.sum() > 0:
        z = z + 1
    return z

x, directory = np.ones(3), tempfile.mkdtemp()

def compile_anew():
    compiled = suture.compile(f)
    compiled(x, x)
    assert [frame["compiles"] for frame in _core.status(compiled)["frames"]] == [1, 1], "two frames compile"

one_graph = suture.compile(lambda x, y: np.sqrt(x) * 2 + y)

def calls():
    for _ in range(300): one_graph(x, x)

def measure(name):
    for run in (compile_anew, calls):
        run()
        with section(f"{name} {run.__name__}"):
            run()

calls()
measure("warm")
measure("never")
events = []
suture.config.logs_out = os.path.join(directory, "log")
with suture.set_logs("+all,graph_breaks,recompiles,perf_hints,output_code,guards"):
    with suture.config.patch(trace=os.path.join(directory, "trace")):
        token = _core.subscribe(None, events.append)
        _core.profile(True)
        measure("watched")
        compile_anew()
        _core.profile(False)
        _core.unsubscribe(token)
measure("after")
assert len(events) > 20 and os.path.getsize(os.path.join(directory, "log")) > 1000
"""


@pytest.mark.skipif(not instructions.available(), reason="needs valgrind, on x86-64")
@pytest.mark.timeout(900)  # of wall time; on an idle machine it is about ten seconds
def test_a_compile_and_a_call_with_everything_off_take_the_instructions_they_took_before_anybody_watched(tmp_path):
    found = instructions.count(PROGRAM, SUTURE_CACHE_DIR=str(tmp_path))
    for what in ("compile_anew", "calls"):
        never, watched, after = (found[f"{when} {what}"] for when in ("never", "watched", "after"))
        assert never > 100_000
        assert after <= never * (1 + TOLERANCE), found
        assert watched > never * (1 + TOLERANCE), f"the count sees no cost even while there is one: {found}"


def test_a_section_is_nothing_but_its_block_without_valgrind():
    done = []
    with instructions.section("nothing"):
        done.append(1)
    assert done == [1]
