"""What the compiler made of graphs, as text: read from the events of compiles, and compared compile by compile.

A program compiles several functions, and one function more than once (sizes that become symbols, other dtypes). Compiles of two
variants are compared when they have the same id: the same program under other settings captures the same frames in the same order.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EVENTS = ("frame_start", "pass_done", "lowered", "fusion_decision", "kernel_source")
PARTS = {"graph": "graph", "schedule": "schedule", "C++": "cpp"}  # what is compared, and where Texts has it


@dataclass
class Texts:
    """What the compiler made of one graph.

    compile   its id, "0/1": frame 0, compiled for the second time; "" of a case, which is compiled once
    of        its function, "f (prog.py:9)"
    process   the how manieth of the program's processes, from 0
    changes   of optional passes: "fold_casts: cast_1 is x"; the n-th entry has the number n
    fusions   "mul into add", by number
    kernels   of every node: the kernel that computes it
    places    of every node: its user line, "file:line"
    """

    compile: str = ""
    of: str = ""
    process: int = 0
    graph: str = ""
    loops: str = ""
    schedule: str = ""
    cpp: str = ""
    changes: list[str] = field(default_factory=list)
    fusions: list[str] = field(default_factory=list)
    kernels: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, str]:
        return self.process, self.compile

    @property
    def frame(self) -> int:
        """Number of the frame, as the option frame_limit counts."""
        return int(self.compile.partition("/")[0] or 0)

    @property
    def title(self) -> str:
        """ "" of a case."""
        if not self.compile:
            return ""
        process = f" in process {self.process + 1}" if self.process else ""
        return f"compile {self.compile} of {self.of}{process}"


def by_compile(records: Sequence[Mapping[str, Any]]) -> list[Texts]:
    """Of the events of a program, those of each compile by themselves; in the order in which compiles began."""
    apart: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    functions: dict[tuple[int, str], str] = {}  # by process and frame
    for record in records:
        process, number = record["process"], record.get("compile_id")
        if record["event"] not in EVENTS or not number:
            continue
        if record["event"] == "frame_start":  # a capture that may come to no graph
            fields = record["fields"]
            functions[process, number.partition("/")[0]] = f"{fields['function']} ({fields['file']}:{fields['line']})"
        else:
            apart.setdefault((process, number), []).append(record)
    made = []
    for (process, number), own in apart.items():
        texts = texts_of(own)
        texts.process, texts.compile = process, number
        texts.of = functions.get((process, number.partition("/")[0]), "")
        made.append(texts)
    return made


_PLACE = re.compile(r'( ; "(?:[^"\\]|\\.)*")? @ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"( -?\d+){4}$', re.MULTILINE)


def texts_of(records: Sequence[Mapping[str, Any]]) -> Texts:
    """From the events of the compile of one graph. What the compiler did not come to is empty."""
    texts = Texts()
    for record in records:
        fields = record["fields"]
        if record["event"] == "pass_done":
            texts.graph = plain_graph(fields["text"]) or texts.graph
            texts.places |= _places(fields["text"])
            texts.changes += [f"{fields['name']}: {what}" for what in fields["applications"]]
        elif record["event"] == "lowered":
            texts.graph = plain_graph(fields["lowered"])
            texts.loops, texts.schedule = fields["before"], _VERDICTS.sub("", fields["after"])
        elif record["event"] == "fusion_decision" and fields["fused"]:
            texts.fusions.append(f"{fields['producer']} into {fields['consumer']}")
        elif record["event"] == "kernel_source":
            texts.cpp, texts.kernels = fields["code"], kernels_of(fields["lines"])
    return texts


_NODE = re.compile(r'^\s*(\w+) = .* @ "((?:[^"\\]|\\.)*)" "(?:[^"\\]|\\.)*" (\d+)( -?\d+){3}$', re.MULTILINE)


def _places(text: str) -> dict[str, str]:
    return {node: f"{file}:{line}" for node, file, line, _ in _NODE.findall(text)}


def kernels_of(lines: str) -> dict[str, str]:
    """The kernel that computes each node, from the line table of the event kernel_source."""
    table = json.loads(lines or "{}")
    kernels: dict[str, str] = {}
    for row in table.get("lines", ()):
        if row["kind"] != "read":
            kernels.setdefault(table["nodes"][row["node"]]["name"], table["kernels"][row["kernel"]]["name"])
    return kernels


# Lines at the end of a schedule: which pairs were fused, and why others were not.
_VERDICTS = re.compile(r"^(?:not )?fused .*\n", re.MULTILINE)
_KERNEL_NUMBER = re.compile(r"\b(cpp_fused_\w+?)_\d+\b")


def plain_graph(text: str) -> str:
    """Graph text without callables and places, which say nothing about what is computed."""
    return _PLACE.sub("", text)


def diff(passing: str, failing: str) -> str:
    """Unified, from the passing text to the failing one, without the numbers of kernels; "" when they are equal, or when there is one only."""
    if not passing or not failing:
        return ""
    a, b = (_KERNEL_NUMBER.sub(r"\1", text).splitlines() for text in (passing, failing))
    lines = difflib.unified_diff(a, b, "passing", "failing", lineterm="", n=2)
    return "\n".join(lines)


def diffs_of(passing: Texts, failing: Texts) -> dict[str, str]:
    """Per part, see PARTS; "" where they are equal, or where there is one only."""
    return {name: diff(getattr(passing, where), getattr(failing, where)) for name, where in PARTS.items()}


def one_sided(passing: Texts, failing: Texts) -> list[str]:
    """Parts that only one of them has."""
    return [name for name, where in PARTS.items() if bool(getattr(passing, where)) != bool(getattr(failing, where))]


def paired(passing: Sequence[Texts], failing: Sequence[Texts]) -> list[tuple[Texts, Texts]]:
    """(passing, failing) of every compile of the failing variant, in their order; Texts() where the passing one has none."""
    known = {texts.key: texts for texts in passing}
    return [(known.get(texts.key, Texts()), texts) for texts in failing]
