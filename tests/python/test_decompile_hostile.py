"""Code objects that are large, deep or damaged take bounded time: the sizes are such that quadratic work would run into the limit."""

from __future__ import annotations

import contextlib
import dataclasses
import marshal
import opcode
import random
import sys
import time
import types
import typing
from collections.abc import Callable
from pathlib import Path

import pytest

import suture
from suture import _toolbox

# Nothing here is run or compiled by suture.compile: 0 frames.

SAME = "verified: same bytecode"
SECONDS = 5.0
ONLY_311 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the instructions are those of 3.11")


def function(body: str) -> types.CodeType:
    made = compile(f"def f(x, a, b, c):\n{body}", "<long>", "exec").co_consts[0]
    assert isinstance(made, types.CodeType)
    return made


def in_time(code: types.CodeType, tier: int = 1) -> suture.Decompiled:
    start = time.process_time()
    result = suture.decompile(code, tier=tier)
    assert time.process_time() - start < SECONDS
    return result


def cases(count: int, case: Callable[[int], str]) -> str:
    return " match x:\n" + "".join(f"  {case(i)}: a()\n" for i in range(count))


LONG = {
    "targets": " " + " = ".join(f"a{i}" for i in range(10_000)) + " = x\n",
    "and": " return " + " and ".join(["x"] * 20_000) + "\n",
    "or": " if " + " or ".join(f"x{i}" for i in range(20_000)) + ":\n  a()\n",
    "comparison": " return " + " < ".join(["x"] * 10_000) + "\n",
    "cases": cases(5_000, lambda i: f"case {i}"),
    "captures with guards": cases(5_000, lambda i: f"case a{i} if x.a{i}"),
    "alternatives": " match x:\n  case " + " | ".join(map(str, range(3_000))) + ":\n   a()\n",
    "conditional expressions": " return (" + "a if b else c," * 3_000 + ")\n",
}


@pytest.mark.parametrize("name", LONG)
def test_long_code_of_the_compiler_takes_linear_time(name: str) -> None:
    result = in_time(function(LONG[name]))
    assert (result.verdict, result.tier) == (SAME, 1)


def test_many_variables_in_long_code_are_no_dispatch_loop() -> None:
    result = in_time(function("".join(f" x{i} = {i % 200}\n" for i in range(20_000))), tier=3)
    assert "so many variables are not followed through so many instructions" in result.notes[0]


def test_constants_that_hold_each_other_many_times_are_not_written_out() -> None:
    shared: tuple[object, ...] = (1, 2)
    for _ in range(18):
        shared = (shared, shared)
    code = function(" return 12345\n")
    result = in_time(code.replace(co_consts=(None, shared)))
    assert "its text repeats constants too often" in result.notes[0]
    odd: tuple[object, ...] = (object(), 2)
    for _ in range(18):
        odd = (odd, odd)
    assert not in_time(code.replace(co_consts=(None, odd))).verified
    rows = ((0, 1, 2),) * 30_000
    assert in_time(code.replace(co_consts=(None, rows))).verified


Instruction = tuple[str, int | str]


def assembled(instructions: list[Instruction], stack: int) -> types.CodeType:
    """Arguments that are text are labels, which stand as ("label", name)."""
    code = bytearray([opcode.opmap["RESUME"], 0])
    labels: dict[str, int] = {}
    jumps: list[tuple[int, str]] = []
    for name, arg in instructions:
        if name == "label":
            labels[str(arg)] = len(code)
            continue
        if isinstance(arg, str):
            jumps.append((len(code), arg))
        number = 0 if isinstance(arg, str) else arg
        code += bytes([opcode.EXTENDED_ARG, number >> 16 & 255, opcode.EXTENDED_ARG, number >> 8 & 255])
        code += bytes([opcode.opmap[name], number & 255])
        code += bytes(2 * opcode._inline_cache_entries[opcode.opmap[name]])  # type: ignore[attr-defined]
    for at, label in jumps:
        distance = (labels[label] - at - 6) // 2
        code[at + 1], code[at + 3], code[at + 5] = distance >> 16 & 255, distance >> 8 & 255, distance & 255
    return function(" return x\n").replace(co_code=bytes(code), co_stacksize=stack)


def conditions_on_the_stack(count: int) -> list[Instruction]:
    code: list[Instruction] = []
    for i in range(count):
        code += [("LOAD_FAST", 1), ("POP_JUMP_FORWARD_IF_FALSE", f"no{i}"), ("LOAD_FAST", 2)]
        code += [("JUMP_FORWARD", f"on{i}"), ("label", f"no{i}"), ("LOAD_FAST", 3), ("label", f"on{i}")]
    return [*code, ("BUILD_TUPLE", count), ("RETURN_VALUE", 0)]


