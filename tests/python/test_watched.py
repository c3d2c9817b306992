"""Under a tracer or profiler a compiled function runs in the interpreter, so that the watcher sees every line."""

from __future__ import annotations

import bdb
import cProfile
import pstats
import sys
import threading

import numpy as np

import suture
from tests.support.oracle import frames_compiled

X = np.ones(3)


@suture.disable
def tick(value):
    return value


def whole(x):
    y = x * 2
    return y + 1


def breaking(x):
    y = x * 2
    for k in range(3):
        y = y + tick(k)
    tick(1)
    return y + 1


def events_of(function, watch=sys.settrace):
    """(event, function, line) of every call, line, return and exception in this file."""
    events = []

    def tracer(frame, event, _argument):
        if frame.f_code.co_filename == __file__:
            events.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer

    watch(tracer)
    try:
        function(X)
    finally:
        watch(None)
    return events


def hits(compiled):
    return sum(frame["hits"] for frame in suture._core.status(compiled)["frames"])


def check_watched(function, watch):
    expected = events_of(function, watch)
    compiled = suture.compile(function)
    assert events_of(compiled, watch) == expected  # before anything is compiled
    assert frames_compiled(compiled) == 0
    for _ in range(2):
        compiled(X)
    before = frames_compiled(compiled)
    assert before >= 1
    counted = hits(compiled)
    assert events_of(compiled, watch) == expected
    assert hits(compiled) == counted
    compiled(X)  # the watcher is gone
    assert hits(compiled) > counted
    assert frames_compiled(compiled) == before


def test_a_tracer_sees_every_line():
    check_watched(whole, sys.settrace)
    check_watched(breaking, sys.settrace)


def test_a_profiler_sees_every_call():
    check_watched(whole, sys.setprofile)
    check_watched(breaking, sys.setprofile)


def test_a_tracer_for_threads_sees_every_line():
    def in_thread(function, watch):
        def run():
            result.append(function(X))

        result: list = []
        events = []

        def tracer(frame, event, _argument):
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name == "breaking":
                events.append((event, frame.f_lineno))
            return tracer

        threading.settrace(tracer if watch else None)
        try:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        finally:
            threading.settrace(None)  # type: ignore[arg-type]
        return events

    compiled = suture.compile(breaking)
    compiled(X)
    assert in_thread(compiled, True) == in_thread(breaking, True) != []
    assert in_thread(compiled, False) == []
    assert frames_compiled(compiled) >= 2


def test_a_debugger_steps_through_every_line():
    class Stepper(bdb.Bdb):
        def __init__(self):
            super().__init__()
            self.lines = []

        def user_line(self, frame):
            if frame.f_code.co_name == "breaking":
                self.lines.append(frame.f_lineno)
            self.set_step()

    def lines(function):
        stepper = Stepper()
        stepper.runcall(function, X)
        return stepper.lines

    compiled = suture.compile(breaking)
    compiled(X)
    assert lines(compiled) == lines(breaking) != []
    assert frames_compiled(compiled) >= 2


def test_cprofile_counts_the_users_functions():
    compiled = suture.compile(breaking)
    compiled(X)
    profile = cProfile.Profile()
    profile.runcall(compiled, X)
    calls = {name: row[0] for (file, _, name), row in pstats.Stats(profile).stats.items() if file == __file__}
    assert calls == {"breaking": 1, "tick": 4}
    assert frames_compiled(compiled) >= 2


def test_a_function_that_starts_a_tracer_itself_is_seen_as_without_us():
    def f(x):
        y = x * 2
        sys.settrace(tracer)
        y = y + whole(x)
        sys.settrace(None)
        return y

    def tracer(frame, event, _argument):
        if frame.f_code.co_filename == __file__:
            events.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer

    events: list = []
    f(X)
    expected, events = events, []
    compiled = suture.compile(f)
    compiled(X)
    assert events == expected
    assert frames_compiled(compiled) == 0  # it changes its own frame
