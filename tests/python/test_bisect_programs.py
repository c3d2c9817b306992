"""`suture bisect` of a program that compiles several functions, one of them several times: what is compared is one compile."""

from __future__ import annotations

import json

from suture._minify import program_file
from suture._minify.bisect import FULL, bisect_program
from suture._minify.bisect_text import text_of
from suture._minify.compile_texts import Texts, by_compile, diffs_of, one_sided, paired
from suture._minify.program_file import ProgramFile
from suture._minify.variants import ProgramSubject

# In every run three frames compile twice: for 4 elements, then for any number. The second compile of f is the first that shows.
SEVERAL = """\
import numpy as np
import suture

@suture.compile
def before(x):
    return np.sin(x) + np.abs(x) * 2 - np.cos(x) + np.sqrt(np.abs(x)) * 3

@suture.compile(options={"inject_fault": "kind=stale_value,op=sub"})
def f(x):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - x, 0.75)
    return (b * 2).sum(axis=0), b - a

@suture.compile
def behind(x):
    return np.sin(x) + np.abs(x) * 2 - np.cos(x) + np.sqrt(np.abs(x)) * 3

for n in (4, 5, 6):
    x = np.linspace(-1, 1, n)
    before(x)
    result = f(x)
    behind(x)
    a = np.sqrt(np.abs(x) + 1)
    assert n == 4 or np.allclose(result[1], np.maximum(a - x, 0.75) - a)
"""


def test_failing_and_passing_variant_are_compared_compile_by_compile(write_program):
    path = write_program(SEVERAL)
    found = bisect_program([str(path)])
    assert (found.stage, found.name) == ("fusion", "sub into maximum")
    assert found.compile == f"compile 1/1 of f ({path}:8)"
    assert "float64[s0]" in found.diffs["schedule"] and "float64[4]" not in found.diffs["schedule"]
    assert "int64_t s0" in found.diffs["C++"] and "vm_sin" not in found.diffs["C++"]
    others = {each.compile.split()[1]: each.diffs for each in found.other_diffs}
    assert others.keys() == {"0/0", "0/1", "1/0", "2/0", "2/1"}
    assert "float64[4]" in others["1/0"]["schedule"] and "float64[s0]" not in others["1/0"]["schedule"]
    assert found.lines == [f"sub at {path}:11", f"maximum at {path}:11"]
    text = text_of(found)
    assert f"--- what differs in the schedule of {found.compile} (- passing, + failing)" in text
    assert f"in         {found.compile}" in text
    assert (
        text.count("--- what differs in the schedule") == 1
        and "Other than in the passing variant, too: compile 0/0" in text
    )


def event(name: str, number: str | None, process: int = 0, **fields: object) -> dict[str, object]:
    return {"event": name, "compile_id": number, "process": process, "fields": fields}


def test_events_are_of_the_compile_that_they_name():
    start = {"file": "prog.py", "line": 9}
    records = [
        event("frame_start", "0/0", function="f", **start),
        event("frame_start", "1/0", function="g", **start),
        event("lowered", "1/0", lowered="graph g", before="", after="schedule g"),
        event("lowered", "0/0", lowered="graph f", before="", after="schedule f"),
        event("frame_start", "0/1", function="f", **start),  # comes to no graph
        event("frame_start", "0/1", process=1, function="f", **start),
        event("lowered", "0/1_1", process=1, lowered="another", before="", after=""),
        event("lowered", None, lowered="of no frame", before="", after=""),
    ]
    made = by_compile(records)
    assert [(texts.title, texts.graph) for texts in made] == [
        ("compile 1/0 of g (prog.py:9)", "graph g"),
        ("compile 0/0 of f (prog.py:9)", "graph f"),
        ("compile 0/1_1 of f (prog.py:9) in process 2", "another"),
    ]
    assert [texts.frame for texts in made] == [1, 0, 0]


def test_a_compile_without_a_partner_is_compared_with_nothing():
    first, second = Texts(compile="0/0", graph="a", cpp="x"), Texts(compile="0/1", graph="b")
    passing = [Texts(compile="0/0", graph="c")]
    (before, _), (nothing, _) = paired(passing, [first, second])
    assert diffs_of(before, first) == {
        "graph": "--- passing\n+++ failing\n@@ -1 +1 @@\n-c\n+a",
        "schedule": "",
        "C++": "",
    }
    assert one_sided(before, first) == ["C++"] and one_sided(nothing, second) == ["graph"]


