"""A bisection as people read it, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from suture._minify.bisect import Bisection, Row

SCHEMA = "suture.bisect/1"
_SHOWN = 60  # lines of one diff


def to_dict(found: Bisection) -> dict[str, Any]:
    return {"schema": SCHEMA, **asdict(found), "exit_code": found.exit_code}


def to_json(found: Bisection) -> str:
    return json.dumps(to_dict(found), indent=1) + "\n"


def text_of(found: Bisection) -> str:
    if not found.reproduced:
        return (
            "\n".join(
                [
                    "CANNOT BE TOLD" if found.notes else f"NOT REPRODUCED: {found.hint or 'it does not fail here'}",
                    *_notes(found),
                ]
            )
            + "\n"
        )
    lines = [f"failure    {found.signature}"]
    lines += _rows("stages", found.ladder) + _rows("search", found.probes)
    lines += ["", f"CULPRIT    {_culprit(found)}"]
    lines += [f"in         {found.compile}"] if found.compile else []
    lines += [f"line       {line}" for line in found.lines]
    if found.op:
        kernel = f" in kernel {found.kernel}" if found.kernel else ""
        lines.append(f"op         {found.op} at {found.place}{kernel}")
    if found.ladder:
        lines.append(f"failing    {settings_text(found.failing)}")
    if found.passing is not None:
        lines.append(f"passing    {settings_text(found.passing)}")
    if not found.ladder:
        return "\n".join([*lines, *found.notes]) + "\n"
    lines += _notes(found)
    lines += [f"next       {found.hint}"] if found.hint else []
    lines.append(f"runs       {found.runs}")
    for name, text in found.diffs.items():
        lines += _diff(name, found.compile, text)
    if found.other_diffs:
        others = ", ".join(each.compile for each in found.other_diffs)
        lines += ["", f"Other than in the passing variant, too: {others} (--json has the differences)"]
    return "\n".join(lines) + "\n"


def _culprit(found: Bisection) -> str:
    if not found.stage:
        return "no part of the compiler: it fails with each of them left out"
    if found.stage == "program":
        return "the program itself: it fails with nothing compiled, too"
    if not found.number:
        return found.stage
    kind = "change" if found.stage == "optional passes" else "decision"
    return f"{found.stage}, {kind} {found.number}: {found.name}"


def settings_text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "the settings it came with"


def _rows(title: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    width = max(len(row.label) for row in rows)
    return [
        f"{title if i == 0 else '':<10} {row.label:<{width}}  {row.verdict.upper() if row.verdict == 'same' else row.verdict:<5}"
        f"{'' if row.text == 'pass' or row.verdict == 'same' else '  ' + row.text[:100]}".rstrip()
        for i, row in enumerate(rows)
    ]


def _notes(found: Bisection) -> list[str]:
    return [f"note       {note}" for note in found.notes]


def _diff(name: str, compiled: str, text: str) -> list[str]:
    lines = text.splitlines()
    if not lines:
        return []
    of = f" of {compiled}" if compiled else ""
    more = [f"({len(lines) - _SHOWN} lines more)"] if len(lines) > _SHOWN else []
    return ["", f"--- what differs in the {name}{of} (- passing, + failing)", *lines[2 : _SHOWN + 2], *more]
