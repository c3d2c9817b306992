"""An explanation as static HTML for notebooks: no script, no style sheet, no link; all text escaped."""

from __future__ import annotations

from html import escape
from typing import Any


def _table(head: list[str], rows: list[list[Any]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<th style='text-align:left'>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _section(title: str, content: str, opened: bool = True) -> str:
    if not content:
        return ""
    return f"<details{' open' if opened else ''}><summary><b>{escape(title)}</b></summary>{content}</details>"


def _breaks(data: dict[str, Any]) -> str:
    out = []
    for item in data["break_reasons"]:
        hints = "".join(f"<li>{escape(hint)}</li>" for hint in item["hints"])
        out.append(
            f"<p><b>{escape(item['reason'])}</b> ({escape(item['reason_id'])}) at "
            f"<code>{escape(item['file'])}:{item['line']}</code> in <code>{escape(item['function'])}</code></p>"
            f"<pre>{escape(item['source'])}</pre><p>{escape(item['explanation'])}</p><ul>{hints}</ul>"
        )
    return "".join(out)


def _graphs(data: dict[str, Any]) -> str:
    return "".join(
        f"<p><code>{escape(graph['name'])}</code> of <code>{escape(graph['function'])}</code></p>"
        f"<pre>{escape(graph['code'])}</pre>"
        for graph in data["graphs"]
    )


def to_html(data: dict[str, Any]) -> str:
    head = (
        f"<p><b>{escape(data.get('function', ''))}</b>: {data['graph_count']} graphs, "
        f"{data['graph_break_count']} graph breaks, {data['op_count']} ops</p>"
    )
    skipped = [[s["function"], f"{s['file']}:{s['line']}", s["reason"], s["explanation"]] for s in data["skipped"]]
    guards = [[g["check"], g["function"], g["place"]] for g in data["guards"]]
    recompiles = [[r["function"], "; ".join(r["failures"]), f"{r['ms']:.1f}"] for r in data["recompiles"]]
    kernels = [[k["name"], ", ".join(k["ops"]), k["path"]] for k in data["kernels"]]
    return "".join(
        [
            "<div>",
            head,
            _section("Graph breaks", _breaks(data)),
            _section("Skipped functions", _table(["function", "place", "reason", "explanation"], skipped)),
            _section("Recompiles", _table(["function", "failed guards", "ms"], recompiles)),
            _section("Kernels", _table(["kernel", "ops", "file"], kernels)),
            _section("Graphs", _graphs(data), opened=False),
            _section("Guards", _table(["check", "function", "made at"], guards), opened=False),
            "</div>",
        ]
    )
