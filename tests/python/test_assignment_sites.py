"""Where the object of an identity guard was assigned, as a recompile says it: found in the source, which is not run."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
import warnings

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import frames_compiled

PROLOGUE = """
import numpy as np
from types import SimpleNamespace
open(__file__ + ".ran", "a").write("ran\\n")
def double(v): return v * 2
def triple(v): return v * 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Imports the given text as a module; fails when anything in it ran a second time."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def make(text, name="sites_program"):
        path = tmp_path / f"{name}.py"
        path.write_text(PROLOGUE + textwrap.dedent(text))
        importlib.invalidate_caches()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append((path, importlib.import_module(name)))
        return made[-1][1]

    yield make
    for path, imported in made:
        del sys.modules[imported.__name__]
        assert path.with_name(path.name + ".ran").read_text() == "ran\n"


def line_of(module, text):
    lines = open(module.__file__).read().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, (text, found)
    return f"{module.__file__}:{found[0]}"


def assigned(function, change, frames=2):
    """The `assigned` field of the one recompile that `change` causes."""
    compiled = suture.compile(function)
    compiled(np.ones(3))
    change()
    events = []
    token = _core.subscribe(["recompile"], lambda line: events.append(json.loads(line)["fields"]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(compiled(np.ones(3)), function(np.ones(3)))
    finally:
        _core.unsubscribe(token)
    assert frames_compiled(compiled) == frames
    (event,) = events
    assert event["kinds"] in (["identity"], ["code"]), event
    return event["assigned"][0]


def test_a_global_that_is_assigned_once(module):
    program = module(
        """
        act = np.sin
        def f(x): return act(x) + 1
        """
    )
    assert assigned(program.f, lambda: setattr(program, "act", np.cos)) == line_of(program, "act = np.sin")


def test_a_global_function_is_assigned_by_its_def(module):
    program = module("def f(x): return double(x) + 1")
    assert assigned(program.f, lambda: setattr(program, "double", program.triple)) == line_of(program, "def double")


def test_a_global_that_is_assigned_at_several_places(module):
    program = module(
        """
        act = np.sin
        def use_cos():
            global act
            act = np.cos
        def other():
            act = np.tan  # a local of that name
            return act
        def f(x): return act(x) + 1
        """
    )
    places = assigned(program.f, program.use_cos)
    assert places == f"{line_of(program, 'act = np.sin')}, {line_of(program, '    act = np.cos')}"


def test_a_closure_variable(module):
    program = module(
        """
        def outer():
            act = np.sin
            def swap():
                nonlocal act
                act = np.cos
            def f(x): return act(x) + 1
            return f, swap
        act = np.tan  # another variable
        """
    )
    f, swap = program.outer()
    assert assigned(f, swap) == f"{line_of(program, 'act = np.sin')}, {line_of(program, 'act = np.cos')}"


def test_a_parameter_of_the_function_around_is_assigned_by_its_def(module):
    program = module(
        """
        def outer(act):
            def f(x): return act(x) + 1
            return f
        """
    )
    f = program.outer(np.sin)

    def change():
        f.__closure__[0].cell_contents = np.cos

    assert assigned(f, change) == line_of(program, "def outer")


def test_an_attribute_of_an_instance(module):
    program = module(
        """
        class Other:
            def __init__(self): self.act = np.tan
        class Model:
            def __init__(self):
                self.act = np.sin
            def swap(self):
                self.act = np.cos
        model = Model()
        def f(x): return model.act(x) + 1
        """
    )
    places = assigned(program.f, program.model.swap)
    assert places == f"{line_of(program, 'self.act = np.sin')}, {line_of(program, 'self.act = np.cos')}"


def test_an_attribute_of_a_class_body_and_of_an_assignment_from_outside(module):
    program = module(
        """
        class Model:
            act = np.sin
        def swap():
            Model.act = np.cos
        def f(x): return Model.act(x) + 1
        """
    )
    places = assigned(program.f, program.swap)
    assert places == f"{line_of(program, '    act = np.sin')}, {line_of(program, 'Model.act = np.cos')}"


def test_an_attribute_that_a_function_sets_of_its_argument(module):
    program = module(
        """
        class Model:
            act = np.sin
        def configure(model): model.act = np.cos
        model = Model()
        def f(x): return model.act(x) + 1
        """
    )
    places = assigned(program.f, lambda: program.configure(program.model))
    assert places == f"{line_of(program, '    act = np.sin')}, {line_of(program, 'model.act = np.cos')}"


def test_a_global_of_another_module(module):
    settings = module("act = np.sin", name="sites_settings")
    program = module(
        """
        import sites_settings
        def f(x): return sites_settings.act(x) + 1
        """
    )
    assert assigned(program.f, lambda: setattr(settings, "act", np.cos)) == line_of(settings, "act = np.sin")


def test_a_source_with_warnings_shows_none_and_is_read(module):
    program = module(
        r"""
        pattern = "\d"
        act = np.sin
        def f(x): return act(x) + 1
        """
    )
    assert assigned(program.f, lambda: setattr(program, "act", np.cos)) == line_of(program, "act = np.sin")


def test_a_file_that_has_changed_since_says_nothing(module):
    program = module(
        """
        act = np.sin
        def f(x): return act(x) + 1
        """
    )
    with open(program.__file__) as file:
        text = file.read()
    with open(program.__file__, "w") as file:
        file.write("# a line more\n" + text)
    assert assigned(program.f, lambda: setattr(program, "act", np.cos)) == ""


def test_an_argument_has_its_place_at_the_caller_and_exec_has_no_source():
    def apply(x, g):
        return g(x) + 1

    compiled = suture.compile(apply)
    events = []
    token = _core.subscribe(["recompile"], lambda line: events.append(json.loads(line)["fields"]))
    try:
        compiled(np.ones(3), np.sin)
        compiled(np.ones(3), np.cos)
    finally:
        _core.unsubscribe(token)
    assert frames_compiled(compiled) == 2 and events[0]["assigned"] == [""]
    space = {"np": np, "act": np.sin}
    exec("def f(x):\n    return act(x) + 1", space)
    assert assigned(space["f"], lambda: space.update(act=np.cos)) == ""


def test_the_log_and_explain_print_the_places(module, caplog):
    program = module(
        """
        act = np.sin
        def f(x): return act(x) + 1
        """
    )
    compiled = suture.compile(program.f)
    with caplog.at_level("INFO", logger="suture"), suture.set_logs("recompiles"):
        compiled(np.ones(3))
        program.act = np.cos
        compiled(np.ones(3))
    assert frames_compiled(compiled) == 2
    place = line_of(program, "act = np.sin")
    start, end = (record.getMessage() for record in caplog.records if record.artifact == "recompiles")
    assert f"'act' is assigned at {place}" in start
    assert f"made at {line_of(program, 'def f')}  def f(x): return act(x) + 1;" in start
    assert "or give `act` its object before the first call and leave it" in start
    assert end.startswith(f"Recompiled function f in {line_of(program, 'def f')}: ") and end.endswith(" ms")
    (recompile,) = suture.explain(compiled).recompiles
    assert recompile["causes"][0]["assigned"] == [place]
    assert f"'act' is assigned at {place}" in str(suture.explain(compiled))
