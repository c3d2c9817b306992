"""Checks that rooms include only what the DAG allows.

The DAG is read from the DEPENDS lists in src/CMakeLists.txt (one truth). Also checked: the DAG has no cycle, LLVM and clang
headers appear only in src/toolchain/plugin, nanobind only in src/bindings, Python's version-dependent internals only in
src/cpython, nothing under src/ prints or aborts, and Python exceptions are discarded by discard_error only. Exits 1 and names every offending line.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
# Rooms that are no suture_room(): what they may include.
EXTRA = {
    "bindings": {"*"},
}
FORBIDDEN = [
    (re.compile(r"^(llvm|clang|lld)[-/]"), "toolchain/plugin", "LLVM and clang headers"),
    (re.compile(r"^nanobind/"), "bindings", "nanobind headers"),
    (re.compile(r"^internal/pycore"), "cpython", "CPython internals"),
]
FORBIDDEN_TEXT = [
    (re.compile(r"\bPY_VERSION_HEX\b|\bPy_BUILD_CORE\b"), "cpython", "version-dependent CPython code"),
    (re.compile(r"\b(?:std::)?abort\s*\(\s*\)|\bstd::c(?:out|err)\b|\bf?printf\s*\("), None, "printing or aborting"),
    (
        re.compile(r"\bPyErr_Clear\s*\("),
        "cpython/discard_error",
        "PyErr_Clear, which swallows Ctrl-C; use discard_error()",
    ),
    (re.compile(r"\bgetenv\s*\("), "driver", "reading the environment outside driver/options.cpp"),
]
TEXT_EXCEPTIONS = {
    ("driver/compiler.cpp", "reading the environment outside driver/options.cpp"),
    # $CXX and the like select the compiler program of the subprocess toolchain.
    ("toolchain/subprocess_toolchain.cpp", "reading the environment outside driver/options.cpp"),
}


def allowed_rooms() -> dict[str, set[str]]:
    text = (SRC / "CMakeLists.txt").read_text()
    rooms: dict[str, set[str]] = {}
    for match in re.finditer(r"suture_room\((\w+)([^)]*)\)", text):
        words = match.group(2).split()
        depends: set[str] = set()
        if "DEPENDS" in words:
            for word in words[words.index("DEPENDS") + 1 :]:
                if word == "LIBRARIES":
                    break
                depends.add(word)
        rooms[match.group(1)] = depends
    return rooms


def find_cycle(rooms: dict[str, set[str]]) -> list[str] | None:
    done: set[str] = set()

    def visit(room: str, path: list[str]) -> list[str] | None:
        if room in path:
            return [*path[path.index(room) :], room]
        if room in done:
            return None
        for dep in sorted(rooms.get(room, ())):
            if cycle := visit(dep, [*path, room]):
                return cycle
        done.add(room)
        return None

    for room in rooms:
        if cycle := visit(room, []):
            return cycle
    return None


def problems_of(path: Path, rooms: dict[str, set[str]]) -> list[str]:
    relative = path.relative_to(SRC).as_posix()
    room = relative.split("/")[0]
    allowed = EXTRA.get(room) or rooms.get(room)
    if allowed is None:
        return [f"src/{relative}: room '{room}' is not declared in src/CMakeLists.txt"]
    problems = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        where = f"src/{relative}:{number}"
        if match := INCLUDE.match(line):
            quote, target = match.groups()
            for pattern, home, what in FORBIDDEN:
                if pattern.match(target) and not relative.startswith(home):
                    problems.append(f"{where}: {what} belong in src/{home}: {target}")
            other = target.split("/")[0]
            if quote == '"' and "/" in target and other != room and "*" not in allowed and other not in allowed:
                if (SRC / other).is_dir():
                    problems.append(f"{where}: {room}/ may not include {other}/ ({target})")
            continue
        code = line.split("//")[0]
        for pattern, home, what in FORBIDDEN_TEXT:
            if pattern.search(code) and not (home and relative.startswith(home)):
                if (relative, what) not in TEXT_EXCEPTIONS and not relative.startswith("toolchain/prelude/"):
                    problems.append(f"{where}: {what}")
    return problems


def main() -> int:
    rooms = allowed_rooms()
    problems = []
    if cycle := find_cycle(rooms):
        problems.append("the rooms form a cycle: " + " -> ".join(cycle))
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".h", ".cpp"):
            problems += problems_of(path, rooms)
    for problem in problems:
        print(problem)
    print(f"layers: {len(rooms)} rooms, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
