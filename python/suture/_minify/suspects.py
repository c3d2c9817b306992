"""Suspects: ops that are likely to be all that a failure needs. The search asks about them first.

Evidence, best first
    places  lines of the program in the traceback of the exception, or at which the process stood when it died or hung
    named   nodes, lines or kinds of ops that the failure's own text names
    first   the first value that is wrong when every value is returned (one call; only where results were compared and the text
            names nothing)
    rare    kinds of ops of which the graph has far fewer than of its others: no evidence of this failure, but what works a
            thousand times in a graph is less likely to be what does not work in it
    kinds   one op of each kind: what breaks on one `maximum` mostly breaks on any

What is asked, four questions at most: the ops of the best evidence alone; with the rare ones; with the ops around them, or, of
several ops, with what connects them; one of each kind. Evidence that misleads costs these questions, and the search goes on as without it.

What the case was made with is no evidence: the name of the backend and the options are taken out of the text first.

Source of the idea: Wang, Shen, Chen, Xiong and Zhang 2021, "Probabilistic Delta Debugging" (elements have chances to be needed, and
likely ones are asked about first); here the chances come from the failure and not from earlier answers.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from suture._minify.case import Case
from suture._minify.signature import Outcome

LEAST_OPS = 8  # smaller graphs are bisected in as many questions
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLACE = re.compile(r"([^\s\"'():]+\.py)\"?(?::|, line )(\d+)")
_RARE = 4  # times less often than the median kind

Row = dict[str, Any]  # of Graph.nodes


@dataclass(frozen=True)
class Suspects:
    """
    ops    names of nodes
    why    the evidence in words
    paths  the other ops are bypassed instead of cut out: what depended on one another still does
    """

    ops: tuple[str, ...]
    why: str
    paths: bool = False


def of(case: Case, failure: Outcome | None, first_wrong: str = "") -> list[Suspects]:
    """What to ask about, best evidence first. failure: the first one; first_wrong: a node."""
    rows = case.ops
    if len(rows) < LEAST_OPS:
        return []
    best, why = _best_evidence(case, rows, failure, first_wrong)
    rare = _rare(rows)
    asked: list[Suspects] = []

    def ask(ops: Collection[str], words: str, paths: bool = False) -> None:
        ordered = tuple(row["name"] for row in rows if row["name"] in ops)
        known = any(each.ops == ordered and each.paths == paths for each in asked)
        if ordered and 2 * len(ordered) <= len(rows) and not known:
            asked.append(Suspects(ordered, words, paths))

    together = {*best, *rare}
    both = " and ".join(words for words, ops in ((why, best), ("rare kinds", rare)) if ops)
    ask(best, why)
    ask(together, both)
    if len(together) > 1:
        ask(together, f"{both}, connected", paths=True)
    elif best:
        ask(_with_neighbours(rows, best), f"{why}, and the ops around")
    ask(_one_of_each_kind(rows), "one of each kind")
    return asked


def names_something(case: Case, failure: Outcome | None) -> bool:
    """Whether the failure itself says where it is."""
    return bool(evidence(case, failure)[0])


def evidence(case: Case, failure: Outcome | None) -> tuple[frozenset[str], str]:
    """Names of the ops that the failure itself points at, at most half of them, and why."""
    return _best_evidence(case, case.ops, failure, "")


def _best_evidence(
    case: Case, rows: Sequence[Row], failure: Outcome | None, first_wrong: str
) -> tuple[frozenset[str], str]:
    found = [(_at_places(rows, failure.places), "at the line where it failed")] if failure else []
    if first_wrong:
        found.append((frozenset([first_wrong]), "the first wrong value"))
    if failure is not None:
        text = _own_words(case, failure)
        words = set(_WORD.findall(text))
        kinds = {row["op"] for row in rows}
        found += [
            (frozenset(row["name"] for row in rows if row["name"] in words - kinds), "named by the message"),
            (
                _at_places(rows, [f"{file}:{line}" for file, line in _PLACE.findall(text)]),
                "at a line that the message names",
            ),
            (frozenset(row["name"] for row in rows if row["op"] in words), "of a kind that the message names"),
        ]
    for ops, why in found:
        if ops and 2 * len(ops) <= len(rows):
            return ops, why
    return frozenset(), ""


def _own_words(case: Case, failure: Outcome) -> str:
    """The message without what it repeats of the case's settings."""
    text = failure.message
    for word in sorted((case.backend, *map(str, case.options.values())), key=len, reverse=True):
        if len(word) > 2:
            text = text.replace(word, " ")
    return text


def _at_places(rows: Iterable[Row], places: Sequence[str]) -> frozenset[str]:
    """Ops of the innermost place that is one of the graph's."""
    by_place: dict[str, set[str]] = {}
    for row in rows:
        if row["file"]:
            by_place.setdefault(f"{row['file']}:{row['line']}", set()).add(row["name"])
    return frozenset(next((by_place[place] for place in reversed(places) if place in by_place), ()))


def _rare(rows: Sequence[Row]) -> frozenset[str]:
    counts = Counter(row["op"] for row in rows)
    limit = statistics.median(counts.values()) / _RARE
    rare = frozenset(row["name"] for row in rows if counts[row["op"]] <= limit)
    return rare if 8 * len(rare) <= len(rows) else frozenset()


def _one_of_each_kind(rows: Sequence[Row]) -> set[str]:
    """The last ones."""
    return set({(row["op"], row["dtype"]): row["name"] for row in rows}.values())


def _with_neighbours(rows: Sequence[Row], ops: Collection[str]) -> set[str]:
    """The ops, what they read and what reads them."""
    near = set(ops)
    for row in rows:
        if row["name"] in ops:
            near.update(row["operands"])
        elif any(name in ops for name in row["operands"]):
            near.add(row["name"])
    return near
