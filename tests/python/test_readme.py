"""What the README says about NumPy names is what the compiler does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import suture
from suture import _core

ROOT = Path(__file__).resolve().parents[2]


def compiled_names():
    return {name.removeprefix("np.") for name, _, _ in _core.numpy_table() if name.startswith("np.")}


def said_to_break(text):
    sentence = text[: text.index("graph break around that call")] if "graph break around that call" in text else text
    return {name.removeprefix("np.") for name in re.findall(r"`((?:np\.)?[a-z_.]+)`", sentence)}


def test_names_that_are_said_to_break_are_not_in_the_table():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("Many everyday functions are not in it") :]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    row = changelog[changelog.index("- NumPy names that are not in") :]
    for text in (section[: section.index(")")], row):
        names = said_to_break(text)
        assert len(names) >= 6 and not names & compiled_names()


def test_every_name_of_the_page_is_compiled_and_others_break():
    page = (ROOT / "docs" / "reference" / "numpy_names.md").read_text(encoding="utf-8")
    functions = page[page.index("## Functions") : page.index("## Methods")]
    assert set(re.findall(r"`np\.(\w+)`", functions)) == compiled_names()
    for function, breaks in ((lambda x: np.sin(x) + 1, 0), (lambda x: np.median(x + 1) + x, 1)):
        explanation = suture.explain(function)(np.ones(3))
        assert explanation.graph_break_count == breaks and explanation.graph_count == 1 + breaks
