"""Write-ahead records, read: what a process that died was doing, as a file that does it again.

The compiler writes them (driver/write_ahead.h); the option record says how many. A record that is still open in the file of a
process that is gone is what that process was doing when it ended.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suture import _core
from suture._config import config
from suture._minify import data, launcher
from suture._minify.repro_file import ReproFile


@dataclass(frozen=True)
class Record:
    """One thing that a process had begun."""

    path: Path
    pid: int
    alive: bool
    began: float  # seconds since the epoch
    facts: dict[str, Any]
    data_offset: int
    command: list[str]

    @property
    def doing(self) -> str:
        """ "running graph f of f (prog.py:9)" """
        case = self.facts["case"]
        verb = {"compile": "compiling", "run": "running"}[self.facts["call"]["kind"]]
        return f"{verb} graph {case['graph']} of {case['function']} ({case['file']}:{case['line']})"

    @property
    def age(self) -> str:
        seconds = max(time.time() - self.began, 0.0)
        for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
            if seconds >= size:
                return f"{seconds / size:.0f} {unit}"
        return f"{seconds:.0f} s"


def open_records(directory: Path | None = None) -> list[Record]:
    """Everything that was begun and has not ended, in processes of this user that live or died; newest first."""
    where = directory or Path(_core.record_directory())
    found: list[Record] = []
    own = Path(_core.record_state()[0]).name
    for name in _core.record_files(str(where)):
        if name != own:
            found += _open_records_of(where / name)
    return sorted(found, key=lambda record: -record.began)


def _open_records_of(path: Path) -> list[Record]:
    contents = _core.read_record_file(str(path))
    if contents["problem"]:
        return []
    try:
        command = json.loads(contents["about"])["command"]
    except (ValueError, KeyError):
        command = []
    return [
        Record(path, contents["pid"], contents["alive"], row["began"], facts, row["data_offset"], command)
        for row in contents["records"]
        if row["open"] and (facts := _facts(row["facts"]))
    ]


def _facts(text: str) -> dict[str, Any] | None:
    try:
        facts = json.loads(text)
        return facts if {"case", "graph", "call"} <= facts.keys() else None
    except (ValueError, AttributeError):
        return None


def newest_of_the_dead(records: list[Record]) -> Record | None:
    return next((record for record in records if not record.alive), None)


# --- as a file -------------------------------------------------------------------------------------------------------------


def repro_of(record: Record) -> ReproFile:
    """The file that does it again. What failed is not known: the process could not say."""
    from suture._minify import backend_code

    facts, case = record.facts, record.facts["case"]
    graph = _core.Graph.from_text(facts["graph"])
    texts = launcher.options_of(case)
    place = facts.get("backend_function")
    return ReproFile(
        graph=facts["graph"],
        forward=graph.code,
        inputs=_rows(record) + _symbol_rows(graph, facts["call"]["symbols"]),
        backend=case["backend"],
        numerics=case["numerics"],
        options=config.values(texts) or {},
        check="compile" if facts["call"]["kind"] == "compile" else "run",
        origin=launcher.origin_of(case, facts["ops"]),
        backend_code=backend_code.code_at(case["backend"], place) if place else "",
        title=f"process {record.pid} ended while {record.doing}",
    )


def _rows(record: Record) -> list[data.Row]:
    raw = record.path.read_bytes()[record.data_offset :]
    rows = record.facts["call"]["inputs"]
    spans = {index: _span(row) for index, row in enumerate(rows) if row["kind"] == "array" and 0 not in row["shape"]}
    shared = data.shared_memories(spans)
    return [_row(row, raw, shared.get(index)) for index, row in enumerate(rows)]


def _span(row: dict[str, Any]) -> tuple[int, int, int]:
    size, first = np.dtype(row["dtype"]).itemsize, row["address"]
    low, high = data.element_bounds(tuple(row["shape"]), row["strides"])
    return first + low * size, first + high * size, first


_KINDS = {"scalar": "numpy", "py_float": "float", "py_int": "int", "py_bool": "bool"}


def _row(row: dict[str, Any], raw: bytes, memory: dict[str, int] | None) -> data.Row:
    name, kind = row["name"], row["kind"]
    if kind != "array":
        if kind not in _KINDS or not row.get("value"):
            raise ValueError(f"input {name} was not recorded: it is no number and no array that graphs take")
        value = {"name": name, "kind": _KINDS[kind], "value": _decimal(row["value"])}
        return value | ({"dtype": row["dtype"]} if kind == "scalar" else {})
    head = data.array_head(name, row["dtype"], row["shape"], row["strides"], row["writeable"], memory)
    if "data" not in row:
        return head | {"generated": {"seed": 0, "low": row["low"], "high": row["high"]}}
    elements = np.frombuffer(raw, row["dtype"], int(np.prod(row["shape"], dtype=np.int64)), row["data"])
    return head | data.array_data(elements)


def _decimal(text: str) -> str:
    if text in ("True", "False"):
        return str(int(text == "True"))
    return repr(float.fromhex(text)) if "0x" in text or text.strip("-") in ("inf", "nan") else text


def _symbol_rows(graph: _core.Graph, values: dict[str, int]) -> list[data.Row]:
    """A graph that stands alone takes an int for every symbol that no placeholder carries."""
    return launcher.symbol_rows(graph, values)
