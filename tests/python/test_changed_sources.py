"""Quotes of a file that was edited after its functions were compiled: none at all, rather than lines that are others now."""

from __future__ import annotations

import importlib
import os
import sys

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled

CHANGED = "(the file has changed since it was compiled)"
TEXT = """\
import numpy as np


def helper(x):
    y = np.sin(x)
    print(end="")
    return y + 1


def f(x):
    y = np.cos(x) + 1
    if y.sum() > 0:
        y = y * 2
    return helper(y)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "edited_later.py").write_text(TEXT)
    yield importlib.import_module("edited_later")
    del sys.modules["edited_later"]


def edit(module, text: str) -> None:
    with open(module.__file__, "w", encoding="utf-8") as file:
        file.write(text)


def sources(explanation):
    return {reason["reason_id"]: reason["source"].strip() for reason in explanation.break_reasons}


HONEST = {"SB101": "if y.sum() > 0:", "SB206": "return helper(y)", "SB203": 'print(end="")'}


def test_a_file_as_it_was_is_quoted(module):
    compiled = suture.compile(module.f)
    compiled(np.ones(3))
    assert sources(suture.explain(compiled)) == HONEST
    assert frames_compiled(compiled) == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# one\n# two\n" + text,  # lines move
        lambda text: text.replace("cos", "exp").replace("sin", "tan"),  # other text of the same size
        lambda text: text.replace("    y = ", "    y  = "),  # columns move
        lambda text: "not Python\n" + text,
        lambda text: "",
    ],
)
def test_lines_that_were_edited_are_not_shown(module, change, capsys):
    compiled = suture.compile(module.f)  # the callee is seen later, after the edit
    edit(module, change(TEXT))
    with suture.set_logs("graph_breaks,guards"):
        compiled(np.ones(3))
    explanation = suture.explain(compiled)
    assert set(sources(explanation)) == set(HONEST) and set(sources(explanation).values()) == {CHANGED}
    assert frames_compiled(compiled) == 4
    for text in (capsys.readouterr().err, str(explanation), explanation._repr_html_()):
        assert CHANGED in text and "^^^" not in text
        assert "def f(x)" not in text and "not Python" not in text


def test_what_was_quoted_before_the_edit_stays(module):
    compiled = suture.compile(module.f)
    compiled(np.ones(3))
    edit(module, "# one\n" + TEXT)
    assert sources(suture.explain(compiled)) == HONEST
    assert "^^^^^^^^^^^" in str(suture.explain(compiled))


def test_a_module_that_is_loaded_again_is_quoted_from_the_new_file(module):
    suture.compile(module.f)(np.ones(3))
    edit(module, "# one\n# two\n" + TEXT)
    importlib.reload(module)
    new = suture.compile(module.f)
    new(np.ones(3))
    assert sources(suture.explain(new)) == HONEST
    assert frames_compiled(new) == 4


def test_a_file_that_is_gone_or_touched_only(module):
    compiled = suture.compile(module.f)
    os.utime(module.__file__)
    compiled(np.ones(3))
    # Another time of change: the text may be the same, but nobody has looked.
    assert set(sources(suture.explain(compiled)).values()) <= {CHANGED, *HONEST.values()}
    os.unlink(module.__file__)
    other = suture.compile(module.helper)
    other(np.ones(3))
    assert sources(suture.explain(other))["SB203"] in ("", CHANGED, HONEST["SB203"])


def test_functions_without_a_file_are_quoted_as_before(tmp_path):
    namespace = {"np": np}
    exec(compile("def g(x):\n    y = np.sin(x)\n    print(end='')\n    return y\n", "<made here>", "exec"), namespace)
    compiled = suture.compile(namespace["g"])
    compiled(np.ones(3))
    assert sources(suture.explain(compiled)) == {"SB203": ""} and frames_compiled(compiled) == 1


def test_the_check_reads_no_file_that_is_older_than_the_process(module, monkeypatch):
    """What is not edited costs one stat per function."""
    os.utime(module.__file__, (1_000_000_000, 1_000_000_000))
    reads = []
    monkeypatch.setattr("linecache.getlines", lambda *args: reads.append(args) or [])
    compiled = suture.compile(module.f)
    compiled(np.ones(3))
    assert frames_compiled(compiled) == 4 and _core.status(compiled)["graph_break_count"] == 3
    assert not [args for args in reads if len(args) == 1], "read as a whole"
