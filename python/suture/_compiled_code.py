"""Compiled functions as Python: the transformed code of every entry, resume functions, graphs and guards.

The texts of code objects come from the decompiler and carry its verdicts; graphs and guards are printed by what runs them.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suture import _core, _toolbox
from suture._code_sources import Placeholders
from suture._recompile import RUNNING, compile_here

# The graph is called like this by transformed code, whatever its own name.
GRAPH_NAME = "__compiled_fn_1"


@dataclass(frozen=True)
class CodeText:
    """The text of one code object."""

    name: str
    source: str
    verdict: str
    tier: int
    codes: list[tuple[str, int, int, str, str]]  # as in DecompileRecord
    data: bytes  # the code object that runs, marshalled
    transformed_name: str = ""  # see _toolbox.map_lines


def original_text(function: types.FunctionType) -> CodeText:
    """Of what was captured: the user's function, or a resume or iteration function under its own name."""
    code = function.__code__
    if code.co_name != function.__name__ and function.__name__.isidentifier():
        # The code of resume functions has the name of the user's function, for tracebacks.
        code = code.replace(co_name=function.__name__, co_qualname=function.__name__)
    data = Placeholders().marshalled(code)
    record = _toolbox.decompile_marshal(data, RUNNING, compile_here, "", None, "", 1)
    return CodeText(code.co_name, record["source"], record["verdict"], record["tier"], record["codes"], data)


def transformed_text(function: types.FunctionType) -> CodeText:
    name = function.__name__ if function.__name__.isidentifier() else _identifier(function.__name__)
    data = Placeholders().marshalled(function.__code__)
    record = _toolbox.decompile_transformed(data, RUNNING, name, compile_here)
    return CodeText(name, record["source"], record["verdict"], record["tier"], record["codes"], data, name)


def _identifier(text: str) -> str:
    """Letters, digits and underscores for a name that may be anything."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text) or "_"


def file_name(function: types.FunctionType, compile_id: str, file: str) -> str:
    """Of a text that is in no file, as the debug dump would call it."""
    return f"<suture {_identifier(function.__name__)}_{compile_id.replace('/', '_')}/{file}>"


def graph_text(graph: str) -> tuple[list[str], str]:
    """(imports, definition) of a captured graph under the name by which transformed code calls it."""
    lines = graph.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    body = [line for line in lines if line not in imports]
    text = "\n".join(body).strip("\n").replace("def forward(", f"def {GRAPH_NAME}(", 1)
    return imports, text + "\n"


@dataclass
class CompiledText:
    """Everything that stands for a compiled function."""

    source: str
    codes: list[CodeText]
    notes: list[str]


def _one_line(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _place(function: types.FunctionType) -> str:
    code = function.__code__
    return _one_line(f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})")


def compiled_text(compiled: Any) -> CompiledText | None:
    """None: nothing has been compiled yet."""
    entries = _core.compiled_entries(compiled)
    if not entries:
        return None
    guards = {row["compile_id"]: row for row in _core.guard_functions(compiled)}
    parts: list[str] = []
    imports: list[str] = []
    texts: list[CodeText] = []
    notes: list[str] = []
    shown: set[int] = set()
    for entry in entries:
        title = f"# Compile {entry['compile_id']} of {_place(entry['function'])}"
        parts.append(f"{title}: {_what_runs(entry)}\n" + "".join(_code_of(entry, shown, texts)))
        if entry["graph"]:
            needed, text = graph_text(entry["graph"])
            imports += [line for line in needed if line not in imports]
            parts.append(text)
    for entry in entries:
        row = guards[entry["compile_id"]]
        parts.append(row["text"][row["text"].index(f"def {row['name']}(") :])
    notes.append("the functions that guards call: suture.guard_functions(compiled)[0].source")
    if any(entry["transformed"] for entry in entries):
        notes.append(
            "resume functions are called by who called the transformed function, and variables are emptied when they die"
        )
    head = "".join(line + "\n" for line in imports)
    return CompiledText((head + "\n\n" if head else "") + "\n\n".join(parts), texts, notes)


def _what_runs(entry: _core.CompiledEntry) -> str:
    if entry["eager_reason"]:
        return f"such calls run as they are, because of {_one_line(entry['eager_reason'])}"
    if entry["transformed"] is None:
        return f"{GRAPH_NAME} is all that runs"
    return "this runs instead"


def _code_of(entry: _core.CompiledEntry, shown: set[int], texts: list[CodeText]) -> Iterator[str]:
    function = entry["function"]
    if entry["kind"] in ("resume", "iteration") and id(function) not in shown:
        shown.add(id(function))
        text = original_text(function)
        texts.append(text)
        yield text.source
        if entry["transformed"] is not None:
            yield "\n\n"
    if entry["transformed"] is not None:
        text = transformed_text(entry["transformed"])
        texts.append(text)
        yield text.source
