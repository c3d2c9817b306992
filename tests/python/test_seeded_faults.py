"""Every seeded fault fails as it says, each in a process of its own, and its graph is one that compiles without the fault."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from bench.seeded_faults import Seed, seeds
from suture import _core

SEEDS = seeds()


def test_there_are_enough_and_each_has_a_name():
    assert len(SEEDS) >= 55 and len({seed.name for seed in SEEDS}) == len(SEEDS)
    assert {5, 1000} <= {seed.ops for seed in SEEDS}
    assert all(5 <= seed.ops <= 1000 and seed.nodes <= seed.ops for seed in SEEDS)


@pytest.mark.parametrize("seed", [s for s in SEEDS if s.ops <= 200], ids=lambda seed: seed.name)
def test_the_graph_is_lawful_and_numpy_runs_it(seed):
    graph = _core.Graph.from_text(seed.text)
    inputs = seed.inputs()
    graph.check_inputs(*inputs)
    with np.errstate(all="raise", under="ignore"):
        graph.eval(*inputs)


CHILD = """\
import json, resource, signal, sys
from bench.seeded_faults import seeds
from suture._minify.case import Case, inputs_of
from suture._minify.run_case import run
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
seed = next(each for each in seeds() if each.name == sys.argv[1])
case = Case(seed.text, inputs_of(seed.inputs()), backend=seed.backend, options=seed.options, calls=seed.calls)
print(json.dumps(run(case).to_dict()))
"""
SIGNALS = {
    "segfault": {signal.SIGSEGV},
    "abort": {signal.SIGABRT},
    "killed": {signal.SIGKILL, signal.SIGILL},
    "hang": {signal.SIGALRM},
}


def ending(seed: Seed, tmp_path) -> str:
    """The kind of failure, from what the child says or dies of."""
    import os

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SUTURE_CACHE_DIR": str(tmp_path)}
    limit = "6" if seed.kind == "hang" else "100"
    done = subprocess.run(
        [sys.executable, "-c", CHILD, seed.name, limit], capture_output=True, text=True, env=environment, timeout=120
    )
    if done.returncode < 0:
        return next((kind for kind, numbers in SIGNALS.items() if -done.returncode in numbers), str(done.returncode))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["kind"]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_the_seed_fails_as_it_says(seed, tmp_path):
    assert ending(seed, tmp_path) == seed.kind