# No compile of the one frame comes to its end.
BROKEN = """\
import numpy as np
import suture

suture.config.strict = True

@suture.compile(options={"inject_fault": "kind=bad_code"})
def f(x):
    return np.sqrt(x)

f(np.ones(3))
"""


def test_a_program_whose_compile_fails_has_no_diff_of_what_there_is_on_one_side_only(write_program):
    found = bisect_program([str(write_program(BROKEN))])
    assert "InternalError: Suture failed in toolchain" in found.signature, "not the last line of its message"
    assert found.reproduced and found.stage == "kernels" and not any(found.diffs.values())
    assert "its compile ends behind the schedule: while C++ is generated or compiled" in found.notes


# One frame compiles in every run.
HELD = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "kind=stale_value,op=sub"})
def f(x):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - x, 0.75)
    return (b * 2).sum(axis=0), b - a

f(np.linspace(-1, 1, 5))
"""


def test_lines_of_a_program_in_a_file_are_those_of_the_file(tmp_path):
    """It runs as a copy in a directory of its own."""
    path = program_file.write(ProgramFile(HELD, "other_result", "f"), tmp_path, "held")
    (made,) = ProgramSubject([str(path), "query"], untold=77).compiles(FULL)
    lines = path.read_text().splitlines()
    at = lines.index("    b = np.maximum(a - x, 0.75)") + 1
    assert made.places["maximum"] == f"{path}:{at}"
    assert made.title.startswith(f"compile 0/0 of f ({path}:{at - 3})")


WRONG = """\
import sys
import numpy as np
import suture

@suture.compile(options={"inject_fault": sys.argv[1]})
def f(x, mode):
    y = np.sin(x) + 1
    if mode == "double":
        y = y * 2
    return np.maximum(y, 0.5) - x

for mode in ("single", "double"):
    f(np.linspace(-1, 1, 6), mode)
"""


def test_a_program_that_ends_in_order_is_told_how_its_results_are_looked_at(run_python, write_program):
    """One frame compiles, for each of two modes."""
    path = write_program(WRONG)
    fault = "kind=wrong_value,op=maximum,error=0.5"
    done = run_python("-m", "suture", "bisect", str(path), fault)
    assert done.returncode == 0
    assert (
        f"it ends in order. Whether its results are NumPy's: suture bisect --goal other_result {path} {fault}"
        in done.stderr
    )
    found = json.loads(
        run_python("-m", "suture", "bisect", "--json", "--goal", "other_result", str(path), fault).stdout
    )
    assert (found["exit_code"], found["signature"], found["stage"]) == (1, "other_result of f", "kernels")
    assert found["hint"] == f"which op: SUTURE_REPRO_AFTER=capture SUTURE_REPRO_LEVEL=4 python {path} {fault}"


def test_the_guards_are_named_when_every_graph_is_right(run_python, write_program):
    path = write_program(WRONG)
    done = run_python("-m", "suture", "bisect", "--goal", "other_result", str(path), "kind=drop_guard")
    assert done.returncode == 1 and "CULPRIT    guards" in done.stderr
    assert "at fault: the guards of entry 0 of f (line 5): it was compiled in call 1 and served call 2" in done.stderr
    assert "no guard looks at mode: 'single' there, 'double' here" in done.stderr


def test_a_file_and_the_command_name_the_same_culprit(run_python, tmp_path):
    held = ProgramFile(WRONG, "other_result", "f", ["kind=drop_guard"])
    path = program_file.write(held, tmp_path, "repro")
    itself, command = run_python(str(path), "bisect"), run_python("-m", "suture", "bisect", str(path))
    assert itself.returncode == command.returncode == 1
    assert itself.stdout == command.stderr and "CULPRIT    guards" in itself.stdout


def test_goals_and_cases_do_not_go_together(run_python, write_program, tmp_path):
    path = write_program(WRONG)
    wrong = run_python("-m", "suture", "bisect", "--goal", "no_such_goal", str(path))
    assert wrong.returncode == 2 and "'no_such_goal' is no goal" in wrong.stderr
    slow = run_python("-m", "suture", "bisect", "--slow", "2", str(path))
    assert slow.returncode == 2 and "of a program: --goal slow=2" in slow.stderr
