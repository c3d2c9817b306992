"""`suture bisect` names the step that makes a failure. Subjects that only pretend to compile show the search; real ones follow."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from test_accuracy import case_of
from test_json_schemas import Checker, load

from suture._minify import bisect as module
from suture._minify import child, failing_op, repro_file
from suture._minify.bisect import Bisection, bisect, bisect_program, bisect_slow
from suture._minify.bisect_text import text_of, to_json
from suture._minify.case import Case
from suture._minify.compile_texts import Texts, plain_graph
from suture._minify.signature import Outcome
from suture._minify.variants import ProgramSubject, Variant, outcome_of

PASS, WRONG = Outcome("pass"), Outcome("wrong_value", "compare", message="3 instead of 4")


class Pretender:
    """A compiler of 12 changes and 20 fusions in which `fails(settings)` says what goes wrong. Settings are complete."""

    backend, seconds = "native", 30.0
    changes = [f"fold_casts: cast_{i} is x" for i in range(1, 13)]
    fusions = [f"mul_{i} into add_{i}" for i in range(1, 21)]

    def __init__(self, fails):
        self.fails, self.signature, self.ran = fails, None, []

    def run(self, variant: Variant) -> Outcome:
        settings = {"backend": "native", "pass_limit": 12, "fusion": True, "fusion_limit": 20, "loop_order": True}
        settings |= {"kernel_opt": "O3", "toolchain": "auto"} | variant.settings
        if settings["pass_limit"] < 0:
            settings["pass_limit"] = 12
        if not settings["fusion"]:
            settings["fusion_limit"] = 0
        self.ran.append(settings)
        found = self.fails(settings)
        return found if isinstance(found, Outcome) else WRONG if found else PASS

    def texts(self, variant: Variant) -> Texts:
        settings = variant.settings
        changes = self.changes[: settings.get("pass_limit", 12)]
        fusions = self.fusions[: settings.get("fusion_limit", 20)]
        graph, fused = "\n".join(["graph", *changes]), "\n".join(["kernels", *fusions])
        return Texts(graph=graph, schedule=fused, cpp=fused, changes=list(changes), fusions=list(fusions))

    def compiles(self, variant: Variant) -> list[Texts]:
        return [self.texts(variant)]

    def does_work_again(self, variant: Variant) -> bool:
        return False


def searched(fails) -> Bisection:
    return module._Search(Pretender(fails), lambda label: None).result()


def native(settings):
    return settings["backend"] == "native"


@pytest.mark.parametrize("number", [1, 2, 7, 12])
def test_a_change_of_a_pass_is_found_by_number_and_name(number):
    found = searched(lambda s: s["backend"] != "eager" and s["pass_limit"] >= number)
    assert (found.stage, found.number, found.name) == ("optional passes", number, Pretender.changes[number - 1])
    assert found.failing == {"backend": "lowered_eager", "pass_limit": number}
    assert found.passing == {"backend": "lowered_eager", "pass_limit": number - 1}
    assert found.monotone and found.runs <= 30
    assert f"+{Pretender.changes[number - 1]}" in found.diffs["graph"] and not found.diffs["C++"]


def test_a_change_that_only_kernels_do_not_bear_is_found_there():
    found = searched(lambda s: native(s) and s["pass_limit"] >= 5)
    assert (found.stage, found.number) == ("optional passes", 5)
    assert "backend" not in found.failing and found.failing["kernel_opt"] == "O0"


@pytest.mark.parametrize("number", [1, 13, 20])
def test_a_decision_to_fuse_is_found_by_number_and_name(number):
    found = searched(lambda s: native(s) and s["fusion_limit"] >= number)
    assert (found.stage, found.number, found.name) == ("fusion", number, Pretender.fusions[number - 1])
    assert f"+{Pretender.fusions[number - 1]}" in found.diffs["C++"]
    assert f"decision {number}: mul_{number} into add_{number}" in text_of(found)


@pytest.mark.parametrize(
    "fails, stage",
    [
        (lambda s: True, "graph"),
        (lambda s: s["backend"] != "eager", "required passes"),
        (native, "kernels"),
        (lambda s: native(s) and s["toolchain"] != "subprocess", "C++ compiler in this process"),
        (lambda s: native(s) and s["loop_order"], "loop order"),
        (lambda s: native(s) and s["kernel_opt"] >= "O1", "C++ optimiser"),
        (lambda s: native(s) and s["kernel_opt"] == "O3", "C++ optimiser"),
    ],
)
def test_the_first_rung_that_fails_names_the_stage(fails, stage):
    found = searched(fails)
    assert found.stage == stage and found.number == 0 and found.reproduced
    assert stage in text_of(found)


def test_levels_of_the_optimiser_are_the_two_variants():
    found = searched(lambda s: native(s) and s["kernel_opt"] >= "O2")
    assert (found.failing, found.passing) == ({"kernel_opt": "O2"}, {"kernel_opt": "O1"})


def test_two_places_are_not_taken_for_one():
    """Decisions 3 to 8 hide what decision 2 breaks; decision 9 breaks it again."""
    found = searched(lambda s: native(s) and s["fusion_limit"] in {2, *range(9, 21)})
    assert not found.monotone and found.flips == [2, 3, 9]
    assert "not monotone: all values of fusion_limit were tried" in text_of(found)
    assert (found.failing["fusion_limit"], found.passing["fusion_limit"]) in {(2, 1), (9, 8)}


def test_a_part_that_hides_the_failure_is_told_of():
    found = searched(lambda s: native(s) and s["fusion_limit"] >= 4 and s["kernel_opt"] != "O2")
    assert found.stage == "fusion" and any("hide" in note for note in found.notes)


def test_a_failure_that_needs_two_parts_is_found_in_the_second():
    found = searched(
        lambda s: native(s) and s["fusion_limit"] >= 4 and s["pass_limit"] >= 2 and s["kernel_opt"] == "O3"
    )
    assert found.stage == "C++ optimiser" and found.failing == {} and found.passing == {"kernel_opt": "O2"}


def test_other_failures_on_the_way_are_not_the_failure():
    other = Outcome("compile_error", "compile", "InternalError", "something else")
    found = searched(
        lambda s: WRONG if native(s) and s["fusion_limit"] >= 7 else other if s["pass_limit"] == 0 else PASS
    )
    assert (found.stage, found.number) == ("fusion", 7)
    assert "other" in {row.verdict for row in found.ladder}


def test_what_does_not_fail_here_is_not_reproduced():
    found = searched(lambda s: False)
    assert not found.reproduced and found.exit_code == 0 and text_of(found).startswith("NOT REPRODUCED")


def test_what_cannot_be_judged_is_told_so():
    found = searched(lambda s: Outcome("invalid", "build", message="the data is missing"))
    assert found.exit_code == 77 and "the data is missing" in text_of(found)


@pytest.mark.parametrize("seed", range(4))
def test_a_failure_that_comes_and_goes_gets_more_runs(seed):
    chance = random.Random(seed)
    found = searched(lambda s: native(s) and s["fusion_limit"] >= 6 and chance.random() < 0.6)
    assert found.reproduced  # in one of the first three runs, with these seeds
    assert (found.stage, found.number) == ("fusion", 6)
    if found.rate < 1:
        assert "comes and goes" in text_of(found)


def test_hangs_are_not_waited_for_longer_than_needed():
    hang = Outcome("hang", "run")
    pretender = Pretender(lambda s: hang if native(s) and s["fusion_limit"] >= 11 else PASS)
    search = module._Search(pretender, lambda label: None)
    assert search.result().number == 11 and search.subject.seconds == failing_op.LEAST_WAIT
    keys = [json.dumps(settings, sort_keys=True) for settings in pretender.ran]
    assert len(keys) <= len(set(keys)) + module.CONFIRMING + 1


def test_changes_are_counted_where_the_compile_does_not_come_so_far():
    """The failing variant says nothing; the number is found by doubling, and the change by what comes before it."""
    broken = Outcome("compile_error", "compile", "RuntimeError", "a law is broken")
    pretender = Pretender(lambda s: broken if native(s) and s["pass_limit"] >= 7 else PASS)
    whole = pretender.texts
    pretender.texts = lambda v: whole(v) if v.settings.get("pass_limit", 12) < 7 else Texts()
    found = module._Search(pretender, lambda label: None).result()
    assert (found.stage, found.number) == ("optional passes", 7)
    assert found.name == f"the one behind {Pretender.changes[5]}"
    assert any("its compile ends in the passes" in note for note in found.notes)


def test_every_variant_is_run_once():
    pretender = Pretender(lambda s: native(s) and s["fusion_limit"] >= 11)
    module._Search(pretender, lambda label: None).result()
    keys = [json.dumps(settings, sort_keys=True) for settings in pretender.ran]
    # Besides: the failing settings and the passing ones of the answer, which are confirmed, and fusion_limit=20, which is what
    # "as it fails" is, too.
    assert len(keys) <= len(set(keys)) + 2 * module.CONFIRMING + 1


def test_the_answer_as_json_has_everything_that_is_told():
    found = json.loads(to_json(searched(lambda s: native(s) and s["fusion_limit"] >= 3)))
    assert found["schema"] == "suture.bisect/1" and found["exit_code"] == 1
    assert found["stage"] == "fusion" and found["number"] == 3 and found["diffs"]["schedule"]


def test_the_json_is_what_the_schema_says():
    checker = Checker(load("bisect_1.json"))
    for fails in (
        lambda s: native(s) and s["fusion_limit"] >= 3,
        lambda s: native(s) and s["fusion_limit"] in {2, *range(9, 21)},
        lambda s: True,
        lambda s: False,
        lambda s: Outcome("invalid", "build", message="the data is missing"),
    ):
        assert checker.problems(json.loads(to_json(searched(fails)))) == []
    several = searched(lambda s: native(s) and s["fusion_limit"] >= 3)
    several.other_diffs = [module.CompileDiffs("compile 0/1 of f (prog.py:9)", {"schedule": "-a\n+b"})]
    assert checker.problems(json.loads(to_json(several))) == []
    assert checker.documented() - checker.met == set(), "documented, never seen"


class PretendedProgram(Pretender, ProgramSubject):
    """Conditions are met where decision 6 is not made."""

    def does_work_again(self, variant: Variant) -> bool:
        return variant.settings.get("fusion_limit", 20) < 6


def test_a_program_that_passes_because_numpy_does_the_work_again_is_told_of():
    for number, told in ((6, 1), (7, 0)):
        subject = PretendedProgram(lambda s, n=number: native(s) and s["fusion_limit"] >= n)
        found = module._Search(subject, lambda label: None).result()
        assert found.number == number
        assert ["NumPy does the work again" in note for note in found.notes] == [True] * told


# --- children --------------------------------------------------------------------------------------------------------------


def test_work_in_a_child_ends_as_it_ends():
    import os
    import time

    assert child.call(lambda send: [1, {"a": None}], 20).value == [1, {"a": None}]
    assert "division" in child.call(lambda send: 1 / 0, 20).error
    assert child.call(lambda send: os._exit(3), 20).error == "the process ended with exit code 3"
    ending = child.call(lambda send: (send("stage", "run"), os.abort()), 20)
    assert ending.signal == 6 and outcome_of(ending) == Outcome("abort", "run", signal=6)
    ending = child.call(lambda send: (send("stage", "run"), time.sleep(60)), 0.3)
    assert ending.timed_out and outcome_of(ending).kind == "hang"
    assert "MemoryError" in child.call(lambda send: len(bytearray(3 << 30)), 20, memory=1 << 30).error


# --- real graphs -----------------------------------------------------------------------------------------------------------


def program(x, y):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - y, 0.25)
    return (b * 2).sum(axis=0), b - a


def real_case(**settings) -> Case:
    rng = np.random.default_rng(1)
    return case_of(program, rng.uniform(-1, 1, (6, 5)), rng.uniform(-1, 1, 5), **settings)


@pytest.mark.parametrize(
    "kind",
    ["wrong_value", "wrong_dtype", "segfault", "abort", "hang", "oom", "compile_error", "run_error", "wrong_stride"],
)
def test_a_backend_that_fails_is_to_blame_as_a_whole_and_the_op_is_named(kind):
    case = real_case(backend=f"faulty:op=maximum,kind={kind}")
    found = bisect(case, seconds=1.5 if kind == "hang" else 20)
    assert found.reproduced and found.stage == f"backend {case.backend}"
    assert found.op.startswith("maximum = maximum (np.maximum)")
    assert found.place == f"{__file__}:{program.__code__.co_firstlineno + 2}"
    assert found.exit_code == 1


def test_a_right_case_is_not_reproduced():
    assert bisect(real_case()).exit_code == 0


def test_graph_text_is_compared_without_places():
    text = plain_graph(real_case().graph_text)
    assert "abs_1 = abs(x) : f64[6, 5]\n" in text and __file__ not in text


def test_a_slow_case_is_bisected_to_what_makes_it_slow(monkeypatch):
    """Time is pretended: fused kernels after decision 1 take three times as long."""

    def fastest(case, first, second, seconds):
        slow = case.options.get("fusion", True) and case.options.get("fusion_limit", 99) >= 2
        return (3.0 if slow else 1.0), 1.0

    monkeypatch.setattr("suture._minify.variants._fastest", fastest)
    found = bisect_slow(real_case(), 2.0)
    assert (found.stage, found.number) == ("fusion", 2)
    assert found.passing["fusion_limit"] == 1 and "+" in found.diffs["C++"]
    monkeypatch.setattr("suture._minify.variants._fastest", lambda *given: (1.0, 1.0))
    assert not bisect_slow(real_case(), 2.0).reproduced


# --- programs and the command line -----------------------------------------------------------------------------------------

PROGRAM = """\
import sys
import numpy as np
import suture
from suture import _core

