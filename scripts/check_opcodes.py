#!/usr/bin/env python3
"""Compares the opcode tables (src/bytecode/opcodes_3XX.def) with interpreters of their versions.

Each table is compared by an interpreter of its version: the running one, or the first that is found under the name python3.X
on PATH or among the versions of pyenv. Tables whose interpreter is not there are named on stderr and count as equal.
--running: only the table of the running interpreter.

Exit status 0: equal. 1: differences, one line each.
"""

import dis
import opcode
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BYTECODE = Path(__file__).resolve().parent.parent / "src" / "bytecode"

# The compiler's own bookkeeping differs from what these instructions do: up to 3.11 it takes the arguments of a call away at
# PRECALL instead of CALL, and up to 3.12 a generator's first sent value is not counted.
STACK_DIFFERS = {
    (3, 11): {"PRECALL", "CALL", "RETURN_GENERATOR"},
    (3, 12): {"RETURN_GENERATOR"},
}

# Operands that only look like what the interpreter's lists say about them.
OPERAND_LISTS = {
    "kConstant": "hasconst",
    "kName": "hasname",
    "kNameShifted": "hasname",
    "kLocal": "haslocal",
    "kCell": "hasfree",
    "kCompare": "hascompare",
}


# The interpreter counts these as one local; they are two of 4 bits each.
LOCAL_PAIRS = {"LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}


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


def interpreter_opcodes():
    """Opcodes that code objects hold: no pseudo-instructions of the compiler, none that tracing puts in."""
    return {
        name: number for name, number in opcode.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")
    }


def interpreter_caches(name, number):
    entries = opcode._inline_cache_entries
    return entries.get(name, 0) if isinstance(entries, dict) else entries[number]


def interpreter_has_arg(number):
    return number in opcode.hasarg if hasattr(opcode, "hasarg") else number >= opcode.HAVE_ARGUMENT


def expected_operand(name, number):
    if name in LOCAL_PAIRS:
        return "kLocalPair"
    for operand, table in OPERAND_LISTS.items():
        if number in getattr(opcode, table, ()) and operand != "kNameShifted":
            return operand
    return None


def table_effect(row, arg, jump):
    pops, pushes, on_jump = (int(eval(text, {"__builtins__": {}}, {"arg": arg})) for text in row["stack"])
    return (on_jump if jump else pushes) - pops


def compare_stack(name, row):
    if name in STACK_DIFFERS.get(sys.version_info[:2], ()):
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
    theirs = interpreter_opcodes().get(name)
    if theirs != number:
        yield f"{name}: number {number}, interpreter {theirs}"
        return
    caches = interpreter_caches(name, number)
    if caches != row["caches"]:
        yield f"{name}: {row['caches']} caches, interpreter {caches}"
    if row["has_arg"] != interpreter_has_arg(number):
        yield f"{name}: has_arg {row['has_arg']}, interpreter {interpreter_has_arg(number)}"
    jump = 0 if number not in opcode.hasjrel else -1 if "BACKWARD" in name else 1
    if jump != row["jump"]:
        yield f"{name}: jump {row['jump']}, interpreter {jump}"
    operand = expected_operand(name, number)
    if operand is not None and re.sub("Shifted(Twice)?$", "", row["operand"]) != operand:
        yield f"{name}: operand {row['operand']}, interpreter {operand}"
    if operand is None and row["operand"] in OPERAND_LISTS:
        yield f"{name}: operand {row['operand']}, interpreter has none of that kind"
    if (row["jump"] != 0) != (row["operand"] == "kTarget"):
        yield f"{name}: jump {row['jump']} with operand {row['operand']}"
    yield from compare_stack(name, row)


def table_path(version):
    return BYTECODE / f"opcodes_{version[0]}{version[1]}.def"


def differences():
    path = table_path(sys.version_info)
    if not path.exists():
        return
    rows = read_rows(path)
    names = read_names()
    for name in sorted(set(interpreter_opcodes()) - set(rows)):
        yield f"{name}: missing in {path.name}"
    for name in sorted(set(rows) - set(names)):
        yield f"{name}: missing in opcode_names.def"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: twice in opcode_names.def"
    for name, row in rows.items():
        yield from compare_row(name, row)


def table_versions():
    return sorted((3, int(path.stem.removeprefix("opcodes_3"))) for path in BYTECODE.glob("opcodes_3*.def"))


def interpreter_candidates(version):
    name = f"python{version[0]}.{version[1]}"
    for directory in os.get_exec_path():
        found = shutil.which(name, path=directory)
        if found:
            yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version[0]}.{version[1]}.*/bin/python")))


def find_interpreter(version):
    """A path, or None. A name may be there and not run: pyenv has a stub for every version it ever saw."""
    check = f"import sys; sys.exit(sys.version_info[:2] != {tuple(version)})"
    for candidate in interpreter_candidates(version):
        if subprocess.run([candidate, "-I", "-S", "-c", check], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def check_version(version):
    if version == sys.version_info[:2]:
        found = list(differences())
        for line in found:
            print(line)
        return 1 if found else 0
    interpreter = find_interpreter(version)
    if interpreter is None:
        print(f"opcodes: no Python {version[0]}.{version[1]} here to compare its table with", file=sys.stderr)
        return 0
    sys.stdout.flush()
    return subprocess.run([interpreter, "-I", __file__, "--running"], check=False).returncode


def main():
    if "--running" in sys.argv[1:]:
        return check_version(sys.version_info[:2])
    return max(check_version(version) for version in table_versions())


if __name__ == "__main__":
    sys.exit(main())
