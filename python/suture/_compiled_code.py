"""Compiled functions as Python: the transformed code of every entry, resume functions, graphs and guards.

The texts of code objects come from the decompiler and carry its verdicts; graphs and guards are printed by what runs them.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from suture import _core, _toolbox
from suture._code_sources import Placeholders
from suture._recompile import RUNNING, compile_here

_NAMES = _toolbox.output_names()
GRAPH_NAME = _NAMES["graph"]  # what transformed code calls the graph, whatever its own name


@dataclass(frozen=True)
class CodeText:
    """The text of one code object."""

    name: str
    source: str
    verdict: str
    tier: int
    codes: list[tuple[str, int, int, str, str]]  # as in DecompileRecord
    data: bytes  # the code object that runs, marshalled
    kind: str = ""  # see _toolbox.map_lines


def original_text(function: types.FunctionType, placeholders: Placeholders | None = None, name: str = "") -> CodeText:
    """Of what was captured: the user's function, or a resume or iteration function under its own name or `name`.

    placeholders: takes up constants that are no literals; `_K[i]` of the text is its object i.
    """
    code = function.__code__
    if code.co_name != function.__name__ and function.__name__.isidentifier():
        # The code of resume functions has the name of the user's function, for tracebacks.
        return _output_text(code, "continuation", name or function.__name__, placeholders)
    data = (placeholders or Placeholders()).marshalled(code)
    record = _toolbox.decompile_marshal(data, RUNNING, compile_here, "", None, "", 1)
    return CodeText(code.co_name, record["source"], record["verdict"], record["tier"], record["codes"], data)


def transformed_text(
    function: types.FunctionType, names: Mapping[str, str] | None = None, placeholders: Placeholders | None = None
) -> CodeText:
    """names: what the text calls the free variables, where it is another name. placeholders: see original_text."""
    name = function.__name__ if function.__name__.isidentifier() else _identifier(function.__name__)
    code = function.__code__
    free = tuple((names or {}).get(variable, variable) for variable in code.co_freevars)
    return _output_text(code.replace(co_freevars=free), "transformed", name, placeholders)


def _output_text(code: types.CodeType, kind: str, name: str, placeholders: Placeholders | None) -> CodeText:
    data = (placeholders or Placeholders()).marshalled(code)
    record = _toolbox.decompile_output(data, RUNNING, kind, name, compile_here)
    return CodeText(name, record["source"], record["verdict"], record["tier"], record["codes"], data, kind)


def _identifier(text: str) -> str:
    """Letters, digits and underscores for a name that may be anything."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text) or "_"


def file_name(function: types.FunctionType, compile_id: str, file: str) -> str:
    """Of a text that is in no file, as the debug dump would call it."""
    return f"<suture {_identifier(function.__name__)}_{compile_id.replace('/', '_')}/{file}>"


def graph_text(graph: str, name: str = GRAPH_NAME) -> tuple[list[str], str]:
    """(imports, definition) of a captured graph under the name by which transformed code calls it."""
    lines = graph.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    body = [line for line in lines if line not in imports]
    text = "\n".join(body).strip("\n").replace("def forward(", f"def {name}(", 1)
    return imports, text + "\n"


@dataclass
class CompiledText:
    """Everything that stands for a compiled function."""

    source: str
    codes: list[CodeText]
    notes: list[str]
    constants: list[Any]  # `_K` of the texts


def _one_line(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _place(function: types.FunctionType) -> str:
    code = function.__code__
    return _one_line(f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})")


def compiled_text(compiled: Any) -> CompiledText | None:
    """None: nothing has been compiled yet."""
    entries = _core.compiled_entries(compiled)
    return _Writer(_core.guard_functions(compiled)).write(entries) if entries else None


