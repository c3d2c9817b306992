'''repro.py and minifier_launcher.py of a program: for failures that lie outside of one graph.

    """what happened, what is at fault, how to run the file"""
    from suture.repro import program
    program(__file__, goal="other_result", function="f", arguments=["3"], ...)
    # --- the program ---
    ...

`program` does what the command line asks for and ends the process; where a tool runs the file as a program (`suture check`) it
does nothing. Candidates are the text behind the line alone. `load` reads the call by the syntax tree and runs nothing.
Lines that the file names are its own: what is said of it is found out with the text where the file has it (`in_place`).
'''

from __future__ import annotations

import ast
import os
import re
import tokenize
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from suture._minify import plain_text, repro_file
from suture._minify.program_runs import HANG
from suture._minify.repro_file import NotARepro

FORMAT = 1
_LINE = "# --- the program ---\n"
_COMMAND = "    python "


@dataclass
class ProgramFile:
    """
    text       the program
    goal       what it is to keep (goals.py)
    function   whose calls are wrong; "" for goals that are of no function
    arguments  of the program
    title      what happened, in a line; the first of the file
    fault      what is at fault, in lines; "" before it is known. Behind the title
    directory  of the program that this was made from: its modules are found there
    expected   how it ends, with the goal `error` (goals.Ending.expected); empty: any failure
    run_limit  of one that hangs: seconds after which it does, when the user does not say; 0: as always
    origin     "FILE:LINE" of the function, or FILE, in the program that this was made from; "" when that is not known
    in_place   the text with the lines that it has in its file; "": it is of no file
    """

    text: str
    goal: str
    function: str = ""
    arguments: list[str] = field(default_factory=list)
    title: str = ""
    fault: str = ""
    directory: str = ""
    format: int = FORMAT
    expected: dict[str, Any] = field(default_factory=dict)
    run_limit: float = 0.0
    origin: str = ""
    in_place: str = field(default="", compare=False, repr=False)


_TYPES = {
    "goal": str,
    "function": str,
    "arguments": list,
    "directory": str,
    "expected": dict,
    "run_limit": float,
    "origin": str,
    "format": int,
}
LAUNCHER = repro_file.LAUNCHER
_OLD_HANG = {"code": -14, "last_line": "not done in time"}  # in files of versions that had SIGALRM stand for a hang


def text_in(path: Path) -> str:
    """A program, for files in UTF-8: what it says of its own encoding is no longer true. SyntaxError, OSError, UnicodeDecodeError."""
    with tokenize.open(path) as file:
        lines = file.read().split("\n")
    lines[:2] = [
        re.sub(r"^([ \t\f]*#.*?coding[:=][ \t]*)[-\w.]+", r"\1utf-8", line, flags=re.ASCII) for line in lines[:2]
    ]
    return "\n".join(lines)


def load(path: Path) -> ProgramFile:
    """NotARepro: it is another kind of file, or damaged; OSError: it cannot be read."""
    try:
        whole = text_in(path)
        ast.parse(whole)  # first: an error names a line of the file
        head, line, text = whole.partition(_LINE)
        tree = ast.parse(head)
        ast.parse(text)
    except SyntaxError as error:
        raise NotARepro(f"{path} holds no program: {repro_file.no_python(path, error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotARepro(f"{path} holds no program: {error}") from None
    calls = [node.value for node in tree.body if isinstance(node, ast.Expr) and _is_ours(node.value)]
    if not line or len(calls) != 1 or not isinstance(calls[0], ast.Call):
        raise NotARepro(f"{path} holds no program to reduce")
    says = ast.get_docstring(tree, clean=False) or ""
    title, *rest = (says.rpartition(_COMMAND)[0] or says).split("\n")
    fault = "\n".join(rest).strip("\n")
    settings = _settings(path, calls[0])
    return ProgramFile(_futures(tree) + text, title=title, fault=fault, in_place=_blank(head, tree) + text, **settings)


def _is_ours(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "program"


def _settings(path: Path, call: ast.Call) -> dict[str, Any]:
    try:
        found = {word.arg or "": ast.literal_eval(word.value) for word in call.keywords if word.arg in _TYPES}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise NotARepro(f"{path}: what `program` is called with are no literals") from None
    for name, value in found.items():
        if not isinstance(value, _TYPES[name]):
            raise NotARepro(f"{path}: {name} is {type(value).__name__}, not {_TYPES[name].__name__}")
    if "goal" not in found or not all(isinstance(each, str) for each in found.get("arguments", [])):
        raise NotARepro(f"{path}: `program` is called without a goal, or with arguments that are no text")
    if not 0 <= found.get("run_limit", 0.0) < 1e6:
        raise NotARepro(f"{path}: run_limit is no number of seconds")
    if found.get("format", FORMAT) > FORMAT:
        raise NotARepro(f"{path} was written by a newer Suture; this one reads format {FORMAT}")
    if found.get("expected") == _OLD_HANG:
        found["expected"] = _OLD_HANG | {"code": HANG}
    return found


def _futures(tree: ast.Module) -> str:
    """Imports of __future__ stand at the top of a file; they are the program's."""
    return "".join(ast.unparse(node) + "\n" for node in _future_imports(tree))


def _blank(head: str, tree: ast.Module) -> str:
    """The lines before the program, empty but for imports of __future__."""
    lines = [""] * (head + _LINE).count("\n")
    for node in _future_imports(tree):
        lines[node.lineno - 1] += ast.unparse(node) + ";"
    return "".join(line + "\n" for line in lines)


def _future_imports(tree: ast.Module) -> list[ast.ImportFrom]:
    return [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]


def _without_futures(text: str, tree: ast.Module) -> str:
    """Other statements of their lines stay."""
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(rb"\n", data))]
    for node in reversed(_future_imports(tree)):
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        data = data[:begin] + re.sub(rb"\A[ \t\f]*;[ \t\f]*", b"", data[end:])
    return data.decode()


def write(program: ProgramFile, directory: Path, stem: str, default: str = "run") -> Path:
    """Writes STEM.py, or STEM_1.py ... when that exists, for its owner only. OSError when it cannot be written."""
    path, descriptor = repro_file.create(directory, stem)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text_of(program, path.name, default))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def in_place(program: ProgramFile) -> str:
    """The text with the lines that it will have in its file. They depend on how many lines say what is at fault."""
    head, _, text = text_of(program, repro_file.REPRO, "run").partition(_LINE)
    return _blank(head, ast.parse(head)) + text


def line_of(text: str, function: str) -> int:
    """Where a program defines the function, if it does so once; else 0."""
    name = function.rpartition(".")[2]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    lines = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and node.name == name]
    return lines[0] if len(lines) == 1 else 0


def text_of(program: ProgramFile, name: str, default: str) -> str:
    tree = ast.parse(program.text)
    given = {key: value for key, value in asdict(program).items() if key in _TYPES and value}
    words = "".join(f"    {key}={value!r},\n" for key, value in (given | {"default": default}).items())
    fault = f"{program.fault}\n\n" if program.fault else ""
    title = plain_text.printable(" ".join(program.title.split()))
    origin = f"\nMade from {plain_text.printable(program.origin)}.\n" if program.origin else ""
    says = f"{title}\n\n{fault}{_COMMAND}{name} [run | query | minify | analyze | bisect | explain | program]\n{origin}"
    call = f"from suture.repro import program\n\nprogram(\n    __file__,\n{words})\n"
    body = _without_futures(program.text, tree).lstrip("\n")
    return f"{_docstring(says)}\n{_futures(tree)}{call}\n{_LINE}{body}"


def _docstring(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + '"""\n'
