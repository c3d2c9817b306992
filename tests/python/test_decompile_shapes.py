"""Control flow of every shape comes back as source that compiles to the same bytecode; lower tiers behave the same."""

from __future__ import annotations

import itertools
import types

import pytest

import suture
from tests.support.control_flow_shapes import outcome, sample, shapes

SEEDS = range(12)


def compiled(source: str) -> dict[str, types.FunctionType]:
    namespace: dict[str, types.FunctionType] = {}
    exec(compile(source, "<shapes>", "exec"), namespace)
    return namespace


def check(functions: list[tuple[str, str]], tier: int) -> tuple[int, int, list[str]]:
    """How many are verified from this tier on, how many are in this tier, and what differs; behaviour is compared where text is not idiomatic."""
    source = "\n".join(text for _, text in functions)
    original = compiled(source)
    result = suture.decompile(compile(source, "<shapes>", "exec"), tier=tier)
    codes = {code.qualname: code for code in result.codes}
    again = compiled(result.source)
    different = []
    verified = in_tier = 0
    for name, text in functions:
        code = codes[name]
        verified += code.verdict.startswith("verified")
        in_tier += code.tier == tier
        if code.tier == 4 or (code.tier == 1 and tier == 1):
            continue
        for seed in SEEDS:
            if outcome(original[name], seed) != outcome(again[name], seed):
                different.append(f"{text}\ntier {code.tier}, {code.verdict}, seed {seed}")
                break
    return verified, in_tier, different


def test_shapes_to_depth_two_are_verified() -> None:
    functions = list(shapes(2))
    assert len(functions) > 1500
    verified, idiomatic, different = check(functions, tier=1)
    assert not different, different[0]
    assert verified == len(functions)
    assert idiomatic >= 0.995 * len(functions)


PARTS = 16


@pytest.mark.parametrize("part", range(PARTS))
def test_shapes_of_depth_three_are_verified(part: int) -> None:
    functions = list(itertools.islice(shapes(3), part, None, PARTS))
    assert len(functions) > 2000
    verified, idiomatic, different = check(functions, tier=1)
    assert not different, different[0]
    assert verified == len(functions)
    assert idiomatic >= 0.997 * len(
        functions
    )  # loops with an else, and breaks in a finally, of which some have no plain form


def test_dispatch_loops_of_shapes_behave_the_same() -> None:
    functions = sample(3, 400, 7)
    verified, _, different = check(functions, tier=3)
    assert not different, different[0]
    assert verified >= 0.97 * len(functions), verified


def test_the_comparison_of_behaviour_sees_a_difference() -> None:
    one = compiled("def f(t):\n    try:\n        t(1)\n    finally:\n        t(2)\n")["f"]
    other = compiled("def f(t):\n    t(1)\n    t(2)\n")["f"]
    assert any(outcome(one, seed) != outcome(other, seed) for seed in SEEDS)
