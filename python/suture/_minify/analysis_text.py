"""An analysis (taps.py) as people read it."""

from __future__ import annotations

import math
import os

from suture._minify.taps import DIVERGES, Analysis, Row

_ALL = 40  # ops of a graph whose table is shown whole; of larger ones, those around the first that diverges


def text_of(analysis: Analysis) -> str:
    if analysis.died:
        return f"nothing can be said of the values of single ops: {analysis.died}\n"
    lines = _table(analysis.rows, analysis.first)
    lines += [f"note: {note}" for note in analysis.notes]
    lines += [f"wrong: {difference.message}" for difference in analysis.results]
    if analysis.nondeterministic:
        lines.append(f"nondeterministic: two calls with equal inputs differ in {', '.join(analysis.nondeterministic)}")
    lines += _first(analysis)
    return "\n".join(lines) + "\n"


def _first(analysis: Analysis) -> list[str]:
    row = analysis.first
    if row is None:
        return ["no op diverges" if not analysis.results else "no op diverges by itself"]
    kernel = f" in kernel {row.kernel}" if row.kernel else ""
    lines = [
        f"FIRST DIVERGING OP: {row.node} = {row.op} ({row.target}){kernel}",
        f"  at {row.file}:{row.line}",
        f"  {row.why}",
    ]
    if row.got:
        place = f" [{', '.join(map(str, row.index))}]" if row.index else ""
        lines += [f"  element{place} is {row.got}", f"  right is {row.wanted}"]
    lines += [f"  operand {i} is {text}" for i, text in enumerate(row.operands)]
    return lines


def _table(rows: list[Row], first: Row | None) -> list[str]:
    shown = rows
    if len(rows) > _ALL:
        at = next((i for i, row in enumerate(rows) if first and row.node == first.node), 0)
        start = max(0, min(at - _ALL // 2, len(rows) - _ALL))
        shown = rows[start : start + _ALL]
    cells = [("node", "op", "user line", "max ULP", "NumPy's", "bound", "verdict")]
    cells += [
        (
            row.node,
            row.op,
            f"{os.path.basename(row.file)}:{row.line}",
            _ulp(row.ulp),
            _ulp(row.numpy_ulp) if row.bound else "",
            f"{row.bound:g}" if row.bound else "exact",
            row.verdict.upper() if row.verdict == DIVERGES else row.verdict,
        )
        for row in shown
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = {3, 4, 5}
    lines = [
        "  ".join(
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    if len(shown) < len(rows):
        lines.append(f"({len(shown)} of {len(rows)} ops shown)")
    return lines


def _ulp(value: float) -> str:
    if math.isinf(value):
        return "inf"
    return "0" if value == 0 else f"{value:.3g}" if value < 1000 else f"{value:.2e}"
