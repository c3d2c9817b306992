"""Which part of a frame gives a program another result than NumPy: its guards, what it computes or hands over, or its graphs.

How it works
    The program is run again under settings that take one part away each:
        every call compiles anew      right now: an entry served a call that it was not made for, so a guard is too weak
        graphs run under NumPy        right now: the frames are right and a graph is compiled wrongly
        only the first n frames       frames are numbered as functions are decorated and as resume functions are made; an n with
        are compiled                  which it is wrong, and with n - 1 right, names the frame: found by halves
    An entry that served the wrong call and was made by another one is compared with it: what differs between the two calls and
    is named by no guard is what the guards do not see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from suture._minify.first_failing import first_failing

GUARDS, FRAME, RESUME, GRAPH, UNKNOWN = "guards", "frame", "resume", "graph", ""


@dataclass(frozen=True)
class Probe:
    """How the program ended under some settings. `why`: the finding in words; "" when the result was right."""

    why: str
    facts: str = ""


# probe(options, watch, backend): runs the program.
Run = Callable[[Mapping[str, Any], str, str], Probe]


@dataclass
class FrameFault:
    """
    part      GUARDS, FRAME (what the frame computes, or hands to what follows), RESUME (the same of a resume function),
              GRAPH, or UNKNOWN
    function  of the frame at fault
    lines     what was found, in sentences
    """

    part: str = UNKNOWN
    function: str = ""
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def locate(run: Run, function: str) -> FrameFault:
    """Of a program whose calls of `function` give another result than NumPy."""
    as_it_is = run({}, "facts", "")
    if not as_it_is.why:
        return _unknown(function, "the result was right this time")
    call = _call_of(as_it_is.why)
    if call is None:
        return _unknown(function, f"the finding names no call: {as_it_is.why}")
    facts = [json.loads(line) for line in as_it_is.facts.splitlines()]
    if not run({}, "fresh", "").why:
        return _of_guards(run, facts, function, call)
    if not run({}, "", "eager").why:
        return FrameFault(
            GRAPH,
            function,
            [
                f"at fault: a graph of {function} is compiled wrongly; with the same graphs under NumPy the result is right"
            ],
        )
    return _of_frames(run, facts, function)


def _unknown(function: str, why: str) -> FrameFault:
    return FrameFault(UNKNOWN, function, [f"which frame of {function} is at fault could not be told: {why}"])


def _call_of(why: str) -> int | None:
    found = re.search(r"\bcall (\d+)", why)
    return int(found[1]) if found else None


def _first_wrong(run: Run, frames: Iterable[int]) -> int | None:
    """A frame with which, when it and all before it are compiled and no other, the result is wrong, and without which it is
    right. None: it is right with all of them."""
    numbers = sorted(frames)

    def wrong(count: int) -> bool:
        return bool(run({"frame_limit": numbers[count - 1] + 1}, "", "").why)

    return numbers[first_failing(len(numbers), wrong) - 1] if numbers and wrong(len(numbers)) else None


def _of_guards(run: Run, facts: list[dict[str, Any]], function: str, call: int) -> FrameFault:
    wrong = next((row for row in facts if (row["function"], row["number"]) == (function, call)), None)
    reused = [entry for entry in wrong["served"] if not entry["made_here"]] if wrong else []
    if len(reused) > 1:
        guilty = _first_wrong(run, {entry["frame"] for entry in reused})
        reused = [entry for entry in reused if entry["frame"] == guilty]
    for entry in reused:
        maker = next((row for row in facts if _made(row, entry)), None)
        if wrong is None or maker is None or maker["function"] != function:
            continue
        unseen = _unseen(maker["arguments"], wrong["arguments"], entry["guards"])
        where = f"entry {entry['entry']} of {entry['function']} (line {entry['line']})"
        lines = [
            f"at fault: the guards of {where}: it was compiled in call {maker['number']} and served call {call}, which it was not made for"
        ]
        lines += [f"  no guard looks at {name}: {before} there, {now} here" for name, before, now in unseen]
        lines += [f"  guard: {guard}" for guard in entry["guards"]]
        return FrameFault(GUARDS, entry["function"], lines)
    return FrameFault(
        GUARDS,
        function,
        [f"at fault: the guards of {function}: when every call compiles anew the result is right"],
    )


def _made(row: dict[str, Any], entry: dict[str, Any]) -> bool:
    return any(
        each["made_here"] and (each["frame"], each["entry"]) == (entry["frame"], entry["entry"])
        for each in row["served"]
    )


def _unseen(before: dict[str, str], now: dict[str, str], guards: list[str]) -> list[tuple[str, str, str]]:
    """(argument, then, now) of those that differ and that no guard names."""
    seen = set(re.findall(r"[A-Za-z_]\w*", " ".join(guards)))
    return [(n, before[n], now[n]) for n in now if n in before and before[n] != now[n] and n not in seen]


def _of_frames(run: Run, facts: list[dict[str, Any]], function: str) -> FrameFault:
    frames = {each["frame"]: each for row in facts for each in row["served"]}
    number = _first_wrong(run, frames)
    if number is None:
        if not frames:
            return _unknown(function, "no compiled frame served its calls")
        return _unknown(function, f"with the frames up to {max(frames)} compiled, which served its calls, it is right")
    frame = frames[number]
    resume = frame["kind"] == "resume"
    what = f"the resume function {frame['function']}" if resume else f"the frame of {frame['function']}"
    lines = [
        f"at fault: {what} (line {frame['line']}): compiled, with all later frames in the interpreter, it is wrong already"
    ]
    later = [each["function"] for each in frames.values() if each["frame"] > number]
    if later and not resume:
        lines.append(f"  what it computes before its break, or what it hands to {', '.join(dict.fromkeys(later))}")
    return FrameFault(RESUME if resume else FRAME, frame["function"], lines)
