"""Tier 3 of the decompiler: functions as dispatch loops, proved path-equivalent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

PATHS = "verified: path-equivalent"


def looped(function: Callable[..., object]) -> str:
    result = suture.decompile(function, tier=3)
    assert (result.verdict, result.tier) == (PATHS, 3), (result.verdict, result.notes)
    return result.source


def namespace_of(source: str, **names: object) -> dict[str, object]:
    namespace = dict(names)
    exec(source, namespace)
    return namespace


def test_a_loop_that_is_entered_from_outside_once_ends() -> None:
    """The loop has one way in and its own way back: both count where a part of the text begins."""

    def drain(get: Callable[[], object]) -> object:
        try:
            while True:
                get()
        except KeyError:
            pass
        return 1

    source = looped(drain)
    waiting = [1, 2]

    def get() -> object:
        if not waiting:
            raise KeyError
        return waiting.pop()

    assert namespace_of(source)["drain"](get) == 1  # type: ignore[operator]
    assert not waiting


def test_a_method_whose_arguments_branch_is_an_attribute_that_is_called() -> None:
    def method(text: str, flag: bool) -> object:
        return text.split("a" if flag else "b"), "b".join(text if flag else [text, text])

    assert namespace_of(looped(method))["method"]("xaybz", True) == method("xaybz", True)  # type: ignore[operator]


def test_the_attribute_of_another_method_is_noticed() -> None:
    def first(text: str, flag: bool) -> object:
        return text.split("a" if flag else "b")

    source = looped(first).replace(".split", ".rsplit")
    other = namespace_of(source)["first"]
    assert not suture.same_bytecode(first, other)


def test_what_is_nested_in_a_listed_function_keeps_its_verdict() -> None:
    def outer(value: int) -> object:
        count = value

        def inner() -> int:
            nonlocal count
            count += 1
            return count

        return inner

    code = outer.__code__
    unreadable = code.replace(co_code=code.co_code[:-2] + b"\xff\xff")
    result = suture.decompile(unreadable)
    assert [(each.qualname.rpartition(".")[2], each.tier, each.verdict) for each in result.codes] == [
        ("outer", 4, "unverified: not decompiled"),
        ("inner", 1, "verified: same bytecode"),
    ]
    assert "count = None" in result.source  # the cell is there for it


def test_an_asynchronous_generator_returns_nothing() -> None:
    async def numbers(stop: int) -> object:
        for number in range(stop):
            yield number

    looped(numbers)


def test_what_a_compiled_function_runs_has_no_tiers() -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return x * 2 + 1

    compiled = suture.compile(double)
    assert suture.decompile(compiled, tier=3).tier == 3  # nothing is compiled yet: the function inside
    compiled(np.ones(3))
    assert frames_compiled(compiled) == 1
    for options in ({"tier": 3}, {"check": False}, {"python": sys.executable}):
        with pytest.raises(ValueError, match="__wrapped__"):
            suture.decompile(compiled, **options)  # type: ignore[arg-type]
    assert "__compiled_fn_1" in suture.decompile(compiled).source


def test_compilers_of_other_pythons_are_kept_and_closed() -> None:
    program = (
        "import suture, sys, suture._recompile as r\n"
        "def f(): return 1\n"
        "for _ in range(3):\n"
        "    assert suture.decompile(f, python=sys.executable).verified\n"
        "assert len(r._named) == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
