"""The JSON of suture.explain and `suture check` is what its JSON Schema says: every key, every type, in both directions.

The check below knows the words that our schemas use, and refuses a schema that uses another one.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suture
from suture import _core

ANNOTATIONS = {"$schema", "$defs", "title", "description"}
CHECKED = {
    "$ref",
    "type",
    "const",
    "enum",
    "pattern",
    "minimum",
    "required",
    "properties",
    "additionalProperties",
    "items",
}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def is_type(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


class Checker:
    """Problems of values against a schema, and the keys that were met. Keys that are not documented are problems."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema, self.met = schema, set[str]()

    def problems(self, value: Any) -> list[str]:
        return self._check(value, self.schema, "$", "$")

    def _check(self, value: Any, schema: dict[str, Any], where: str, definition: str) -> list[str]:
        assert schema.keys() <= ANNOTATIONS | CHECKED, f"{where}: unknown words {schema.keys() - ANNOTATIONS - CHECKED}"
        if ref := schema.get("$ref"):
            name = ref.removeprefix("#/$defs/")
            return self._check(value, self.schema["$defs"][name], where, name)
        out = self._check_value(value, schema, where)
        if isinstance(value, list):
            for i, item in enumerate(value):
                out += self._check(item, schema["items"], f"{where}[{i}]", definition)
        if isinstance(value, dict):
            out += self._check_object(value, schema, where, definition)
        return out

    def _check_value(self, value: Any, schema: dict[str, Any], where: str) -> list[str]:
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        assert types or "const" in schema or "enum" in schema, f"{where}: nothing is said of the value"
        wrong = {
            "type": bool(types) and not any(is_type(value, name) for name in types),
            "const": "const" in schema and value != schema["const"],
            "enum": "enum" in schema and value not in schema["enum"],
            "pattern": isinstance(value, str) and not re.search(schema.get("pattern", ""), value),
            "minimum": is_type(value, "number") and value < schema.get("minimum", value),
        }
        return [f"{where}: {word} of {value!r:.80}" for word, failed in wrong.items() if failed]

    def _check_object(self, value: dict[str, Any], schema: dict[str, Any], where: str, definition: str) -> list[str]:
        out = [f"{where}: no {key!r}" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            each = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if each is None:
                out.append(f"{where}: {key!r} is not documented")
                continue
            self.met.add(f"{definition}.{key}")
            out += self._check(item, each, f"{where}.{key}", definition)
        return out

    def documented(self) -> set[str]:
        objects = {"$": self.schema, **self.schema["$defs"]}
        return {f"{name}.{key}" for name, each in objects.items() for key in each.get("properties", {})}


def load(name: str) -> dict[str, Any]:
    return json.loads((files("suture") / "schemas" / name).read_text(encoding="utf-8"))


def branchy(x):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return y


def loop(x):
    for i in range(3):
        x = x + i
        print(end="")
    return x


def skipped(x):
    yield x + 1


def overflowing(x):
    return np.exp(x) + 1


def differences(x):
    y = x * 2
    return y[1:] - y[:-1]


def explained(function: Any, *calls: tuple[Any, ...], **settings: Any) -> dict[str, Any]:
    compiled = suture.compile(function, **settings)
    for arguments in calls:
        compiled(*arguments)
    return suture.explain(compiled).to_dict()


def broken_backend(graph, example_inputs):
    raise RuntimeError("no")


def called_by_its_backend() -> dict[str, Any]:
    def backend(graph, example_inputs):
        compiled(*example_inputs)
        return graph.forward()

    compiled = suture.compile(overflowing, backend=backend)
    compiled(np.ones(3))
    return suture.explain(compiled).to_dict()


def explanations() -> dict[str, dict[str, Any]]:
    """Between them they hold every key there is."""
    sizes = [(np.ones(size),) for size in range(2, 13)]
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning):
        replayed = explained(overflowing, (np.full(3, 1e4),))
    return {
        "no call": explained(branchy),
        "graphs": explained(branchy, sizes[0], sizes[1], sizes[2]),
        "loop": explained(loop, sizes[0]),
        "skip": explained(skipped, sizes[0]),
        "limit": explained(branchy, *sizes, dynamic=False),
        "symbols": explained(branchy, sizes[0], dynamic=True),
        "replay": replayed,
        "backend": explained(branchy, sizes[0], backend=broken_backend),
        "during compile": called_by_its_backend(),
        "hint": explained(differences, (np.linspace(0, 1, 10_000),)),
        "internal error": explained(branchy, sizes[0], options={"inject_fault": "kind=pass_error"}),
    }


