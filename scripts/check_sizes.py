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
}
FUNCTION_START = re.compile(r"^(?!namespace|struct|class|enum|union|extern|#|//|\s)[\w:&<>*,~\[\] ]+\(.*$")
METHOD_START = re.compile(r"^  (?!return|if|for|while|switch|else|case|throw|\s|//|#)[\w:&<>*,~\[\] ]+\(.*\{\s*$")


def tracked() -> list[Path]:
    patterns = ["*.h", "*.cpp", "*.py", "dev"]
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def cpp_functions(lines: list[str]) -> list[tuple[str, int, int]]:
    """(name, first line, length) of functions whose closing brace stands in the column the function starts in."""
    found = []
    i = 0
    while i < len(lines):
        for pattern, closing in ((FUNCTION_START, "}"), (METHOD_START, "  }")):
            if not pattern.match(lines[i]):
                continue
            opened = next((j for j in range(i, min(i + 12, len(lines))) if lines[j].rstrip().endswith("{")), None)
            ended = next((j for j in range(i, min(i + 12, len(lines))) if lines[j].rstrip().endswith(";")), None)
            if opened is None or (ended is not None and ended < opened):
                continue
            end = next((j for j in range(opened + 1, len(lines)) if lines[j].rstrip() == closing), None)
            if end is not None:
                name = re.sub(r"\(.*", "", lines[i]).split()[-1].lstrip("*&")
                found.append((name, i + 1, end - i + 1))
                if closing == "  }":
                    i = end
                break
        i += 1
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
            functions += [(length, f"{relative}:{name}", line) for name, line, length in cpp_functions(lines)]
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
