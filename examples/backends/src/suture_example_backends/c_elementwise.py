"""A backend that compiles graphs of elementwise float operations with the system's C compiler.

How it works
    A graph is taken when every node is an input, a constant or an operation of OPS, and all arrays have one float dtype and one
    shape. It becomes a C function with one loop, compiled to a shared library in a temporary directory and called by ctypes.
    Everything else goes to Suture's own compiler.
What keeps it exact
    No contraction to fused multiply-add. The loop reports the floating-point conditions it met; where there is one, NumPy runs
    the graph, so that the user gets NumPy's warnings and errors. Arrays that are not contiguous go to NumPy too.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import suture
from suture import backends

Run = Callable[..., tuple[Any, ...]]

# Names of ops in graphs, and C with the operands for {0} and {1}. `f` is the suffix of float functions.
OPS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "square": "{0} * {0}",
    "abs": "fabs{f}({0})",
    "sqrt": "sqrt{f}({0})",
    "exp": "exp{f}({0})",
    "log": "log{f}({0})",
    "sin": "sin{f}({0})",
    "cos": "cos{f}({0})",
    "tanh": "tanh{f}({0})",
}
C_TYPES = {"float64": ("double", ""), "float32": ("float", "f")}


def c_elementwise(graph: suture.Graph, example_inputs: list[Any]) -> Run:
    """Elementwise float graphs as one C loop; other graphs go to the native compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    source = c_source(graph)
    if source is None or compiler is None:
        return backends.native(graph, example_inputs)
    return _runner(graph, _compiled(source, compiler))


def c_source(graph: suture.Graph) -> str | None:
    """The C text of a graph, or None when this backend is not for it."""
    arrays = [row for row in graph.nodes if row["shape"]]
    dtypes, shapes = {row["dtype"] for row in arrays}, {tuple(row["shape"]) for row in arrays}
    if len(dtypes) != 1 or len(shapes) != 1 or not dtypes <= C_TYPES.keys():
        return None
    c_type, suffix = C_TYPES[dtypes.pop()]
    values = _values(graph, c_type, suffix)
    if values is None or not set(graph.outputs) <= {row["name"] for row in arrays if row["kind"] != "Input"}:
        return None
    numbers = [f"double {row['name']}_n" for row in _numbers(graph)]
    inputs = [f"const {c_type}* {row['name']}_a" for row in arrays if row["op"] == "placeholder"]
    outputs = [f"{c_type}* out{i}" for i in range(len(graph.outputs))]
    stores = [f"    out{i}[i] = {name}_v;" for i, name in enumerate(graph.outputs)]
    return "\n".join(
        [
            "#include <fenv.h>",
            "#include <math.h>",
            "#include <stddef.h>",
            f"int run({', '.join(['size_t n', *inputs, *numbers, *outputs])}) {{",
            "  feclearexcept(FE_ALL_EXCEPT);",
            "  for (size_t i = 0; i < n; ++i) {",
            *values,
            *stores,
            "  }",
            "  return fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);",
            "}",
            "",
        ]
    )


def _numbers(graph: suture.Graph) -> list[dict[str, Any]]:
    return [row for row in graph.nodes if row["op"] == "placeholder" and not row["shape"]]


def _values(graph: suture.Graph, c_type: str, suffix: str) -> list[str] | None:
    """One statement per node; None when a node is none that this backend knows."""
    constants = {node["name"]: node["attrs"].get("value") for node in json.loads(graph.to_json())["nodes"]}
    lines = []
    for row in graph.nodes:
        name = row["name"]
        if row["op"] == "placeholder" and row["shape"]:
            text = f"{name}_a[i]"
        elif row["op"] == "placeholder" and row["type"] in ("py_float", "py_int"):
            text = f"({c_type}){name}_n"
        elif (
            row["op"] == "constant" and row["type"] in ("py_float", "py_int") and math.isfinite(float(constants[name]))
        ):
            text = f"({c_type}){float(constants[name])!r}"
        elif row["op"] in OPS and row["shape"]:
            text = OPS[row["op"]].format(*(f"{operand}_v" for operand in row["operands"]), f=suffix)
        else:
            return None
        lines.append(f"    const {c_type} {name}_v = {text};")
    return lines


def _compiled(source: str, compiler: str) -> Any:
    """The function `run`. subprocess.CalledProcessError when the compiler refuses the text: Suture then runs eagerly and says so."""
    with tempfile.TemporaryDirectory(prefix="suture_c_") as directory:
        text, library = Path(directory, "graph.c"), Path(directory, "graph.so")
        text.write_text(source)
        flags = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
        subprocess.run(
            [compiler, *flags, str(text), "-o", str(library), "-lm"], check=True, capture_output=True, timeout=60
        )
        return ctypes.CDLL(str(library)).run  # stays mapped when the file is gone


def _runner(graph: suture.Graph, run: Any) -> Run:
    under_numpy = graph.forward()
    is_array = [bool(row["shape"]) for row in graph.nodes if row["op"] == "placeholder"]
    count = len(graph.outputs)

    def call(*inputs: Any) -> tuple[Any, ...]:
        given = list(zip(is_array, inputs, strict=False))  # further inputs carry sizes only
        arrays = [value for array, value in given if array]
        first = arrays[0]
        if not all(each.flags.c_contiguous and each.shape == first.shape for each in arrays):
            return under_numpy(*inputs)
        outputs = [np.empty(first.shape, first.dtype) for _ in range(count)]
        numbers = [ctypes.c_double(float(value)) for array, value in given if not array]
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
        results = [ctypes.c_void_p(each.ctypes.data) for each in outputs]
        if run(ctypes.c_size_t(first.size), *pointers, *numbers, *results):
            return under_numpy(*inputs)
        return tuple(outputs)

    return call