seen = []
_core.subscribe(["fusion_decision"], seen.append)

@suture.compile
def f(x):
    return np.sqrt(np.abs(x) + 1) * 2

f(np.ones(5))
if sum('"fused":true' in line.replace(" ", "") for line in seen) >= int(sys.argv[1]):
    raise ValueError("too many fused")
"""


def test_a_program_is_bisected_through_its_environment(write_program):
    path = write_program(PROGRAM)
    found = bisect_program([str(path), "2"])
    assert found.reproduced and found.stage == "fusion" and found.number == 2
    assert "ValueError" in found.signature and found.diffs["schedule"]
    assert not bisect_program([str(path), "99"]).reproduced


OWN = """\
import numpy as np
import suture

def mine(graph, inputs):
    run = graph.forward()
    return lambda *values: tuple(value + 1 for value in run(*values))

@suture.compile(SETTINGS)
def f(x):
    a = np.sqrt(np.abs(x) + 1)
    return np.maximum(a - x, 0.75) * a

x = np.linspace(-1, 1, 5)
right = np.maximum(np.sqrt(np.abs(x) + 1) - x, 0.75) * np.sqrt(np.abs(x) + 1)
if not np.allclose(f(x), right):
    raise ValueError("not right")
"""


@pytest.mark.parametrize(
    ("settings", "stage"),
    [
        ("backend=mine", "backend mine"),
        ('options={"inject_fault": "op=sub,kind=stale_value", "fusion": True, "kernel_opt": "O3"}', "fusion"),
        ("", ""),
    ],
)
def test_settings_that_the_program_names_itself_are_no_fault_of_capture(write_program, settings, stage):
    """One frame compiles in every run."""
    found = bisect_program([str(write_program(OWN.replace("SETTINGS", settings)))])
    assert found.stage == stage and found.reproduced == bool(stage), found


def test_the_command_tells_what_bisect_finds(run_python, tmp_path, write_program):
    path = real_case(backend="faulty:op=maximum,kind=segfault").save(tmp_path / "case")
    done = run_python("-m", "suture", "bisect", "--json", str(path))
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["stage"].startswith("backend faulty") and found["op"].startswith("maximum")
    repro = repro_file.write(repro_file.ReproFile(Case.load(path), ["x", "y"]), tmp_path, "repro")
    done = run_python("-m", "suture", "bisect", "--json", str(repro))
    assert done.returncode == 1 and json.loads(done.stdout)["op"] == found["op"], done.stderr
    done = run_python("-m", "suture", "bisect", str(path.parent))
    assert done.returncode == 1 and "CULPRIT    backend faulty" in done.stderr and done.stdout == ""
    assert run_python("-m", "suture", "bisect", "nothing.py").returncode == 2
    assert run_python("-m", "suture", "bisect", "--slow", "2", str(write_program("pass\n"))).returncode == 2
    assert run_python("-m", "suture", "bisect", str(write_program("pass\n"))).returncode == 0


# --- faults in the compiler itself -----------------------------------------------------------------------------------------


def fused_program(x, y):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - y, 0.75)
    c = (b.astype(np.float64) * 2).sum(axis=0)
    d = (a * 3 + b) * (a * 3)
    return c, d - a


def faulty_case(fault: str) -> Case:
    rng = np.random.default_rng(1)
    arguments = rng.uniform(-1, 1, (6, 5)), rng.uniform(-1, 1, 5)
    return case_of(fused_program, *arguments).with_(options={"inject_fault": fault})


FIRST_LINE = fused_program.__code__.co_firstlineno


def test_a_value_that_fusion_hands_over_wrongly_is_one_decision():
    found = bisect(faulty_case("op=sub,kind=stale_value"))
    assert found.stage == "fusion" and found.name == "sub into maximum" and found.monotone
    assert found.failing["fusion_limit"] == found.passing["fusion_limit"] + 1
    assert f"sub at {__file__}:{FIRST_LINE + 2}" in found.lines
    assert found.diffs["schedule"] and found.diffs["C++"] and not found.diffs["graph"]


def test_a_pass_that_loses_a_node_is_one_change():
    found = bisect(faulty_case("op=maximum,kind=drop_node,pass=common_subexpressions"))
    assert found.stage == "optional passes" and found.name.startswith("common_subexpressions: ")
    assert "maximum" in found.name and found.place == f"{__file__}:{FIRST_LINE + 2}"
    assert "-  maximum = maximum(" in found.diffs["graph"]


@pytest.mark.parametrize(
    "fault, kind, op",
    [
        ("op=maximum,kind=bad_code", "compile_error", "maximum"),
        ("op=sqrt,kind=toolchain_segfault", "segfault", "sqrt"),
        ("op=sqrt,kind=segfault", "segfault", "sqrt"),
        ("op=sqrt,kind=hang", "hang", "sqrt"),
        ("op=add,kind=wrong_operator", "wrong_value", "add"),
        ("op=maximum,kind=nan", "wrong_value", "maximum"),
        ("kind=wrong_dtype", "wrong_dtype", ""),
    ],
)
def test_a_fault_of_every_kernel_is_no_matter_of_passes_or_fusion(fault, kind, op):
    found = bisect(faulty_case(fault), seconds=4 if kind == "hang" else 20)
    assert found.stage == "kernels" and found.signature.startswith(kind)
    assert found.passing == {"backend": "lowered_eager"}
    assert op in found.op and found.place.startswith(__file__)
