"""An explanation as static HTML for notebooks: no script, no style sheet, no link.

Whatever comes from a program goes through `_text` or `_block`: escaped, control characters visible, and no longer than a
notebook bears; to_dict() has all of it. No such text stands inside a tag.
"""

from __future__ import annotations

from html import escape
from typing import Any

from suture import _toolbox

_LONGEST_TEXT = 2_000  # characters of a name or sentence
_LONGEST_BLOCK = 200_000  # of source text
_MOST_ROWS = 1_000


def _shown(value: Any, longest: int) -> str:
    text = str(value)
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} ... {len(text) - 2 * half} characters left out ... {text[-half:]}"
    # A file name that is no UTF-8 has lone surrogates, which no notebook can save.
    return escape(_toolbox.escape_terminal(text.encode("utf-8", "replace").decode("utf-8")))


def _text(value: Any) -> str:
    return _shown(value, _LONGEST_TEXT)


def _code(value: Any) -> str:
    return f"<code>{_text(value)}</code>"


def _block(value: Any) -> str:
    return f"<pre>{_shown(value, _LONGEST_BLOCK)}</pre>"


def _table(head: list[str], rows: list[list[Any]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<th style='text-align:left'>{_text(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{_text(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>{len(rows) - _MOST_ROWS} more rows left out</p>" if len(rows) > _MOST_ROWS else ""
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}"


def _section(title: str, content: str, opened: bool = True) -> str:
    if not content:
        return ""
    return f"<details{' open' if opened else ''}><summary><b>{_text(title)}</b></summary>{content}</details>"


def _place(item: dict[str, Any]) -> str:
    return f"{item['file']}:{item['line']}"


def _breaks(data: dict[str, Any]) -> str:
    out = []
    for item in data["break_reasons"]:
        effects = item["effects"]
        hints = "".join(
            f"<li>{_text(hint)}</li>"
            for hint in [*item["hints"], *(hint for each in effects for hint in each["hints"])]
        )
        effect = "".join(f"<p>{_text(each['explanation'])} ({_text(each['reason_id'])})</p>" for each in effects)
        out.append(
            f"<p><b>{_text(item['reason'])}</b> ({_text(item['reason_id'])}) at {_code(_place(item))} in"
            f" {_code(item['function'])}</p>{_block(item['source'])}<p>{_text(item['explanation'])}</p>{effect}<ul>{hints}</ul>"
        )
    return "".join(out)


def _counts(guard: dict[str, Any]) -> list[str]:
    """Tests, failures and nanoseconds of a guard; empty where they are not known."""
    return [
        "" if guard["tested"] < 0 else str(guard["tested"]),
        "" if guard["failures"] < 0 else str(guard["failures"]),
        "" if guard["ns"] < 0 else f"{guard['ns']:.1f}",
    ]


def _graphs(data: dict[str, Any]) -> str:
    return "".join(
        f"<p>{_code(graph['name'])} of {_code(graph['function'])}</p>{_block(graph['code'])}"
        for graph in data["graphs"]
    )


def _head(data: dict[str, Any]) -> str:
    backend = f", backend {_code(data['backend'])}" if "backend" in data else ""
    return (
        f"<p><b>{_text(data.get('function', ''))}</b>: {_text(data['graph_count'])} graphs,"
        f" {_text(data['graph_break_count'])} graph breaks, {_text(data['op_count'])} ops{backend}</p>"
    )


def to_html(data: dict[str, Any]) -> str:
    skipped = [[s["function"], _place(s), s["reason"], s["explanation"]] for s in data["skipped"]]
    limits = [[item["function"], item["limit"], "; ".join(item["grouped"])] for item in data["recompile_limits"]]
    errors = [[e["function"], e["step"], e["message"], e["artifact"]] for e in data["internal_errors"]]
    faults = [[f["kind"], f["stage"], f["at"], _place(f), f["what"]] for f in data["injected_faults"]]
    guards = [[g["check"], g["function"], g["place"], *_counts(g)] for g in data["guards"]]
    recompiles = [[r["function"], "; ".join(r["failures"]), f"{r['ms']:.1f}"] for r in data["recompiles"]]
    kernels = [[k["name"], ", ".join(k["ops"]), k["path"]] for k in data["kernels"]]
    hints = [
        [h["id"], _place(h), h["sentence"], h["evidence"], f"{h['cost_ms']:.6f}" if h["cost_ms"] else "", h["advice"]]
        for h in data["perf_hints"]
    ]
    meanwhile = [[c["function"], _place(c), c["calls"], c["reason"]] for c in data["calls_during_compile"]]
    replays = [[r["graph"], r["conditions"], r["count"]] for r in data["replays"]]
    times = [[f["compile_id"], f["function"], f"{f['ms']:.1f}"] for f in data["compile_times"]["frames"]]
    return "".join(
        [
            # Notebooks would typeset what stands between dollar signs.
            "<div class='tex2jax_ignore mathjax_ignore'>",
            _head(data),
            _section("Internal errors", _table(["function", "step", "message", "saved as"], errors)),
            _section("Faults on purpose", _table(["kind", "stage", "op", "place", "what"], faults)),
            _section("Graph breaks", _breaks(data)),
            _section("Skipped functions", _table(["function", "place", "reason", "explanation"], skipped)),
            _section(
                "Calls in the interpreter during a compile", _table(["function", "place", "calls", "reason"], meanwhile)
            ),
            _section("Recompile limits", _table(["function", "limit", "failed guards"], limits)),
            _section("Recompiles", _table(["function", "failed guards", "ms"], recompiles)),
            _section("Ran again under NumPy", _table(["graph", "conditions", "times"], replays)),
            _section("Kernels", _table(["kernel", "ops", "file"], kernels)),
            _section(
                "Performance hints", _table(["hint", "place", "what", "evidence", "ms per call", "edit to try"], hints)
            ),
            _section("Graphs", _graphs(data), opened=False),
            _section("Guards", _table(["check", "function", "made at", "tests", "failed", "ns"], guards), opened=False),
            _section("Compile times", _table(["compile", "function", "ms"], times), opened=False),
            "</div>",
        ]
    )
