"""Repro files from anybody: whatever is in one, reading it ends in a clear error, soon, and runs none of it. No frame compiles here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suture import repro
from suture._minify import data, modes, plain_text, repro_file
from suture._minify.case import CaseError
from suture._minify.signature import Signature
from tests.support.small_repro import write_small_repro


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_small_repro(tmp_path)


def asked(path: Path, mode: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = repro.main(str(path), lambda x: x, argv=[mode])
    return code, capsys.readouterr().out


def edited(path: Path, before: str, after: str) -> Path:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    return path


EDITS = {
    "a graph that is none": ("x = placeholder()", "open('x') = placeholder()", "the text of the graph cannot be read"),
    "more data than memory": ("'values': '1.0 1.0 1.0'", "'generated': {'seed': 0, 'low': 0, 'high': 1}", ""),
    "another shape": ("'shape': [3]", "'shape': [10000000000000]", "its shape wants 10000000000000"),
    "a negative extent": ("'shape': [3]", "'shape': [-3]", "negative dimensions"),
    "code in place of literals": ("'shape': [3]", "'shape': [3 ** 3]", "is no repro file"),
    "values that are no text": ("'values': '1.0 1.0 1.0'", "'values': [1.0, 1.0, 1.0]", "has no attribute 'split'"),
    "a row without a name": ("'name': 'x', ", "", "a row of INPUTS has no name"),
    "an option that is no name": ("OPTIONS = {}", "OPTIONS = {1: 2, 'a': 3}", "a key of OPTIONS or ORIGIN is no text"),
    "a failure without a kind": ("EXPECTED = {}", "EXPECTED = {'signal': 11}", "EXPECTED: this is no failure"),
    "a signal that is no number": (
        "EXPECTED = {}",
        "EXPECTED = {'kind': 'killed', 'signal': 'x'}",
        "this is no failure",
    ),
    "a graph that is no Unicode": ("abs_1 = abs(x)", "\\ud800", "surrogates not allowed"),
    "an unknown dtype": ("'float64'", "'O'", "dtype 'O' is not one that graphs take"),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("mode", ["explain", "query", "analyze", "minify", "bisect"])
def test_no_mode_says_reproduced_of_a_file_that_cannot_be(
    edit: str, mode: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, why = EDITS[edit]
    edited(file, before, after)
    if edit == "more data than memory":
        edited(file, "'shape': [3]", "'shape': [10000000000000]")
        why = "is larger than the memory of this machine"
    code, said = asked(file, mode, capsys)
    assert code == modes.CANNOT_RUN and said.startswith("CANNOT RUN HERE: ") and why in said


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_outside(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def sparse(path: Path) -> None:
    with path.open("wb") as made:
        made.truncate(1 << 40)


def other_dtype(path: Path) -> None:
    path.write_bytes(data.npy_bytes(np.ones(3, np.float32)))


def pickled(path: Path) -> None:
    np.save(path, np.array([print, 1, 2], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (fifo, "is no file"),
        (link_outside, "is outside of"),
        (sparse, "is larger than input x"),
        (other_dtype, "holds float32; input x is float64"),
        (pickled, "Object arrays cannot be loaded"),
        (Path.mkdir, "is no file"),
    ],
)
def test_data_files_are_files_of_the_size_and_type_that_is_wanted(
    make: Callable[[Path], None], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "input.npy"
    make(path)
    right = hashlib.sha256(path.read_bytes()).hexdigest() if make in (other_dtype, pickled) else "0"
    row = {"name": "x", "kind": "array", "dtype": "float64", "shape": [3], "file": "input.npy", "sha256": right}
    with pytest.raises(CaseError, match=why):
        data.input_of(row, tmp_path)


@pytest.mark.parametrize("name", ["../input.npy", "/etc/passwd", "a/../../input.npy"])
def test_data_files_lie_beside_the_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "input.npy").write_bytes(data.npy_bytes(np.ones(3)))
    beside = tmp_path / "here"
    (beside / "a").mkdir(parents=True)
    row = {"name": "x", "kind": "array", "dtype": "float64", "shape": [3], "file": name, "sha256": "0"}
    with pytest.raises(CaseError, match="is outside of"):
        data.input_of(row, beside)


def test_callables_named_in_a_graph_are_not_called(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = file.parent / "ran"
    edited(file, '"np.abs"', f"\"__import__('os').system('touch {marker}') or np.abs\"")
    for mode in ("explain", "query", "analyze"):
        asked(file, mode, capsys)
    assert not marker.exists()


def test_names_reach_the_terminal_as_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edited(file, "{'name': 'x'", "{'name': 'x\\n\\x1b[2J'")
    code, said = asked(file, "explain", capsys)
    assert code == modes.DONE and "\x1b" not in said and "x\\n\\x1b[2J" in said


def test_signals_without_a_name_are_told_by_number(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edited(file, "EXPECTED = {}", "EXPECTED = {'kind': 'killed', 'signal': 37}")
    assert asked(file, "explain", capsys)[0] == modes.DONE
    assert (
        Signature("killed", signal=37).to_dict()["signal"] == 37
        and str(Signature("killed", signal=37)) == "killed, signal 37"
    )


def test_more_memory_than_there_is_cannot_run_here(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edited(file, "'values': '1.0 1.0 1.0'", "'values': '1.0 1.0 1.0', 'offset': 1000000000000000000")
    code, said = asked(file, "minify", capsys)
    assert code == modes.CANNOT_RUN and said.startswith("CANNOT RUN HERE: ")


def test_what_a_failure_says_reaches_files_and_terminals_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_small_repro(tmp_path)
    found = repro_file.load(path)
    title = "raised E: \x1b[31m \ud800"
    again = repro_file.write(replace(found, title=title), tmp_path, "repro")
    assert repro_file.load(again).title == r"raised E: \x1b[31m \ud800"
    repro._say("\x1b[2Jgone\nnext")
    assert capsys.readouterr().out == "\\x1b[2Jgone\nnext\n"


def test_exceptions_say_something_whatever_their_class_does() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert plain_text.of_exception(Mute()) == "<its text raised ValueError>"
    assert len(plain_text.of_exception(ValueError("x" * 1000000))) < 20000
