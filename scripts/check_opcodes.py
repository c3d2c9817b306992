#!/usr/bin/env python3
"""Compares the opcode table of this Python version (src/bytecode/opcodes_3XX.def) with the running interpreter.

Exit status 0: equal, or there is no table for this version yet. 1: differences, one line each.
"""

import dis
import opcode
import re
import sys
from pathlib import Path

BYTECODE = Path(__file__).resolve().parent.parent / "src" / "bytecode"

# The compiler's own bookkeeping differs from what these instructions do: it takes the arguments of a call away at PRECALL
# instead of CALL, and a generator's first sent value is not counted.
STACK_DIFFERS = {"PRECALL", "CALL", "RETURN_GENERATOR"}

# Operands that only look like what the interpreter's lists say about them.
OPERAND_LISTS = {
    "kConstant": "hasconst",
    "kName": "hasname",
    "kNameShifted": "hasname",
    "kLocal": "haslocal",
    "kCell": "hasfree",
    "kCompare": "hascompare",
}


def read_rows(path):
    rows = {}
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"SUTURE_OPCODE\((.*)\)", line.strip())
        if match is None:
            continue
        name, number, caches, has_arg, jump, operand, pops, pushes, on_jump = [p.strip() for p in match[1].split(",")]
        rows[name] = {
            "number": int(number),
            "caches": int(caches),
            "has_arg": has_arg == "1",
            "jump": int(jump),
            "operand": operand,
            "stack": (pops, pushes, on_jump),
        }
    return rows


def read_names():
    text = (BYTECODE / "opcode_names.def").read_text()
    return re.findall(r"^SUTURE_OPCODE_NAME\((\w+)\)", text, re.MULTILINE)


def expected_operand(number):
    for operand, table in OPERAND_LISTS.items():
        if number in getattr(opcode, table, ()) and operand != "kNameShifted":
            return operand
    return None


def table_effect(row, arg, jump):
    pops, pushes, on_jump = (int(eval(text, {"__builtins__": {}}, {"arg": arg})) for text in row["stack"])
    return (on_jump if jump else pushes) - pops


def compare_stack(name, row):
    if name in STACK_DIFFERS:
        return
    for arg in (0, 1, 2, 3, 4, 5, 8, 15, 255, 256, 257, 1000) if row["has_arg"] else (None,):
        for jump in (False, True):
            try:
                theirs = dis.stack_effect(row["number"], arg, jump=jump)
            except ValueError:
                continue
            ours = table_effect(row, arg or 0, jump)
            if ours != theirs:
                yield f"{name} {arg} jump={jump}: stack effect {ours}, interpreter {theirs}"


def compare_row(name, row):
    number = row["number"]
    theirs = opcode.opmap.get(name)
    if theirs != number:
        yield f"{name}: number {number}, interpreter {theirs}"
        return
    caches = opcode._inline_cache_entries[number]
    if caches != row["caches"]:
        yield f"{name}: {row['caches']} caches, interpreter {caches}"
    if row["has_arg"] != (number >= opcode.HAVE_ARGUMENT):
        yield f"{name}: has_arg {row['has_arg']}, interpreter {number >= opcode.HAVE_ARGUMENT}"
    jump = 0 if number not in opcode.hasjrel else -1 if "BACKWARD" in name else 1
    if jump != row["jump"]:
        yield f"{name}: jump {row['jump']}, interpreter {jump}"
    operand = expected_operand(number)
    if operand is not None and row["operand"].removesuffix("Shifted") != operand:
        yield f"{name}: operand {row['operand']}, interpreter {operand}"
    if operand is None and row["operand"] in OPERAND_LISTS:
        yield f"{name}: operand {row['operand']}, interpreter has none of that kind"
    if (row["jump"] != 0) != (row["operand"] == "kTarget"):
        yield f"{name}: jump {row['jump']} with operand {row['operand']}"
    yield from compare_stack(name, row)


def differences():
    path = BYTECODE / f"opcodes_{sys.version_info.major}{sys.version_info.minor}.def"
    if not path.exists():
        return
    rows = read_rows(path)
    names = read_names()
    for name in sorted(set(opcode.opmap) - set(rows)):
        yield f"{name}: missing in {path.name}"
    for name in sorted(set(rows) - set(names)):
        yield f"{name}: missing in opcode_names.def"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: twice in opcode_names.def"
    for name, row in rows.items():
        yield from compare_row(name, row)


def main():
    found = list(differences())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
