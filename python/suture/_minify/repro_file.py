'''minifier_launcher.py and repro.py: one Python file each that holds a graph, its inputs and how it failed.

    """bad raised RuntimeError: ...  <- what happened, how to run the file, with what it was written"""
    try: from suture.repro import main ...
    GRAPH = """graph "graph_0" captured ..."""
    def forward(y): ...              the graph under NumPy
    INPUTS = [{...}]                 rows of data.py
    BACKEND, NUMERICS, OPTIONS, CHECK, EXPECTED, ORIGIN
    def make_backend(): ...          only for a backend that is no name: its source, or its import
    if __name__ == "__main__": raise SystemExit(main(__file__, ...))

Everything but the two functions is literals. `load` reads a file by its syntax tree and runs nothing: who receives one can look
at it with `suture repro` (explain, analyze) before any line of it is executed.
'''

from __future__ import annotations

import ast
import hashlib
import io
import os
import platform
import shutil
import sys
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suture._minify import data, plain_text
from suture._minify.case import Case
from suture._minify.signature import Signature

FORMAT = 1
LAUNCHER, REPRO, PASSING = "minifier_launcher", "repro", "repro_pass"


class NotARepro(ValueError):
    """The file is not one of ours, or was damaged."""


class Place(NamedTuple):
    """
    path            the file
    backend_line    where make_backend() begins to do something; 0: there is none
    data_directory  the name of the directory beside the file that has elements of inputs; "": all are in the file
    """

    path: Path
    backend_line: int = 0
    data_directory: str = ""

    @property
    def backend(self) -> str:
        return f"{self.path}:{self.backend_line}"


@dataclass
class ReproFile:
    """What such a file holds. `expected` are the fields of a Signature; {} when no failure was seen, only a process that died."""

    case: Case
    names: list[str]  # of the inputs
    expected: dict[str, Any] = field(default_factory=dict)
    origin: dict[str, Any] = field(default_factory=dict)  # function, file, line, compile_id, ops
    backend_code: str = ""  # of make_backend(), or its body
    title: str = ""
    generated: list[str] = field(default_factory=list)  # inputs whose elements were too many to keep
    place: Place | None = None  # where it was read


# --- reading ---------------------------------------------------------------------------------------------------------------

_LITERALS = {
    "FORMAT": int,
    "GRAPH": str,
    "INPUTS": list,
    "BACKEND": str,
    "NUMERICS": str,
    "OPTIONS": dict,
    "CALLS": int,
    "CHECK": str,
    "EXPECTED": dict,
    "ORIGIN": dict,
}


