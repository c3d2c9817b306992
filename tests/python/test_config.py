"""suture.config: one table, checked values, patches that are undone."""

from __future__ import annotations

import json

import pytest

import suture


def test_every_option_of_the_table_has_a_value_of_its_type():
    kinds = {"bool": bool, "int": int, "float": float, "str": str}
    options = suture.config.options()
    assert {"backend", "disable", "logs", "recompile_limit", "trace"} <= {option.name for option in options}
    for option in options:
        assert type(getattr(suture.config, option.name)) is kinds[option.type], option
        assert option.doc and option.env.startswith("SUTURE_")


def test_patch_sets_values_for_a_while_and_nests():
    before = suture.config.recompile_limit
    with suture.config.patch(recompile_limit=3, strict=True):
        assert suture.config.recompile_limit == 3 and suture.config.strict is True
        with suture.config.patch(recompile_limit=5):
            assert suture.config.recompile_limit == 5
        assert suture.config.recompile_limit == 3
    assert suture.config.recompile_limit == before and suture.config.strict is False


def test_patch_is_undone_after_an_exception_and_works_as_decorator():
    before = suture.config.recompile_limit

    @suture.config.patch(recompile_limit=2)
    def inside():
        assert suture.config.recompile_limit == 2
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            inside()
        assert suture.config.recompile_limit == before


@pytest.mark.parametrize(
    ("name", "value"), [("strict", 1), ("strict", "False"), ("recompile_limit", True), ("logs", 3)]
)
def test_values_of_another_type_are_refused_and_change_nothing(name, value):
    before = suture.config.to_dict()
    with pytest.raises(TypeError, match=f"option '{name}' is a"):
        setattr(suture.config, name, value)
    with pytest.raises(TypeError), suture.config.patch(recompile_limit=3, **{name: value}):
        pass
    assert suture.config.to_dict() == before


def test_unknown_options_name_the_nearest_one():
    with pytest.raises(AttributeError, match="no option is named 'recompile_limits'; did you mean 'recompile_limit'"):
        suture.config.recompile_limits = 3
    with pytest.raises(AttributeError, match="did you mean 'strict'"):
        suture.config.patch(strickt=True)
    with pytest.raises(ValueError, match="recompile_limit"):
        suture.compile(lambda x: x, options={"recompile_limt": 3})


def test_environment_is_read_once_at_import_and_bad_values_are_one_warning(run_python):
    code = "import suture, json; print(json.dumps([suture.config.recompile_limit, suture.config.strict]))"
    good = run_python("-c", code, SUTURE_RECOMPILE_LIMIT="3", SUTURE_STRICT="1")
    assert json.loads(good.stdout) == [3, True] and good.stderr == ""
    bad = run_python("-c", code, SUTURE_RECOMPILE_LIMIT="many")
    assert bad.returncode == 0 and json.loads(bad.stdout) == [8, False]
    assert bad.stderr.count("RuntimeWarning") == 1 and "SUTURE_RECOMPILE_LIMIT" in bad.stderr


def test_disable_runs_everything_in_the_interpreter(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return x + 1\n"
        "with suture.testing.frames_compiled() as frames: f(np.ones(3))\n"
        "print(frames.count)\n"
    )
    assert run_python(str(program), SUTURE_DISABLE="1").stdout == "0\n"
    assert run_python(str(program)).stdout == "1\n"


def test_import_loads_no_tool_before_it_is_used(run_python):
    code = (
        "import numpy, sys; before = set(sys.modules); import suture; "
        "print(sorted({'rich', 'argparse', 'inspect', 'logging', 'suture._logs', 'suture.cli', 'suture._toolbox'} "
        "& (set(sys.modules) - before)))"
    )
    assert run_python("-c", code).stdout == "[]\n"