class _Writer:
    """Every entry: the function that was captured, what runs instead, its graph; then the guards of all."""

    def __init__(self, guards: list[_core.GuardFunctionRow]) -> None:
        self._guards = {row["compile_id"]: row for row in guards}
        self._parts: list[str] = []
        self._imports: list[str] = []
        self._texts: list[CodeText] = []
        self._notes: list[str] = []
        self._shown: set[int] = set()
        self._graphs = 0
        self._placeholders = Placeholders()
        self._names: dict[int, str] = {}  # of continuations

    def write(self, entries: list[_core.CompiledEntry]) -> CompiledText:
        reached = {id(entry["function"]) for entry in entries}
        for entry in entries:
            self._entry(entry)
        for entry in entries:
            for _, continuation in _continuations(entry):
                if id(continuation) not in reached | self._shown:
                    self._not_reached(continuation)
        for entry in entries:
            row = self._guards[entry["compile_id"]]
            self._parts.append(row["text"][row["text"].index(f"def {row['name']}(") :])
        self._notes.append("the functions that guards call: suture.guard_functions(compiled)[0].source")
        if any(entry["transformed"] for entry in entries):
            self._notes.append(
                "resume functions are called by who called the transformed function, and variables are emptied when they die"
            )
        source = "\n\n".join(self._parts)
        self._notes += [note for name, note in _NAMES["helpers"].items() if re.search(rf"\b{name}\b", source)]
        head = "".join(line + "\n" for line in self._imports)
        return CompiledText(
            (head + "\n\n" if head else "") + source, self._texts, self._notes, self._placeholders.objects
        )

    def _entry(self, entry: _core.CompiledEntry) -> None:
        # Transformed code calls its graph by one name; here every graph has its own.
        self._graphs += bool(entry["graph"])
        graph_name = f"{GRAPH_NAME.rpartition('_')[0]}_{self._graphs}"
        codes: list[CodeText] = []
        if entry["kind"] in ("resume", "iteration") and id(entry["function"]) not in self._shown:
            self._shown.add(id(entry["function"]))
            codes.append(self._original(entry["function"]))
        if entry["transformed"] is not None:
            names = {GRAPH_NAME: graph_name} | {
                variable: self._name_of(function) for variable, function in _continuations(entry)
            }
            codes.append(transformed_text(entry["transformed"], names, self._placeholders))
            self._explain_objects(entry["transformed"])
        self._texts += codes
        title = f"# Compile {entry['compile_id']} of {_place(entry['function'])}: {_what_runs(entry, graph_name)}\n"
        texts = [text.source for text in codes]
        if entry["graph"]:
            needed, text = graph_text(entry["graph"], graph_name)
            self._imports += [line for line in needed if line not in self._imports]
            texts.append(text)
        self._parts.append(title + "\n\n".join(texts))

    def _name_of(self, function: types.FunctionType) -> str:
        """Continuations of one place may be several functions: with other variables, or made of another entry."""
        name = self._names.get(id(function))
        if name is None:
            taken, name, number = set(self._names.values()), function.__name__, 0
            while name in taken:
                number += 1
                name = f"{function.__name__}_again_{number}"
            self._names[id(function)] = name
        return name

    def _original(self, function: types.FunctionType) -> CodeText:
        return original_text(function, self._placeholders, self._name_of(function))

    def _explain_objects(self, transformed: types.FunctionType) -> None:
        """Objects of the program without a name of their own."""
        cells = transformed.__closure__ or ()
        for variable, cell in zip(transformed.__code__.co_freevars, cells, strict=True):
            if variable.startswith(("__object", "__unbound")):
                what = type(cell.cell_contents)
                self._notes.append(f"{variable} in {transformed.__name__}: a {what.__module__}.{what.__qualname__}")

    def _not_reached(self, function: types.FunctionType) -> None:
        self._shown.add(id(function))
        text = self._original(function)
        self._texts.append(text)
        self._parts.append(f"# {_place(function)}: nothing has been compiled for it\n{text.source}")


def _what_runs(entry: _core.CompiledEntry, graph_name: str) -> str:
    if entry["eager_reason"]:
        return f"such calls run as they are, because of {_one_line(entry['eager_reason'])}"
    if entry["transformed"] is None:
        return f"{graph_name} is all that runs"
    return "this runs instead"


def _continuations(entry: _core.CompiledEntry) -> Iterator[tuple[str, types.FunctionType]]:
    """The resume and iteration functions that the transformed code of this entry calls, with its variables for them."""
    transformed = entry["transformed"]
    if transformed is None:
        return
    for variable, cell in zip(transformed.__code__.co_freevars, transformed.__closure__ or (), strict=True):
        if variable.startswith(_NAMES["continuations"]):
            function = getattr(cell.cell_contents, "__wrapped__", None)
            if isinstance(function, types.FunctionType):
                yield variable, function