def load(path: Path) -> ReproFile:
    """What the file holds, without running any of it. NotARepro: it is none; CaseError: its inputs are damaged; OSError: it, or a
    data file, cannot be read."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        tree = ast.parse(text)
        found = dict(_assignments(tree))
    except SyntaxError as error:
        raise NotARepro(f"{path} is no repro file: {no_python(path, error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotARepro(f"{path} is no repro file: {error}") from None
    missing = [name for name in _LITERALS if name not in found]
    if missing:
        raise NotARepro(f"{path} is no repro file: it does not define {', '.join(missing)}")
    for name, value in found.items():
        if type(value) is not _LITERALS[name]:
            raise NotARepro(f"{path}: {name} is {type(value).__name__}, not {_LITERALS[name].__name__}")
    if found["FORMAT"] > FORMAT:
        raise NotARepro(f"{path} was written by a newer Suture; this one reads format {FORMAT}")
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in found["INPUTS"]):
        raise NotARepro(f"{path}: a row of INPUTS has no name")
    if not all(isinstance(name, str) for part in ("OPTIONS", "ORIGIN") for name in found[part]):
        raise NotARepro(f"{path}: a key of OPTIONS or ORIGIN is no text")
    if found["EXPECTED"]:
        try:
            Signature.from_dict(found["EXPECTED"])
        except ValueError as error:
            raise NotARepro(f"{path}: EXPECTED: {error}") from None
    functions = _functions(tree)
    inputs = tuple(data.input_of(row, path.parent) for row in found["INPUTS"])
    settings = {name.lower(): found[name] for name in ("BACKEND", "NUMERICS", "OPTIONS", "CALLS", "CHECK")}
    case = Case(found["GRAPH"], inputs, **settings)
    _ = case.graph  # CaseError when its text is none
    return ReproFile(
        case,
        [row["name"] for row in found["INPUTS"]],
        found["EXPECTED"],
        found["ORIGIN"],
        ast.get_source_segment(text, functions[0]) or "" if functions else "",
        (ast.get_docstring(tree) or "").partition("\n")[0],
        [row["name"] for row in found["INPUTS"] if data.is_generated(row)],
        _place(path, tree, found["INPUTS"]),
    )


def place_of(path: Path) -> Place:
    """Of a file that was written just now."""
    with tokenize.open(path) as file:
        tree = ast.parse(file.read())
    return _place(path, tree, dict(_assignments(tree))["INPUTS"])


def _place(path: Path, tree: ast.Module, rows: list[data.Row]) -> Place:
    functions, files = _functions(tree), [str(row["file"]) for row in rows if "file" in row]
    return Place(path, functions[0].body[0].lineno if functions else 0, os.path.dirname(files[0]) if files else "")


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "make_backend"]


def no_python(path: Path, error: SyntaxError) -> str:
    """Why this Python does not read a file, and what to do: another one may."""
    place = f"{path}:{error.lineno}" if error.lineno else str(path)
    return (
        f"{place}: {error.msg}. This is Python {platform.python_version()} ({sys.executable}); if the file is written for a "
        "newer one, run the same command with that Python"
    )


def _assignments(tree: ast.Module) -> Any:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in _LITERALS:
                yield name, ast.literal_eval(node.value)


# --- writing ---------------------------------------------------------------------------------------------------------------


def write(repro: ReproFile, directory: Path, stem: str) -> Path:
    """Writes STEM.py, or STEM_1.py ... when that exists, for its owner only. OSError when it cannot be written; nothing is left
    behind then."""
    path, fd = create(directory, stem)
    try:
        pairs = enumerate(zip(repro.names, repro.case.inputs, strict=True))
        rows = [data.row_of(name, item, _saver(path, index)) for index, (name, item) in pairs]
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            fd = -1
            file.write(text_of(repro, rows, path))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        if fd >= 0:
            os.close(fd)
        remove(path)
        raise
    return path


def replace(path: Path, repro: ReproFile) -> None:
    """Writes another file in place of one. OSError when it cannot be written; the old one stays then."""
    kept = [
        (each, each.with_name(f".{each.name}.kept")) for each in (path, _data_directory(path)) if os.path.lexists(each)
    ]
    moved = []
    try:
        for each, aside in kept:
            _discard(aside)  # of a process that was killed here
            each.rename(aside)
            moved.append((each, aside))
        write(repro, path.parent, path.stem)
    except BaseException:
        for each, aside in moved:
            aside.rename(each)
        raise
    for _, aside in kept:
        _discard(aside)


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """A file and its data."""
    path.unlink(missing_ok=True)
    for each in _data_directory(path).glob("*.npy"):
        each.unlink(missing_ok=True)
    try:
        _data_directory(path).rmdir()
    except OSError:
        return


def create(directory: Path, stem: str) -> tuple[Path, int]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 0
    while True:
        path = directory / (f"{stem}_{number}.py" if number else f"{stem}.py")
        number += 1
        if os.path.lexists(_data_directory(path)):
            continue
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue


def _data_directory(path: Path) -> Path:
    return path.parent / f"{path.stem}_data"


def _saver(path: Path, index: int) -> Callable[[np.ndarray], data.Row]:
    def save(array: np.ndarray) -> data.Row:
        raw = data.npy_bytes(array)
        target = _data_directory(path) / f"input_{index}.npy"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(raw)
        return {"file": f"{target.parent.name}/{target.name}", "sha256": hashlib.sha256(raw).hexdigest()}

    return save


def text_of(repro: ReproFile, rows: list[data.Row], path: Path) -> str:
    """The whole file."""
    case = repro.case
    parts = [
        _docstring(repro, path),
        _IMPORTS,
        f"FORMAT = {FORMAT}",
        f"GRAPH = {_long_literal(case.graph_text)}",
        "# The graph under NumPy.\n" + function_only(case.graph.code) + "\n",
        "INPUTS = [\n" + "".join(f"    {_row_text(row)},\n" for row in rows) + "]",
        f"BACKEND = {case.backend!r}\nNUMERICS = {case.numerics!r}\nOPTIONS = {_literal(dict(case.options))}",
        f"CALLS = {case.calls!r}\nCHECK = {case.check!r}",
        f"EXPECTED = {_literal(repro.expected)}\nORIGIN = {_literal(repro.origin)}",
    ]
    call = "main(__file__, forward"
    if repro.backend_code:
        parts.append("\n" + _as_function(repro.backend_code))
        call += ", make_backend"
    default = ', default="minify"' if path.stem.startswith(LAUNCHER) else ""
    parts.append(f'\nif __name__ == "__main__":\n    raise SystemExit({call}{default}))')
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


_IMPORTS = """\
try:
    import numpy as np

    from suture.repro import main
