"""Logs and explanations in notebooks. With IPython where it is installed (docs/decisions/ipython.md); what it does to sources
and displays is also done by hand, so that something runs everywhere."""

from __future__ import annotations

import importlib.util
import json
import linecache
import os
import sys

import numpy as np
import pytest

import suture

CELL = """\
import numpy as np, suture
@suture.compile
def f(x):
    y = np.sqrt(x) + 1
    if y.sum() > {limit}:
        y = y * 2
    return y
"""

SHELL = """\
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()

def run(cell):
    result = shell.run_cell(cell, store_history=True)
    assert result.success, result
    return result.result

def compiled_frames():
    return [frame["compiles"] for frame in run("suture._core.status(f)")["frames"]]

run(CELL.format(limit=0))
run("with suture.set_logs('graph_breaks,guards'):\\n    f(np.ones(3))")
assert compiled_frames() == [1, 1], "two frames compile"
run(CELL.format(limit=1))
run("with suture.set_logs('graph_breaks'):\\n    f(np.ones(3))")
shown, _ = shell.display_formatter.format(run("suture.explain(f)"))
broken = shell.run_cell("f('no array')")
print(json.dumps({"html": shown["text/html"], "plain": shown["text/plain"], "error": type(broken.error_in_exec).__name__}))
"""


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed")
def test_cells_of_ipython_are_quoted_explained_and_displayed(run_python, tmp_path):
    program = f"CELL = {CELL!r}\n{SHELL}"
    done = run_python(
        "-c", program, PYTHONPATH=os.pathsep.join(filter(None, sys.path)), IPYTHONDIR=str(tmp_path / "ipython")
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert done.stderr.count("Graph break in user code at") == 2
    assert "5 |     if y.sum() > 0:" in done.stderr and "5 |     if y.sum() > 1:" in done.stderr, "each cell's own text"
    assert "^" in done.stderr
    assert "Data-dependent branching" in shown["html"] and "if y.sum() &gt; 1:" in shown["html"]
    assert "1 graph breaks" in shown["plain"]
    assert shown["error"] == "TypeError" or "Error" in shown["error"]


def test_a_source_that_is_only_in_linecache_is_quoted(capsys):
    """As IPython keeps its cells."""
    name, text = "<ipython-input-7-0123456789ab>", CELL.format(limit=0)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        cell: dict = {}
        exec(compile(text, name, "exec"), cell)
        with suture.set_logs("graph_breaks"):
            cell["f"](np.ones(3))
        assert [frame["compiles"] for frame in suture._core.status(cell["f"])["frames"]] == [1, 1]
        log = capsys.readouterr().err
        assert f"{name}:5" in log and "5 |     if y.sum() > 0:" in log and "^^^^" in log
        explanation = suture.explain(cell["f"])
        assert explanation.break_reasons[0]["source"] == "    if y.sum() > 0:"
        assert "if y.sum() &gt; 0:" in explanation._repr_html_()
    finally:
        del linecache.cache[name]


def test_logs_go_to_the_stream_that_is_stderr_now(capsys):
    """A kernel replaces sys.stderr by a stream without a descriptor that sends text to the cell's output."""

    class CellOutput:
        encoding = "UTF-8"

        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text
            return len(text)

        def flush(self):
            pass

    def f(x):
        y = np.sqrt(x) + 1
        return y * 2 if y.sum() > 0 else y

    first, second, before = CellOutput(), CellOutput(), sys.stderr
    compiled = suture.compile(f)
    try:
        with suture.set_logs("graph_breaks,recompiles"):
            sys.stderr = first
            compiled(np.ones(3))
            sys.stderr = second
            compiled(np.ones(4))
    finally:
        sys.stderr = before
    assert "Graph break in user code at" in first.text and "Recompiling" not in first.text
    assert "Recompiling function" in second.text