def test_explanations_are_what_the_schema_says():
    checker = Checker(load("explain_1.json"))
    for name, data in explanations().items():
        assert checker.problems(data) == [], name
    assert checker.documented() - checker.met == set(), "documented, never seen"


def test_records_without_their_callable_leave_out_what_is_documented_to_be_absent():
    compiled = suture.compile(branchy)
    compiled(np.ones(3))
    data = suture.Explanation(_core.explain_records(compiled), None).to_dict()
    schema = load("explain_1.json")
    assert Checker(schema).problems(data) == []
    assert schema["properties"].keys() - data.keys() == schema["properties"].keys() - set(schema["required"])


CLEAN = (
    "import numpy as np, suture\n@suture.compile\ndef f(x): return np.exp(x) + 1\nfor _ in range(3): f(np.ones(8))\n"
)
MANY_CALLS = "for _ in range(40): f(np.ones(8))\n"


def test_reports_of_check_are_what_the_schema_says(run_python, seed_program, tmp_path):
    programs = {"clean.py": CLEAN, "many.py": CLEAN + MANY_CALLS, "raises.py": "raise KeyError('x')\n"}
    for name, source in programs.items():
        (tmp_path / name).write_text(source)
    checker = Checker(load("check_1.json"))
    for arguments, code in {
        ("--compare", str(seed_program)): 1,
        ("--compare", str(tmp_path / "clean.py")): 0,
        ("--compare", str(tmp_path / "many.py")): 0,
        ("--fail-on", "never", str(seed_program)): 0,
        (str(tmp_path / "raises.py"),): 3,
    }.items():
        done = run_python("-m", "suture", "check", "--json", "--quiet", *arguments)
        assert done.returncode == code, done.stderr
        assert checker.problems(json.loads(done.stdout)) == [], arguments
    assert checker.documented() - checker.met == set(), "documented, never seen"


def test_values_of_tables_are_those_of_the_sources():
    root = Path(__file__).resolve().parents[2] / "src"
    stations = re.findall(r"^SUTURE_STATION\((\w+),", (root / "toolbox/clinic/stations.def").read_text(), re.MULTILINE)
    finding = load("check_1.json")["$defs"]["finding"]["properties"]
    assert finding["station"]["enum"] == stations

    def names(header: str, array: str) -> list[str]:
        return re.findall(r'"(\w+)"', re.search(rf"{array} = {{(.*?)}};", (root / header).read_text(), re.DOTALL)[1])

    assert finding["severity"]["enum"] == names("trace/severity.h", "kSeverityNames")
    kinds = load("explain_1.json")["$defs"]["graph"]["properties"]["kind"]["enum"]
    assert kinds == [*names("trace/frame_kind.h", "kFrameKindNames"), ""]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda data: data.pop("op_count"), "$: no 'op_count'"),
        (lambda data: data.update(new=1), "$: 'new' is not documented"),
        (lambda data: data.update(graph_count=1.5), "$.graph_count: type of 1.5"),
        (lambda data: data.update(graph_count=True), "$.graph_count: type of True"),
        (lambda data: data.update(line=-1), "$.line: minimum of -1"),
        (lambda data: data.update(schema="suture.explain/2"), "$.schema: const of 'suture.explain/2'"),
        (lambda data: data.update(numerics="loose"), "$.numerics: enum of 'loose'"),
        (lambda data: data["ops_per_graph"][0].append(1), "$.ops_per_graph[0][2]: type of 1"),
        (lambda data: data["graphs"][0].update(compile_id="0"), "$.graphs[0].compile_id: pattern of '0'"),
        (
            lambda data: data["compile_times"]["phases"].update(capture="1"),
            "$.compile_times.phases.capture: type of '1'",
        ),
    ],
)
def test_the_check_finds_what_differs(spoil, problem):
    data = explained(overflowing, (np.ones(3),))
    checker = Checker(load("explain_1.json"))
    assert checker.problems(data) == []
    spoil(data)
    assert checker.problems(data) == [problem]


def test_a_schema_with_an_unknown_word_is_refused():
    with pytest.raises(AssertionError, match="unknown words"):
        Checker({"type": "object", "minProperties": 1, "$defs": {}}).problems({})