except Exception as missing:
    print(f"CANNOT RUN HERE: {missing}")
    raise SystemExit(77) from None
"""


def function_only(forward: str) -> str:
    """Graph.code begins with its import."""
    return "def forward" + forward.partition("def forward")[2].rstrip()


def _docstring(repro: ReproFile, path: Path) -> str:
    import suture

    origin, name = repro.origin, path.name
    where = f"{origin.get('function', '?')} ({origin.get('file', '?')}:{origin.get('line', 0)})"
    own = "minify (default)" if path.stem.startswith(LAUNCHER) else "minify"
    first = "run" if path.stem.startswith(LAUNCHER) else "run (default)"
    modes = [
        (own, "reduce the graph as long as it fails like this; writes repro.py"),
        (first, "run it once; exit code 1: REPRODUCED, 0: NOT, 77: cannot run here"),
        ("query", "the same, for other tools: says nothing but the verdict"),
        ("explain", "say what this file holds; runs nothing of it"),
        (
            "analyze --run-code" if repro.backend_code else "analyze",
            "name the first op whose result is wrong, or without which it does not fail",
        ),
        ("bisect", "name the stage and the pass that make the difference"),
    ]
    lines = [
        _one_line(repro.title),
        "",
        f"A graph of {where} and the inputs it had there.",
        "",
        *(f"    python {name} {mode:<16}  {what}" for mode, what in modes),
        "",
        f"Written by suture {suture.__version__}, numpy {np.__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}.",
    ]
    return '"""' + "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + '\n"""\n'


def _one_line(text: str) -> str:
    return plain_text.printable(" ".join(text.split()))[:300]


def _long_literal(text: str) -> str:
    """Lines as lines where that is the same text."""
    plain = '"""\\\n' + text + '"""'
    safe = "\\" not in text and '"""' not in text and not text.endswith('"')
    if safe and all(line.isprintable() for line in text.split("\n")) and ast.literal_eval(plain) == text:
        return plain
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"


def _literal(value: dict[str, Any]) -> str:
    one_line = repr(value)
    if len(one_line) < 90:
        return one_line
    return "{\n" + "".join(f"    {key!r}: {item!r},\n" for key, item in value.items()) + "}"


def _row_text(row: data.Row) -> str:
    """One row; base64 in lines of a width that mail programs leave alone."""
    if "base64" not in row:
        return repr(row)
    lines = textwrap.wrap(row["base64"], 100) or [""]
    rest = repr({key: value for key, value in row.items() if key != "base64"})[:-1]
    return rest + ", 'base64': (\n" + "".join(f"        {line!r}\n" for line in lines) + "    )}"


def _as_function(body: str) -> str:
    if body.startswith("def make_backend("):
        return body + "\n"
    return "def make_backend():\n" + indented(body) + "\n"


def indented(source: str) -> str:
    """Four columns to the right, all but the lines inside of a string."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING or token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = source.split("\n")
    return "\n".join(line if i in inside or not line else "    " + line for i, line in enumerate(lines, 1))
