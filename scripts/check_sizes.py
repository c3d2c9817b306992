"""Sizes of files and functions, against the project's budgets.

Files: at most 800 lines; functions: at most 100 lines. Only tables and one closed switch may be longer; they are listed in
EXEMPT with the reason. `--table` prints lines per room and the longest files and functions.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE, MAX_FUNCTION = 800, 100
EXEMPT: dict[str, str] = {
    # "path" or "path:function": reason
    "src/toolbox/decompile/lift.cpp:plain_op": "a table: one line per opcode",
}
# Comments, strings and character literals; raw strings first. A quote between digits separates digits.
OPAQUE = re.compile(
    r'R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
SCOPE = re.compile(r"(?:^|\s)(?:namespace|struct|class|union|extern)\b")
MEMBER_INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")


def tracked() -> list[Path]:
    patterns = ["*.h", "*.cpp", "*.py", "dev"]
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def without_text(text: str) -> str:
    """The same lines and columns with comments, literals and preprocessor lines blanked."""
    text = OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.M)


def closing_brace(code: str, opened: int) -> int:
    depth = 0
    for at in range(opened, len(code)):
        depth += (code[at] == "{") - (code[at] == "}")
        if depth == 0:
            return at
    return len(code) - 1


def cpp_functions(text: str) -> list[tuple[str, int, int]]:
    """(name, first line, length) of every function with a body, also those of one line. Braces that open a namespace or a
    class are entered, those of a function or an initialiser are passed over as a whole."""
    code = without_text(text)
    found = []
    begin = at = 0  # `begin`: where the declaration under way begins
    while at < len(code):
        if code[at] in ";}":
            begin = at + 1
        elif code[at] == "{":
            head = code[begin:at]
            declares = head.strip()
            if not declares or (SCOPE.search(head.split("(")[0]) and not declares.endswith(")")):
                begin = at + 1
            elif (
                "(" not in head
                or head.rstrip().endswith(("=", "return", ",", "("))
                or (MEMBER_INITIALISERS.search(head) and re.search(r"[\w>]$", head))  # a member's braces, not the body
            ):
                at = closing_brace(code, at)
            else:
                end = closing_brace(code, at)
                first = code.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1
                name = (re.findall(r"[\w:~]+", head.split("(")[0]) or ["(lambda)"])[-1]
                found.append((name, first, code.count("\n", 0, end) + 2 - first))
                at, begin = end, end + 1
        at += 1
    return found


def python_functions(text: str) -> list[tuple[str, int, int]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (n.name, n.lineno, (n.end_lineno or n.lineno) - n.lineno + 1)
        for n in ast.walk(ast.parse(text))
        if isinstance(n, kinds)
    ]


def main(arguments: list[str]) -> int:
    files, functions, per_room = [], [], Counter()
    for path in tracked():
        text = path.read_text(errors="replace")
        lines = text.splitlines()
        relative = path.relative_to(ROOT).as_posix()
        files.append((len(lines), relative))
        per_room["/".join(relative.split("/")[:2]) if "/" in relative else relative] += len(lines)
        if path.suffix in (".h", ".cpp"):
            functions += [(length, f"{relative}:{name}", line) for name, line, length in cpp_functions(text)]
        elif path.suffix == ".py":
            functions += [(length, f"{relative}:{name}", line) for name, line, length in python_functions(text)]
    problems = [
        f"{name}: {lines} lines, at most {MAX_FILE}" for lines, name in files if lines > MAX_FILE and name not in EXEMPT
    ]
    problems += [
        f"{name} (line {line}): {length} lines, at most {MAX_FUNCTION}"
        for length, name, line in functions
        if length > MAX_FUNCTION and name not in EXEMPT and name.split(":")[0] not in EXEMPT
    ]
    if "--table" in arguments:
        for room, lines in sorted(per_room.items(), key=lambda item: -item[1]):
            print(f"{lines:7d}  {room}")
        print("\nlongest files")
        for lines, name in sorted(files, reverse=True)[:12]:
            print(f"{lines:7d}  {name}")
        print("\nlongest functions")
        for length, name, line in sorted(functions, reverse=True)[:12]:
            print(f"{length:7d}  {name} (line {line})")
    for problem in problems:
        print(problem)
    print(
        f"sizes: {len(files)} files, {len(functions)} functions, {sum(n for n, _ in files)} lines, {len(problems)} problems"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
