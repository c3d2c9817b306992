"""Options that stop the compiler half way: whatever the limit, results are NumPy's.

`suture bisect` relies on this, and on the numbers: the first n changes and decisions are the same ones under every limit >= n.
"""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import suture
from suture import _core
from suture.testing import frames_compiled
from tests.support.oracle import assert_same


def random_program(seed: int):
    """A function of three arrays f(x, y, i): casts, views, equal expressions, dead code, sums, stores."""
    pick = random.Random(seed)
    values = ["x", "y", "i"]
    steps = [
        lambda a, b: f"{a} + {b} * 2.0",
        lambda a, b: f"({a} - {b}) * ({a} - {b})",
        lambda a, b: f"np.maximum({a}, {b}).astype(np.float32).astype(np.float64).astype(np.float32)",
        lambda a, b: f"np.sqrt(np.abs({a})).astype(np.float64)",
        lambda a, b: f"{a}.T.T[::-1][::-1]",
        lambda a, b: f"{a} + {a}.sum(axis={pick.choice((0, 1))}, keepdims=True)",
        lambda a, b: f"np.where({a} > {b}, {a}, {b}.mean())",
        lambda a, b: f"{a}.reshape({b}.shape) - (1.0 + 2.0)",
        lambda a, b: f"({a} * (np.float64(0.5) + 1)).astype(np.float64)",
    ]
    lines = []
    for number in range(pick.randint(6, 12)):
        name = f"v{number}"
        lines.append(f"    {name} = {pick.choice(steps)(pick.choice(values), pick.choice(values))}")
        values.append(name)
        if pick.random() < 0.2:
            lines.append(f"    dead{number} = {name} > {pick.choice(values)}")
        if pick.random() < 0.2:
            lines.append(f"    {name} = {name} + 0.0; {name}[0, 1:] = {pick.choice(values)}[1, 1:]")
    outputs = pick.sample(values[3:], 3)
    source = "def f(x, y, i):\n" + "\n".join(lines) + f"\n    return {', '.join(outputs)}\n"
    scope = {"np": np}
    exec(compile(source, f"program_{seed}.py", "exec"), scope)
    rng = np.random.default_rng(seed)
    arguments = (
        rng.uniform(-2, 2, (5, 7)).astype(np.float32),
        np.asfortranarray(rng.uniform(-2, 2, (5, 7))),
        rng.integers(-9, 9, (5, 7)),
    )
    return scope["f"], arguments


def events_of(function, arguments, options):
    """The result, and what the passes changed and the scheduler fused: names in the order of their numbers."""
    seen = []
    token = _core.subscribe(["pass_done", "fusion_decision"], seen.append)
    try:
        compiled = suture.compile(function, options=options)
        with frames_compiled() as frames:
            result = compiled(*arguments)
        assert frames.count == 1
    finally:
        _core.unsubscribe(token)
    changes, fusions = [], []
    for event in seen:
        record = json.loads(event)
        fields = record["fields"]
        if record["event"] == "pass_done":
            assert not fields["applications"] or fields["first_application"] == len(changes) + 1
            changes += [(fields["name"], what) for what in fields["applications"]]
        elif fields["fused"]:
            fusions.append((fields["producer"], fields["consumer"]))
            assert fields["number"] == len(fusions)
        else:
            assert fields["number"] == 0
    return result, changes, fusions


@pytest.mark.parametrize("seed", range(20))
def test_the_first_changes_are_the_same_under_any_limit_and_mean_what_numpy_does(seed):
    function, arguments = random_program(seed)
    with np.errstate(all="ignore"):
        expected = function(*arguments)
        _, all_changes, all_fusions = events_of(function, arguments, {})
        pick = random.Random(seed)
        passes = pick.randint(0, len(all_changes))
        result, changes, _ = events_of(function, arguments, {"pass_limit": passes})
        assert changes == all_changes[:passes]
        assert_same(expected, result)
        fused = pick.randint(0, len(all_fusions))
        result, _, fusions = events_of(function, arguments, {"fusion_limit": fused})
        assert fusions == all_fusions[:fused]
        assert_same(expected, result)
        both = {"pass_limit": passes, "fusion_limit": fused}
        further = {"loop_order": pick.random() < 0.5, "kernel_opt": pick.choice(("O0", "O1", "O2"))}
        assert_same(expected, events_of(function, arguments, both | further)[0])


def test_programs_above_have_changes_and_fusions_to_limit():
    counts = [events_of(*random_program(seed), {})[1:] for seed in range(20)]
    assert sum(len(changes) for changes, _ in counts) >= 100
    assert sum(len(fusions) for _, fusions in counts) >= 100
    assert {name for changes, _ in counts for name, _ in changes} == {
        "fold_casts",
        "simplify_views",
        "common_subexpressions",
        "eliminate_dead_nodes",
    }


@pytest.mark.parametrize("toolchain", ["clang", "subprocess"])
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_every_level_of_the_toolchain_gives_the_same_bits(restore_config, toolchain, level):
    suture.config.toolchain = toolchain

    def f(x, y):
        return np.sqrt(x) * y + np.exp(-x), (x * y).sum(axis=0), np.where(x > 1, x, y)

    x, y = np.random.default_rng(0).uniform(0, 2, (2, 33, 5))
    with frames_compiled() as frames:
        result = suture.compile(f, options={"kernel_opt": level})(x, y)
        best = suture.compile(f)(x, y)
    assert frames.count == 2
    assert_same(best, result)


def test_a_refused_decision_says_that_the_limit_did_it():
    function, arguments = random_program(1)
    seen = []
    token = _core.subscribe(["fusion_decision"], seen.append)
    suture.compile(function, options={"fusion_limit": 0})(*arguments)
    _core.unsubscribe(token)
    sentences = {json.loads(event)["fields"]["sentence"] for event in seen}
    assert "the option fusion_limit allows no further decision to fuse" in sentences
