"""Code objects are read from marshalled bytes and .pyc files as the interpreter reads them, and damaged ones are refused."""

from __future__ import annotations

import ast
import dis
import marshal
import py_compile
import random
import sys
import types

import pytest

from suture import _toolbox

VERSION = sys.version_info[:2]

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(
        f"{VERSION[0]}.{VERSION[1]}" not in _toolbox.decodable_versions(), reason="no opcode table of this Python"
    ),
]

MODULES = ["ast", "asyncio.base_events", "argparse", "contextlib", "dataclasses", "inspect", "typing", "zipfile"]


def source_of(module: str) -> str:
    found = __import__(module, fromlist=["_"])
    with open(found.__file__, encoding="utf-8") as file:
        return file.read()


def constant_facts(value: object) -> object:
    if isinstance(value, types.CodeType):
        return code_facts(value)
    if isinstance(value, tuple):
        return ("tuple", [constant_facts(item) for item in value])
    if isinstance(value, frozenset):
        return ("frozenset", sorted(repr(constant_facts(item)) for item in value))
    return (type(value).__name__, repr(value))


def comparable(facts: object) -> object:
    """Constants of _toolbox.code_facts in the form of constant_facts."""
    match facts:
        case dict():
            return {**facts, "consts": [comparable(item) for item in facts["consts"]]}
        case ("tuple", list(items)):
            return ("tuple", [comparable(item) for item in items])
        case ("frozenset", list(items)):
            return ("frozenset", sorted(repr(comparable(item)) for item in items))
        case ("int", str(literal)):
            return ("int", repr(int(literal, 0)))
    return (type(facts).__name__, repr(facts))


def instruction_facts(code: types.CodeType) -> tuple[list, list]:
    moved, prefixes, instructions = {}, [], []
    for each in dis.get_instructions(code):
        if each.opname == "EXTENDED_ARG":
            prefixes.append(each.offset)
        elif each.opname != "CACHE":
            moved.update(dict.fromkeys(prefixes, each.offset))
            prefixes = []
            instructions.append(each)

    def place(offset: int) -> int:
        return moved.get(offset, offset)

    def known(value: int | None, unknown: int) -> int:
        return unknown if value is None else value

    jumps = set(dis.hasjrel)
    listed = [
        (
            each.offset,
            each.opname,
            0 if each.opcode in jumps else each.arg or 0,
            place(each.argval) if each.opcode in jumps else -1,
            known(each.positions.lineno, 0),
            known(each.positions.end_lineno, 0),
            known(each.positions.col_offset, -1),
            known(each.positions.end_col_offset, -1),
        )
        for each in instructions
    ]
    handlers = [
        (place(entry.start), place(entry.end), place(entry.target), entry.depth, entry.lasti)
        for entry in dis._parse_exception_table(code)
    ]
    return listed, handlers


def code_facts(code: types.CodeType) -> dict[str, object]:
    instructions, handlers = instruction_facts(code)
    return {
        **{
            name: getattr(code, f"co_{name}")
            for name in (
                "argcount posonlyargcount kwonlyargcount stacksize flags code filename name qualname firstlineno".split()
            )
        },
        "names": list(code.co_names),
        "consts": [constant_facts(value) for value in code.co_consts],
        "instructions": instructions,
        "exceptions": handlers,
    }


def assert_same_facts(ours: dict, theirs: dict) -> int:
    """Number of code objects compared."""
    compared = 1
    for name, expected in theirs.items():
        if name != "consts":
            assert ours[name] == expected, f"{name} of {theirs['qualname']}"
            continue
        assert len(ours["consts"]) == len(expected)
        for one, other in zip(ours["consts"], expected):
            if isinstance(other, dict):
                compared += assert_same_facts(one, other)
            else:
                assert one == other
    return compared


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_read_as_dis_reads_them(module):
    code = compile(source_of(module), module, "exec", dont_inherit=True)
    facts = comparable(_toolbox.code_facts(marshal.dumps(code), VERSION))
    assert assert_same_facts(facts, code_facts(code)) >= 50


CONSTANTS = [
    *(None, True, False, ..., 0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), -(2**63) - 1),
    *(10**30, -(10**4299), 10**4301, 3**20000),
    *(0.0, -0.0, 1.5, 1e300, 5e-324, float("inf"), -float("inf"), 1j, -0.0 + 2j, complex(float("inf"), -0.0)),
    *("", "a", "ä", "𝄞", "\ud800x", "it's", "a" * 300, b"", b"\xff\x00", b"x" * 300),
    *((), (1, (2.0, "x", None)), frozenset(), frozenset({1, "a", (2, 3)})),
]


@pytest.mark.parametrize("version", range(marshal.version + 1))
def test_constants_of_every_type_are_exact(version):
    code = compile("0", "constants", "eval").replace(co_consts=tuple(CONSTANTS))
    sys.set_int_max_str_digits(20_000)
    try:
        facts = comparable(_toolbox.code_facts(marshal.dumps(code, version), VERSION))
        assert facts["consts"] == [constant_facts(value) for value in CONSTANTS]
    finally:
        sys.set_int_max_str_digits(4300)


def test_reprs_are_pythons():
    code = compile("0", "constants", "eval").replace(co_consts=tuple(CONSTANTS))
    shown = _toolbox.code_facts(marshal.dumps(code), VERSION)["reprs"]
    for value, text in zip(CONSTANTS, shown):
        if isinstance(value, (int, float, complex, bytes)) and len(text) < 900 and "inf" not in text:
            assert text == repr(value)
        if isinstance(value, str) and value.isascii():
            assert ast.literal_eval(text) == value


def test_a_pyc_file_is_read_with_its_version(tmp_path):
    source, compiled = tmp_path / "module.py", tmp_path / "module.pyc"
    source.write_text(source_of("argparse"))
    py_compile.compile(str(source), str(compiled), doraise=True)
    version, facts = _toolbox.pyc_facts(compiled.read_bytes())
    assert version == VERSION
    assert facts["name"] == "<module>"


def test_versions_without_a_table_are_refused():
    with pytest.raises(ValueError, match=r"code of Python 2\.7 cannot be read; known are 3\.11"):
        _toolbox.code_facts(marshal.dumps(compile("1", "x", "eval")), (2, 7))


def test_instrumented_and_specialised_instructions_are_refused():
    code = compile("x = 1", "x", "exec")
    unknown = next(number for number in range(1, 256) if dis.opname[number].startswith("<"))
    data = marshal.dumps(code).replace(code.co_code, bytes([unknown, 0]) + code.co_code[2:])
    with pytest.raises(ValueError, match=f"opcode {unknown} at byte 0 is none of Python"):
        _toolbox.code_facts(data, VERSION)


def test_every_truncation_and_most_damage_end_in_an_error():
    data = marshal.dumps(compile(source_of("contextlib"), "contextlib.py", "exec"))
    for length in range(0, len(data), 37):
        with pytest.raises(ValueError, match="bad marshal data at byte"):
            _toolbox.code_facts(data[:length], VERSION)
    generator = random.Random(20260)
    outcomes = set()
    for _ in range(600):
        damaged = bytearray(data)
        for _ in range(generator.choice([1, 2, 8])):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        try:
            _toolbox.code_facts(bytes(damaged), VERSION)
            outcomes.add("read")
        except ValueError as error:
            assert str(error)
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}, "names may change without harm, structure may not"
