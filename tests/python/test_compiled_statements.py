"""Statements that a break cuts, as the text of what runs shows them: every code object in tier 1, under names that say what happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import suture
from bench.compiled_text import Tally, broken_files, count, random_programs
from suture import _compiled_code
from tests.support.oracle import check, frames_compiled

X = np.arange(1.0, 5.0)


class Manager:
    def __enter__(self) -> int:
        return 3

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        return kind is KeyError


def printed(function: Any, *arguments: Any, frames: int) -> str:
    """The texts of all that runs, in one; each is verified to be what runs."""
    compiled = suture.compile(function)
    check(function, compiled, arguments)
    texts = _compiled_code.compiled_text(compiled)
    assert texts is not None
    assert {text.name: text.tier for text in texts.codes if text.tier != 1} == {}
    assert all(text.verdict.startswith("verified: same bytecode") for text in texts.codes)
    assert frames_compiled(compiled) == frames
    return "\n".join(text.source for text in texts.codes)


def test_a_with_statement_that_a_loop_leaves_is_whole():
    def f(x):
        count = 0
        while count < 3:
            count += 1
            with Manager():
                print(end="")
                if x.sum() > 5:
                    break
            x = x * 2
        return x, count

    text = printed(f, X, frames=5)
    assert (
        "    count += 1\n"
        "    with Manager():\n"
        "        print(end='')\n"
        "        if x.sum() > 5:\n"
        "            return 1, x, count\n"
        "    x = x * 2\n"
        "    if not count < 3:\n"
        "        return 1, x, count\n"
        "    return 0, x, count\n"
    ) in text


def test_a_constant_that_a_with_statement_in_a_loop_returns():
    def f(x):
        count = 0
        while count < 3:
            count += 1
            with Manager():
                print(end="")
                if x.sum() > 1000:
                    return
            x = x * 2
        return x, count

    text = printed(f, X, frames=9)
    assert "        if x.sum() > 1000:\n            return None, 1, x, count\n" in text


def test_a_try_statement_that_a_loop_leaves():
    def f(x):
        count = 0
        while count < 3:
            count += 1
            try:
                print(end="")
                if x.sum() > 1000:
                    break
            except ValueError:
                x = x - 1
            x = x * 2
        return x, count

    text = printed(f, X, frames=7)
    assert "        if x.sum() > 1000:\n            return 1, x, count\n    except ValueError:\n" in text


def test_an_inner_loop_that_a_return_leaves():
    def f(x, n):
        for item in x:
            print(end="")
            for k in range(n):
                if item + k > 2:
                    return x * k
        return x

    text = printed(f, X, 3, frames=6)
    assert (
        "    for k in range(n):\n        if item + k > 2:\n            return x * k, 1\n    return __unbound, 0\n"
    ) in text


def test_an_iteration_inside_of_a_try_statement():
    def f(x):
        y = x
        try:
            for item in x:
                print(end="")
                y = y + item
        except ValueError:
            y = x * 2
        return y

    text = printed(f, X, frames=3)
    assert (
        "    try:\n"
        "        exit = None\n"
        "        for item_1 in iterator:\n"
        "            leaving_0, exit, y = __iteration_at_12_2(item_1, x, y)\n"
        "            if exit:\n"
        "                break\n"
        "    except BaseException as exception:\n"
    ) in text
    assert (
        "    try:\n"
        "        item = item_\n"
        "        print(end='')\n"
        "        y = y + item\n"
        "        return __unbound, 0, y\n"
        "    except BaseException as exception:\n"
        "        return exception, 1, y\n"
    ) in text


def test_a_class_pattern():
    def f(x, n):
        y = x * 2
        match (n, y):
            case int() if n > 1:
                return y
            case [a, b]:
                return b + a
        return x

    text = printed(f, X, 2, frames=2)
    assert "    result_0 = __match_class(kept_2, __int, 0, ())\n" in text
    assert (
        "    if stack_1 is not None:\n"
        "        () = stack_1\n"
        "        if n > 1:\n"
        "            return y\n"
        "    match stack_0:\n"
        "        case [a, b]:\n"
        "            return b + a\n"
        "    return x\n"
    ) in text


def test_the_closure_of_a_function_that_is_made_again():
    def f(x, n):
        peek = lambda: (y, n)
        y = x * 1.5
        print(end="")
        y = y + n
        return peek()[0]

    text = printed(f, X, 2.0, frames=2)
    assert "    y = graph_out_0\n    peek = lambda: (y, n)\n" in text
    assert "    return __resume_at_60_2(n, peek, y)\n" in text


def test_the_first_step_of_an_iterator():
    def f(x, n):
        y = x * 2
        for item in range(n):
            return y + item
        return y

    text = printed(f, X, 70, frames=2)
    assert (
        "    result_0 = iter(iterable)\n"
        "    result_1 = next(result_0, __exhausted)\n"
        "    return y if result_1 is __exhausted else __resume_at_"
    ) in text


def test_a_branch_inside_of_a_try_statement():
    def f(x):
        try:
            y = x * 2
            if y.sum() > 3 and print(end="") is None:
                return y
        except ValueError:
            return x
        return x - 1

    text = printed(f, X, frames=2)
    assert (
        "    try:\n"
        "        truth = bool(value)\n"
        "    except BaseException as exception:\n"
        "        return __resume_at_100_2(exception, x)\n"
        "    return __resume_at_62_3(x, y) if truth else __resume_at_136_4(x)\n"
    ) in text


def test_a_value_that_a_with_statement_returns():
    def f(x):
        with Manager():
            with Manager():
                print(end="")
                return x * 2
        return x

    text = printed(f, X, frames=6)
    assert (
        "    with __entered(stack_0):\n        with __entered(stack_1):\n            return x * 2\n    return x\n"
    ) in text
    assert (
        "    with __entered(stack_0):\n        with __entered(stack_1):\n            raise stack_3\n    return x\n"
        in text
    )


def test_random_programs():
    tally = Tally()
    for source in random_programs(60, 0):
        count(tally, source, None)
    total = tally.tiers.total()
    assert total > 300
    assert tally.tiers[1] >= 0.9 * total, tally.no_statements.codes
    assert tally.tiers[4] <= 0.01 * total, tally.no_dispatch_loop.codes


def test_every_python_file_of_a_dump_of_random_programs_can_be_imported(tmp_path: Path):
    assert broken_files(random_programs(15, 100), tmp_path) == []
    assert len(list(tmp_path.rglob("*.py"))) > 100
