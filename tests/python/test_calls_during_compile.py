"""Calls of a function that is being compiled: they run in the interpreter and are told of; a forked child compiles anew."""

from __future__ import annotations

import json
import os
import threading

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled

SECONDS = 60


def scaled(x):
    return np.sin(x) * 2


class SlowBackend:
    """Compiles in a thread of its own and stops in the middle until go_on() is called."""

    def __init__(self) -> None:
        self.entered, self.may_go_on = threading.Event(), threading.Event()
        self.compiled = suture.compile(scaled, backend=self)
        self.thread = threading.Thread(target=self.compiled, args=(np.ones(3),))
        self.owner = os.getpid()

    def __call__(self, graph, example_inputs):
        if os.getpid() == self.owner:
            self.entered.set()
            assert self.may_go_on.wait(SECONDS)
        return graph.forward()

    def __enter__(self) -> SlowBackend:
        self.thread.start()
        assert self.entered.wait(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.may_go_on.set()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()


@pytest.fixture
def events():
    lines: list[str] = []
    token = _core.subscribe(["calls_during_compile"], lines.append)
    yield lines
    _core.unsubscribe(token)


def test_calls_that_another_threads_compile_keeps_in_the_interpreter_are_one_record(events):
    with SlowBackend() as slow:
        for _ in range(3):
            np.testing.assert_array_equal(slow.compiled(np.full(3, 2.0)), scaled(np.full(3, 2.0)))
        assert not events, "told when the compile ends"
        assert slow.compiled.status()["during_compile"] == 3
    (event,) = events
    fields = json.loads(event)["fields"]
    assert (fields["function"], fields["calls"], fields["nested"]) == ("scaled", 3, 0)
    assert fields["reason"] == "another thread was compiling the function"
    (record,) = suture.explain(slow.compiled).to_dict()["calls_during_compile"]
    assert record["calls"] == 3 and record["line"] == scaled.__code__.co_firstlineno
    assert "3 calls ran in the interpreter: another thread was compiling" in str(suture.explain(slow.compiled))
    slow.compiled(np.ones(3))
    assert frames_compiled(slow.compiled) == 1 and slow.compiled.status()["hits"] == 1
    assert slow.compiled.status()["during_compile"] == 3 and len(events) == 1


def test_the_log_of_breaks_says_so_once(capsys):
    with suture.set_logs("graph_breaks"), SlowBackend() as slow:
        for _ in range(5):
            slow.compiled(np.ones(3))
    said = [line for line in capsys.readouterr().err.splitlines() if "ran in the interpreter" in line]
    assert len(said) == 1 and "5 calls of scaled in " in said[0] and "another thread was compiling" in said[0]
    assert frames_compiled(slow.compiled) == 1


def test_calls_made_by_the_compile_itself_have_that_reason(events):
    def backend(graph, example_inputs):
        compiled(*example_inputs)
        return graph.forward()

    compiled = suture.compile(scaled, backend=backend)
    compiled(np.ones(3))
    fields = json.loads(events[0])["fields"]
    assert (fields["calls"], fields["nested"]) == (1, 1) and "its own compile calls" in fields["reason"]
    assert frames_compiled(compiled) == 1


def in_child(work) -> str:
    """What work() gives in a forked child; the test fails when it hangs or dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    done = threading.Event()

    def wait() -> None:
        os.waitpid(child, 0)
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    if not done.wait(SECONDS):
        os.kill(child, 9)
        pytest.fail("the child hangs")
    with os.fdopen(reader) as pipe:
        return pipe.read()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_during_another_threads_compile_compiles_the_function():
    with SlowBackend() as slow:
        slow.compiled(np.ones(3))

        def work():
            values = [slow.compiled(np.ones(3)).sum() for _ in range(3)]
            status = slow.compiled.status()
            return values, frames_compiled(slow.compiled), status["hits"], status["during_compile"]

        value = scaled(np.ones(3)).sum()
        assert in_child(work) == repr(([value] * 3, 1, 2, 1))
    assert frames_compiled(slow.compiled) == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("event", ["frame_start", "graph_captured", "kernel_source", "kernel_compiled", "guards_built"])
def test_a_child_forked_at_any_step_of_a_compile_has_a_compiler(event, tmp_path, monkeypatch):
    """The other thread waits in a listener, where it has given the interpreter away: no lock of a compile is held there."""
    monkeypatch.setattr(suture.config, "cache_dir", str(tmp_path))
    entered, may_go_on, owner = threading.Event(), threading.Event(), os.getpid()

    def listener(line: str) -> None:
        if os.getpid() == owner and threading.current_thread() is thread:
            entered.set()
            assert may_go_on.wait(SECONDS)

    compiled = suture.compile(scaled)
    thread = threading.Thread(target=compiled, args=(np.ones(3),))
    token = _core.subscribe([event], listener)
    try:
        thread.start()
        assert entered.wait(SECONDS)

        def work():
            other = suture.compile(lambda x: np.cos(x) + 1)
            other(np.ones(3))
            compiled(np.ones(3))
            return frames_compiled(other), frames_compiled(compiled)

        assert in_child(work) == "(1, 1)"
    finally:
        may_go_on.set()
        thread.join(SECONDS)
        _core.unsubscribe(token)
    assert frames_compiled(compiled) == 1
