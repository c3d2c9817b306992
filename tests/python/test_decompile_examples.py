"""The second level of proof: text that cannot be proved is run beside its function, on arguments that the caller gives."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _examples


def named(flag: bool, values: list[int]) -> str:
    values.append(1)
    return f"{values[0]!r:>4}|{'yes' if flag else 'no'}"


def doubled(flag: bool, values: list[int]) -> str:
    values.append(2)
    return f"{values[0]!r:>4}|{'yes' if flag else 'no'}"


def widened(rows: list[int]) -> list[int]:
    """As a dispatch loop, `slice` makes the slice that the bytecode uses twice: the name may mean something else, no proof."""
    rows[::2] += [limit] * len(rows[::2])
    return rows


limit = 0


def test_text_without_a_proof_is_run_on_the_examples() -> None:
    unproved = suture.decompile(widened, tier=3)
    assert (unproved.tier, unproved.verdict) == (4, "unverified: not decompiled")
    result = suture.decompile(widened, tier=3, examples=[([1, -1],), ([],), (None,), (["a"],)])
    assert (result.tier, result.verdict) == (3, "verified: same behaviour on 4 calls")
    assert {code.verdict for code in result.codes} == {result.verdict}
    assert any("they differ" in note for note in result.notes)  # why it is not proved
    assert "while True:" in result.source


def test_what_is_proved_is_not_run() -> None:
    def touch(path: str) -> None:
        Path(path).write_text("run")

    result = suture.decompile(touch, examples=[("/nonexistent/file",)])
    assert result.verdict == "verified: same bytecode"


def test_nothing_is_compared_without_examples_or_outside_of_functions() -> None:
    with pytest.raises(ValueError, match="no example"):
        suture.decompile(named, examples=[])
    with pytest.raises(TypeError, match="calls of a function"):
        suture.decompile("json.decoder", examples=[()])
    with pytest.raises(TypeError, match="a tuple of positional arguments"):
        suture.decompile(named, examples=[[1]])  # type: ignore[list-item]


def difference(one: Callable[..., object], other: Callable[..., object], *examples: object) -> str:
    return _examples.first_difference(one, other, examples)  # type: ignore[arg-type]


def test_results_exceptions_and_changed_arguments_count() -> None:
    assert difference(named, named, (True, [5]), (False, []), (False, None)) == ""
    assert "another arguments" in difference(named, doubled, (True, [5]))
    assert "another outcome" in difference(lambda x: x, lambda x: -x, (0.0,))
    assert "another outcome" in difference(lambda x: x[0], lambda x: x[1], ([1],))
    assert difference(lambda x: x * np.nan, lambda x: x * np.nan, (np.ones(3),), (1.0,)) == ""
    assert "another outcome" in difference(lambda x: x, lambda x: x.astype(np.float32), (np.ones(3),))
    bound = inspect.signature(named).bind(values=[3], flag=False)
    assert difference(named, named, bound) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1 + 0j, 1 + 0j, 1 + 0j], [1 + 0j, 1 + 0j, 5 + 0j]),
        ([complex(0, 0.0)], [complex(0, -0.0)]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}),
        ([{1: 1}, {1: 1}, {1: 1}], [{1: 1}, {1: 1}, {1: 2}]),
        ({1}, {True}),
        (np.array([1, [2]], dtype=object), np.array([1, [3]], dtype=object)),
        (np.float32(0.0), np.float32(-0.0)),
        (ValueError("a"), ValueError("b")),
        (np.zeros((2, 3), order="C"), np.zeros((2, 3), order="F")),
    ],
    ids=str,
)
def test_every_part_of_a_result_counts(one: object, other: object) -> None:
    assert difference(lambda: one, lambda: one, ()) == ""
    assert difference(lambda: one, lambda: other, ()) != ""


def test_it_counts_which_places_hold_one_object() -> None:
    assert "with other objects" in difference(lambda x: x, lambda x: list(x), ([1],))
    assert "with other objects" in difference(lambda x: [[]] * 2, lambda x: [[], []], (1,))
    assert "with other objects" in difference(lambda x: x, lambda x: x.copy(), (np.ones(3),))
    assert "share other memory" in difference(lambda x: x[1:], lambda x: x[1:].copy(), (np.ones(3),))
    assert difference(lambda x: [x, x[1:]], lambda x: [x, x[1:]], (np.ones(3),)) == ""
    itself: list[object] = []
    itself.append(itself)
    assert difference(lambda x: x, lambda x: x, (itself,)) == ""


def test_running_into_the_limit_of_memory_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_examples, "_MEMORY", 64 << 20)

    def grow(x: int) -> object:
        try:
            return bytes(1 << 30)
        except MemoryError:
            raise ValueError(x) from None

    assert "cannot be compared: MemoryError" in difference(lambda x: bytes(1 << 30), lambda x: bytes(1 << 30), (1,))
    assert "cannot be compared: MemoryError" in difference(grow, grow, (1,))


def test_notes_of_two_texts_are_told_once() -> None:
    result = suture.decompile(widened, tier=3, examples=[([1],)])
    assert result.verdict == "verified: same behaviour on 1 call"
    assert len(set(result.notes)) == len(result.notes)


def test_calls_run_in_processes_of_their_own() -> None:
    seen: list[int] = []

    def note(x: int) -> int:
        seen.append(x)
        return x

    assert difference(note, note, (1,), (2,)) == ""
    assert seen == []


def test_calls_that_crash_hang_or_give_what_cannot_be_compared_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_examples, "SECONDS_PER_CALL", 0.5)

    def crash(x: int) -> int:
        os._exit(3)

    def hang(x: int) -> int:
        while True:
            pass

    def generate(x: int) -> object:
        yield x

    assert "call 1 of 1: the process ended in the call" in difference(crash, crash, (1,))
    assert "no answer within" in difference(hang, hang, (1,))
    assert "cannot be compared" in difference(generate, generate, (1,))