def ladder(count: int) -> list[Instruction]:
    code: list[Instruction] = []
    for i in range(count):
        test = "FALSE" if i % 2 else "TRUE"
        code += [("LOAD_FAST", i % 3), (f"POP_JUMP_FORWARD_IF_{test}", test)]
    ends: list[Instruction] = [("LOAD_FAST", 1), ("RETURN_VALUE", 0)]
    return [*code, ("label", "TRUE"), *ends, ("label", "FALSE"), *ends]


HANDMADE: dict[str, tuple[Callable[[int], list[Instruction]], int]] = {
    "conditions on the stack": (conditions_on_the_stack, 1_000),
    "more conditions on the stack": (conditions_on_the_stack, 4_000),
    "ladder": (ladder, 30_000),
    "copies": (
        lambda n: [("LOAD_FAST", 0), *[("COPY", 1)] * n, ("BUILD_TUPLE", n + 1), ("RETURN_VALUE", 0)],
        10_000,
    ),
    "deep copies": (
        lambda n: [*[("LOAD_FAST", 0)] * n, *[("COPY", n), ("STORE_FAST", 1)] * n, ("RETURN_VALUE", 0)],
        2_000,
    ),
}


@ONLY_311
@pytest.mark.parametrize("tier", [1, 3])
@pytest.mark.parametrize("name", HANDMADE)
def test_handmade_code_takes_bounded_time(name: str, tier: int) -> None:
    make, count = HANDMADE[name]
    result = in_time(assembled(make(count), count + 5), tier)
    assert result.verified or result.notes


@ONLY_311
def test_a_comprehension_with_a_loop_into_its_middle_is_none() -> None:
    code = compile("(b if a is c else a for a in x)", "<text>", "exec").co_consts[0]
    jump = bytes([opcode.opmap["JUMP_BACKWARD"]])
    at = code.co_code.rindex(jump, 0, len(code.co_code) - 4)
    data = marshal.dumps(code)
    begin = data.index(code.co_code)
    verdicts = set()
    for distance in range(1, code.co_code[at + 1]):
        damaged = bytearray(data)
        damaged[begin + at + 1] = distance
        verdicts.add(_toolbox.decompile_marshal(bytes(damaged), (3, 11), None, "", None, "", 1)["verdict"])
    assert "unverified: not decompiled" in verdicts


def nested(code: types.CodeType) -> list[types.CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *(one for each in inner for one in nested(each))]


def all_code(module: types.ModuleType) -> list[types.CodeType]:
    return nested(compile(Path(str(module.__file__)).read_text(), "<module>", "exec"))


@pytest.mark.parametrize("seed", range(2))
def test_damaged_code_of_the_library_is_read_or_refused(seed: int) -> None:
    """At the level of bytes: CPython itself crashes when it only makes such code objects."""
    choose = random.Random(seed)
    tiers = set()
    for code in [code for module in (contextlib, dataclasses, typing) for code in all_code(module)]:
        data = marshal.dumps(code)
        if data.count(code.co_code) != 1:
            continue
        begin = data.index(code.co_code)
        for _ in range(8):
            damaged = bytearray(data)
            for _ in range(choose.randrange(1, 4)):
                at = choose.randrange(len(code.co_code))
                damaged[begin + at] = (damaged[begin + at] + choose.choice([1, 255, choose.randrange(256)])) % 256
            record = _toolbox.decompile_marshal(bytes(damaged), sys.version_info[:2], None, "", None, "", 1)
            tiers.add(record["tier"])
    assert tiers == {1, 2, 4}


def test_code_that_ends_inside_an_instruction_is_refused_before_it_is_copied() -> None:
    """CPython fills in the caches of such an instruction behind the end of the bytes when it is asked for co_code."""
    whole = function("    return a.b")
    cut = whole.co_code[: whole.co_code.rindex(bytes([opcode.opmap["LOAD_ATTR"]])) + 2]
    made = whole.replace(co_code=cut)
    for hidden in (made, whole.replace(co_consts=(made,)), whole.replace(co_consts=((None, (made,)),))):
        with pytest.raises(ValueError, match=f"f: the code ends inside the instruction at byte {len(cut) - 2}"):
            suture.decompile(hidden)
        with pytest.raises(ValueError, match="the code ends inside"):
            suture.same_bytecode(whole, hidden)
    assert suture.decompile(whole).verdict == SAME
