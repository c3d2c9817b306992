"""Write-ahead records, read: what a process that died was doing, as a file that does it again.

The compiler writes them (driver/write_ahead.h); the option record says how many. A record that is still open in the file of a
process that is gone is what that process was doing when it ended.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suture import _core
from suture._minify import data, launcher
from suture._minify.case import ALIGNMENT, NO_GROUP, Case, CaseError, Input
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
    found = [record for path in _files(directory) for record in _open_records_of(path)]
    return sorted(found, key=lambda record: -record.began)


def unreadable(directory: Path | None = None) -> list[tuple[Path, float, str]]:
    """Files that hold no record which can be read: when each was written last, and why not."""
    found = []
    for path in _files(directory):
        with contextlib.suppress(FileNotFoundError):  # its process has just ended
            if why := _core.read_record_file(str(path))["problem"]:
                found.append((path, path.lstat().st_mtime, why))
    return found


def _files(directory: Path | None) -> list[Path]:
    """Of other processes; that of this one must not be opened."""
    found = str(directory or _core.record_directory())
    own = Path(_core.record_state()[0]).name
    return [Path(found, name) for name in _core.record_files(found) if name != own]


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
    """The file that does it again. What failed is not known: the process could not say. CaseError for a record without inputs."""
    from suture._minify import backend_code

    facts, case = record.facts, record.facts["case"]
    check = "compile" if facts["call"]["kind"] == "compile" else "run"
    inputs = _inputs(record)
    calls = launcher.calls_of(facts["call"]["number"])
    bare = Case(facts["graph"], (), check=check, calls=calls, **launcher.settings_of(case))
    names = launcher.input_names(bare)
    symbols = facts["call"]["symbols"]
    inputs += [Input("int", "int64", symbols[name]) for name in names[len(inputs) :]]
    place = facts.get("backend_function")
    name = case["backend"]
    code = backend_code.code_at(name, place, record.command) if place else backend_code.code_of_the_untold(name)
    return ReproFile(
        bare.with_(inputs=tuple(inputs), backend=backend_code.name_for(bare.backend, code)),
        names,
        origin=launcher.origin_of(case, facts["ops"]),
        backend_code=code,
        title=f"process {record.pid} ended while {record.doing}",
        generated=[row["name"] for row in facts["call"]["inputs"] if "low" in row],
    )


def _inputs(record: Record) -> list[Input]:
    raw = record.path.read_bytes()[record.data_offset :]
    rows = record.facts["call"]["inputs"]
    places = _places({i: _span(row) for i, row in enumerate(rows) if row["kind"] == "array" and 0 not in row["shape"]})
    return [_input(row, raw, *places.get(index, (NO_GROUP, 0))) for index, row in enumerate(rows)]


def _span(row: dict[str, Any]) -> tuple[int, int]:
    """First byte and one past the last, as addresses."""
    steps = [(extent - 1) * step for extent, step in zip(row["shape"], row["strides"], strict=True)]
    low, high = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps) + 1
    size = np.dtype(row["dtype"]).itemsize
    return row["address"] + low * size, row["address"] + high * size


def _places(spans: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """input -> (alias group, offset in its memory): arrays whose bounds overlap are in one memory."""
    groups: list[tuple[int, int, list[int]]] = []  # low, high, members
    for index, (low, high) in sorted(spans.items(), key=lambda item: item[1]):
        if groups and low < groups[-1][1]:
            first, last, members = groups.pop()
            groups.append((first, max(last, high), [*members, index]))
        else:
            groups.append((low, high, [index]))
    groups.sort(key=lambda group: min(group[2]))  # addresses differ from run to run
    shared = [group for group in groups if len(group[2]) > 1]
    return {
        index: (
            shared.index(group) if group in shared else NO_GROUP,
            spans[index][0] - group[0] // ALIGNMENT * ALIGNMENT,
        )
        for group in groups
        for index in group[2]
    }


_KINDS = {"scalar": "numpy_scalar", "py_float": "float", "py_int": "int", "py_bool": "bool"}


def _input(row: dict[str, Any], raw: bytes, alias: int, offset: int) -> Input:
    kind = row["kind"]
    if kind in _KINDS and row["value"]:
        number = _number(row["value"])
        dtype = np.dtype(row["dtype"])
        return Input(_KINDS[kind], dtype.name, dtype.type(number) if kind == "scalar" else number)
    if kind != "array":
        raise CaseError(f"input {row['name']} was not recorded: it is no number and no array that graphs take")
    shape = tuple(row["shape"])
    count = math.prod(shape)
    if "data" in row:
        elements = np.frombuffer(raw, row["dtype"], count, row["data"]).reshape(shape)
    else:
        like = {"generated": {"seed": 0, "low": row["low"], "high": row["high"]}}
        elements = data.elements_like(like, row["dtype"], shape)
    return Input("array", row["dtype"], elements, shape, tuple(row["strides"]), alias, offset, row["writeable"])


def _number(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    return float.fromhex(text) if "0x" in text or text.strip("-") in ("inf", "nan") else int(text)
