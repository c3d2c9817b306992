"""What suture.decompile prints for a compiled function: every code object of it as its author would write it, and runnable names."""

from __future__ import annotations

import os
import re

import numpy as np

import suture
from tests.support.oracle import check, frames_compiled


def texts(compiled):
    """The definitions of the printed module by name, without those of guards."""
    source = suture.decompile(compiled).source
    parts = re.split(r"\n\n\n(?=# Compile|# __|def )", source)
    found = {}
    for part in parts:
        definition = re.search(r"^def (\w+)", part, re.MULTILINE)
        if definition and not definition[1].startswith("__guard"):
            assert definition[1] not in found, "two functions of one name"
            found[definition[1]] = part[definition.start() :].strip() + "\n"
    return found


def one(found, start):
    [name] = [name for name in found if name.startswith(start)]
    return found[name]


def branch(x):
    if x.sum() > 0:
        return x * 3
    return x - 1


def test_a_branch_on_a_single_result():
    compiled = suture.compile(branch)
    check(branch, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    text = one(texts(compiled), "__transformed_code_0")
    assert re.fullmatch(
        r"def __transformed_code_0_for_branch\(x\):\n"
        r"    graph_out_0, = __compiled_fn_1\(x\)\n"
        r"    if graph_out_0:\n"
        r"        return __resume_at_\d+_2\(x\)\n"
        r"    return __resume_at_\d+_3\(x\)\n",
        text,
    )
    assert frames_compiled(compiled) == 2


def test_a_comprehension_behind_a_break_belongs_to_the_text_that_has_it():
    def f(x):
        print(end="")
        scale = [n * 2 for n in range(3)]
        print(end="")
        return x * scale[2]

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    found = texts(compiled)
    first, second = [text for name, text in found.items() if name.startswith("__resume_at")]
    assert "scale = [n * 2 for n in range(3)]" in first and "range" not in second
    assert frames_compiled(compiled) == 3


def test_values_on_the_stack_are_parameters():
    def f(x):
        return x * 2 + os.getpid() * len(os.listdir("/")) * 0

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    resumed = [text for name, text in texts(compiled).items() if name.startswith("__resume_at")]
    assert "return stack_0 + stack_1 * len(os.listdir('/')) * 0\n" in resumed[0]
    assert not any("del " in text for text in resumed)
    assert frames_compiled(compiled) == 3


def test_objects_have_their_names():
    def helper(x):
        return os.getpid()

    def f(x):
        helper(x)
        np.sort(x)
        return x

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    text = "".join(texts(compiled).values())
    assert "__sort(x)" in text and "__getpid()" in text and "__object" not in text
    assert frames_compiled(compiled) == 3


def test_names_of_ours_stay_ours():
    def release_arguments():
        return os.getpid()

    def tail_call(x):
        return os.getpid()

    def enter(x):
        return os.getpid()

    def f(x):
        release_arguments()
        tail_call(x)
        enter(x)
        return x

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    for name in ("release_arguments", "tail_call", "enter"):
        assert f"__{name}_object(" in result.source
    assert not any(note.startswith("__enter") for note in result.notes)
    assert frames_compiled(compiled) == 6


def test_every_graph_has_a_name_of_its_own():
    def f(x):
        y = x * 2
        print(end="")
        return y + 1

    compiled = suture.compile(f, dynamic=False)
    check(f, compiled, (np.arange(4.0),))
    check(f, compiled, (np.arange(5.0),))
    found = texts(compiled)
    assert [name for name in found if name.startswith("__compiled_fn")] == [f"__compiled_fn_{n}" for n in (1, 2, 3, 4)]
    assert "__compiled_fn_2(x)" in found["__transformed_code_1_for_f"]
    assert frames_compiled(compiled) == 4


def test_resume_functions_without_a_compile_are_shown_too():
    compiled = suture.compile(branch)
    check(branch, compiled, (np.arange(4.0),))
    source = suture.decompile(compiled).source
    assert re.search(
        r"# .*__resume_at_\d+_3 \(.*\): nothing has been compiled for it\ndef __resume_at_\d+_3\(x\):\n    return x - 1\n",
        source,
    )
    assert frames_compiled(compiled) == 2


def test_a_loop_with_a_break_in_it_is_a_for_statement():
    def f(x):
        total = 0
        for row in x:
            y = row * 2
            print(end="")
            if y.sum() > 8:
                break
            total = total + y
        return total

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(12.0).reshape(3, 4),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    text = one(texts(compiled), "__transformed_code_0_for_f")
    assert re.search(
        r"    total = 0\n"
        r"    for item in iterator:\n"
        r"        exit, total = __iteration_at_\d+_2\(item, total\)\n"
        r"        if exit:\n"
        r"            break\n"
        r"    return total\n",
        text,
    )
    assert frames_compiled(compiled) == 3


def test_a_break_in_a_try_statement():
    def f(x):
        try:
            y = x * 2
            print(end="")
            y = y + 1
        except ValueError:
            y = x
        return y

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    found = texts(compiled)
    assert re.search(
        r"    try:\n"
        r"        __print\(end=''\)\n"
        r"    except BaseException as exception:\n"
        r"        return __resume_at_\d+_2\(exception, x\)\n",
        one(found, "__transformed_code_0_for_f"),
    )
    assert any(
        "    try:\n        raise stack_0\n    except ValueError:\n        y = x\n" in text for text in found.values()
    )
    assert frames_compiled(compiled) == 2


class Manager:
    def __enter__(self):
        return 3

    def __exit__(self, *exception):
        return False


def test_a_break_in_a_with_statement():
    def f(x):
        with Manager() as m:
            y = x * m
            print(end="")
            y = y + 1
        return y

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    result = suture.decompile(compiled)
    assert (result.tier, result.verdict) == (1, "verified: same bytecode")
    assert any(note.startswith("__entered(exit): ") for note in result.notes)
    resumed = [text for name, text in texts(compiled).items() if name.startswith("__resume_at")]
    assert any("    with __entered(stack_0):\n" in text for text in resumed)
    assert frames_compiled(compiled) == 4


def test_a_variable_that_an_inner_function_shares():
    def f(x, n):
        def scaled():
            return x * n

        print(end="")
        n = n + 1
        return scaled()

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0), 2.0))
    found = texts(compiled)
    assert "    n = n + 1\n    return scaled()\n" in one(found, "__resume_at")
    assert frames_compiled(compiled) == 2


def test_two_functions_of_one_place_have_two_names():
    def f(x):
        y = x
        y += 1
        y[0] = 7
        print(x[0])
        z = x[::-1]
        z[:2] = 3
        print(x)
        x, y = y, z
        return x is y, x, y

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0),))
    found = texts(compiled)
    assert len([name for name in found if name.endswith("_again_1")]) == 1
    parameters = {name: text.split("(", 1)[1].split(")")[0].count(",") for name, text in found.items()}
    calls = [call for text in found.values() for call in re.findall(r"return (__resume_at_\w+)\((.*)\)", text)]
    assert len(calls) == 2
    for name, arguments in calls:
        assert arguments.count(",") == parameters[name]
    assert frames_compiled(compiled) == 2
