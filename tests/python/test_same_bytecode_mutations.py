"""Code of the standard library with one instruction changed is never called the same as the original."""

from __future__ import annotations

import dis
import marshal
import random
import sys
import types
from collections import Counter
from collections.abc import Iterator

import pytest

from suture import _toolbox

VERSION = sys.version_info[:2]

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(
        f"{VERSION[0]}.{VERSION[1]}" not in _toolbox.decodable_versions(), reason="no opcode table of this Python"
    ),
]

MODULES = (
    "argparse ast asyncio.base_events asyncio.tasks bdb calendar cmd codecs configparser contextlib copy csv dataclasses "
    "datetime decimal difflib dis doctest email.message enum fractions ftplib functools gettext gzip heapq inspect ipaddress "
    "json.decoder locale logging mailbox numbers optparse os pathlib pdb pickle pickletools platform plistlib pprint "
    "queue random sched selectors shelve shlex shutil smtplib socket statistics string subprocess tarfile tempfile "
    "textwrap threading timeit tokenize traceback types typing uuid weakref zipfile"
).split()

ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
# Opcodes with the same operands and another meaning.
OPPOSITES = [
    *((f"{jump}_TRUE", f"{jump}_FALSE") for jump in ("POP_JUMP_IF", "POP_JUMP_FORWARD_IF", "POP_JUMP_BACKWARD_IF")),
    *((f"{jump}_NONE", f"{jump}_NOT_NONE") for jump in ("POP_JUMP_IF", "POP_JUMP_FORWARD_IF", "POP_JUMP_BACKWARD_IF")),
    ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"),
    ("UNARY_NEGATIVE", "UNARY_INVERT"),
    ("BUILD_LIST", "BUILD_TUPLE"),
    ("LIST_APPEND", "SET_ADD"),
]
COMPARE_SHIFT = {(3, 11): 0, (3, 12): 4}.get(VERSION, 5)
LAYOUT_NAMES = {"__firstlineno__", "__static_attributes__"}  # values that do not count


def identity(value: object) -> object:
    if isinstance(value, tuple):
        return ("tuple", tuple(identity(item) for item in value))
    if isinstance(value, frozenset):
        return ("frozenset", tuple(sorted(repr(identity(item)) for item in value)))
    if isinstance(value, types.CodeType):
        return ("code", value.co_name)
    return (type(value), repr(value))


def reachable(code: types.CodeType) -> list[dis.Instruction]:
    listed = {each.offset: each for each in dis.get_instructions(code)}
    following = dict(zip(listed, list(listed)[1:]))
    handlers = dis._parse_exception_table(code)
    seen, work = set(), [0]
    while work:
        offset = work.pop()
        if offset in seen or offset not in listed:
            continue
        seen.add(offset)
        each = listed[offset]
        if each.opcode in dis.hasjrel:
            work.append(each.argval)
        if each.opname not in ENDS | JUMPS and offset in following:
            work.append(following[offset])
        if each.opname in {
            "CALL",
            "CALL_KW",
            "CALL_FUNCTION_EX",
            "RERAISE",
            "RAISE_VARARGS",
            "LOAD_GLOBAL",
            "LOAD_ATTR",
        }:
            work += [entry.target for entry in handlers if entry.start <= offset < entry.end]
    return [listed[offset] for offset in sorted(seen)]


def opcode_changes(each: dis.Instruction) -> Iterator[int]:
    for pair in OPPOSITES:
        if each.opname in pair:
            yield dis.opmap[pair[1 - pair.index(each.opname)]]


def argument_changes(
    code: types.CodeType, each: dis.Instruction, following: dis.Instruction | None, choose: random.Random
) -> Iterator[int]:
    arg = each.arg & 255
    if each.opcode in dis.hasconst:
        other = choose.randrange(min(256, len(code.co_consts)))
        layout = following is not None and following.opname == "STORE_NAME" and following.argval in LAYOUT_NAMES
        if identity(code.co_consts[other]) != identity(code.co_consts[arg]) and not layout:
            yield other
    elif each.opcode in dis.haslocal and each.opname.count("FAST") == 1 and len(code.co_varnames) > 1:
        yield (arg + 1) % min(256, len(code.co_varnames))
    elif each.opcode in dis.hasname:
        shift = {"LOAD_GLOBAL": 1, "LOAD_ATTR": VERSION >= (3, 12), "LOAD_SUPER_ATTR": 2}.get(each.opname, 0)
        names = min(256 >> shift, len(code.co_names))
        if names > 1:
            yield ((arg >> shift) + 1) % names << shift | arg & (1 << shift) - 1
    elif each.opname == "BINARY_OP":
        yield (arg + 1) % 26
    elif each.opname == "COMPARE_OP":
        yield ((arg >> COMPARE_SHIFT) + 1) % 6 << COMPARE_SHIFT | arg & (1 << COMPARE_SHIFT) - 1
    elif each.opname in ("IS_OP", "CONTAINS_OP"):
        yield arg ^ 1


def mutants(code: types.CodeType, choose: random.Random) -> Iterator[tuple[str, types.CodeType]]:
    """What is changed, and the code with the change."""
    instructions = reachable(code)
    for previous, each, following in zip([None, *instructions], instructions, [*instructions[1:], None]):
        if each.opname in {"EXTENDED_ARG", "CACHE"} or (previous and previous.opname == "EXTENDED_ARG"):
            continue
        places = [(each.offset, opcode) for opcode in opcode_changes(each)]
        if each.arg is not None:
            places += [(each.offset + 1, arg) for arg in argument_changes(code, each, following, choose)]
        for place, value in places:
            if code.co_code[place] != value:
                changed = bytearray(code.co_code)
                changed[place] = value
                yield f"{each.opname} at {each.offset}", code.replace(co_code=bytes(changed))


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def test_a_changed_instruction_is_always_noticed():
    choose = random.Random(311)
    outcomes: Counter[str] = Counter()
    for module in MODULES:
        with open(__import__(module, fromlist=["_"]).__file__, encoding="utf-8") as file:
            whole = compile(file.read(), module, "exec", dont_inherit=True)
        for code in codes_of(whole):
            original = marshal.dumps(code)
            changes = list(mutants(code, choose))
            for what, mutant in choose.sample(changes, min(2, len(changes))):
                same, why = _toolbox.same_bytecode_marshal(original, marshal.dumps(mutant), VERSION)
                assert not same, f"{what} of {code.co_qualname} in {module}"
                outcomes["by the walk" if "in the first" in why else "as broken bytecode"] += 1
    assert outcomes["by the walk"] >= 5000
    assert outcomes["as broken bytecode"] <= outcomes["by the walk"] // 10
