"""What a failed compile leaves behind: minifier_launcher.py, and an exception whose last line says how to run it.

The compiler calls `on_failed_compile` when the option repro_after is set (driver/failed_compile.cpp). By repro_level:

    1  a failure writes repro.py: the whole graph, run in a new process before its path is told
    2  a failure writes minifier_launcher.py, which reduces the graph when it is run
    3  every graph is written before it is compiled, so that the file written last is the one that killed the process
    4  as 2; a result that differs from NumPy's is a failure, too

Files go to SUTURE_COMPILE_DEBUG_DIR, or to the working directory; none is ever overwritten. Whatever goes wrong here costs the
file, not the error: the exception says what happened first, and then why there is no file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture._config import config
from suture._errors import BackendCompilerFailed

if TYPE_CHECKING:
    from suture._core import Graph
    from suture._minify.data import Row
    from suture._minify.repro_file import ReproFile

# Options that say what to do about a failure, and not how the graph is compiled.
_NOT_OF_THE_CASE = frozenset(
    ("repro_after", "repro_level", "record", "strict", "disable", "backend", "numerics", "cache_dir", "perf", "perf_dir")
)


def output_directory() -> Path:
    """Where files for the user go."""
    if config.compile_debug_dir:
        return Path(config.compile_debug_dir)
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path(os.curdir)


def on_failed_compile(
    facts: str, graph: Graph, inputs: list[Any] | None, backend: Any, exception: BaseException | None
) -> BaseException | None:
    """What the frame raises instead of running eagerly; None when nothing failed (repro_level 3)."""
    failure = json.loads(facts)
    if "step" not in failure:
        _write_before(failure["case"], graph, inputs, backend)
        return None
    expected = _expected(failure, exception)
    headline = f"{failure['case']['backend']} raised {expected['exception']}: {expected['message']}"
    path, text = _leave_file(headline, failure, expected, graph, inputs, backend)
    raised = BackendCompilerFailed(f"{headline}\n\n{text}", failure["case"]["backend"], path)
    raised.__cause__ = exception
    return raised


def _expected(failure: dict[str, Any], exception: BaseException | None) -> dict[str, Any]:
    if exception is None:
        return {
            "kind": "compile_error",
            "exception": "InternalError",
            "message": f"{failure['step']}: {failure['message']}",
        }
    return {"kind": "compile_error", "exception": type(exception).__qualname__, "message": _text(exception)}


def _text(exception: BaseException) -> str:
    try:
        return str(exception)
    except Exception as error:
        return f"<its text raised {type(error).__name__}>"


def _leave_file(
    headline: str, failure: dict[str, Any], expected: dict[str, Any], graph: Graph, inputs: list[Any] | None, backend: Any
) -> tuple[str, str]:
    """The path, "" when there is none, and what the exception says about it."""
    from suture._minify import repro_file

    if inputs is None:
        return "", "No file was written: an input of the graph is computed by the function around it."
    stem = repro_file.REPRO if failure["level"] == 1 else repro_file.LAUNCHER
    try:
        repro = repro_of(failure["case"], graph, inputs, backend)
        repro.title, repro.expected = headline, expected
        path = repro_file.write(repro, output_directory(), stem)
    except OSError as error:
        return "", (
            f"No file was written: {error.strerror or error}: {error.filename or output_directory()}\n"
            "Set SUTURE_COMPILE_DEBUG_DIR to a directory that can be written."
        )
    except Exception as error:
        return "", f"No file was written: {type(error).__name__}: {error}"
    origin = failure["case"]
    what = f"The graph of {origin['function']} ({origin['file']}:{origin['line']}, {repro.origin['ops']} ops)"
    if stem == repro_file.REPRO:
        from suture._minify import certify

        return str(path), f"{what} and its inputs are in a file of their own. {certify.sentence(path)}\n  python {path}"
    return str(path), (
        f"{what} and its inputs are in a file that reduces itself to the ops that fail; run:\n  python {path}"
    )


def _write_before(case: dict[str, Any], graph: Graph, inputs: list[Any] | None, backend: Any) -> None:
    from suture import _startup
    from suture._minify import repro_file

    if inputs is None:
        return
    try:
        repro = repro_of(case, graph, inputs, backend)
        repro.title = f"graph {case['graph']}, written before it was compiled (repro_level 3)"
        repro_file.write(repro, output_directory(), repro_file.LAUNCHER)
    except OSError as error:
        _startup.warn(f"repro_level 3: no file was written: {error}")


def repro_of(case: dict[str, Any], graph: Graph, inputs: list[Any], backend: Any) -> ReproFile:
    """A file's content for the graph that `case` (case_facts in failed_compile.cpp) tells of; no failure is expected yet."""
    from suture import _core
    from suture._minify import backend_code, data, repro_file

    alone = _core.Graph.from_text(graph.text)
    values = graph.symbol_values(*inputs)
    return repro_file.ReproFile(
        graph=graph.text,
        forward=alone.code,
        inputs=data.rows_of(inputs[: len(graph.placeholders)], graph.placeholders) + symbol_rows(alone, values),
        backend=case["backend"],
        numerics=case["numerics"],
        options=config.values(options_of(case)) or {},
        origin=origin_of(case, op_count(graph)),
        backend_code=backend_code.code_for(case["backend"], backend),
    )


def options_of(case: dict[str, Any]) -> dict[str, str]:
    """Those that decide how a graph is compiled."""
    return {name: text for name, text in case["options"].items() if name not in _NOT_OF_THE_CASE}


def origin_of(case: dict[str, Any], ops: int) -> dict[str, Any]:
    return {key: case[key] for key in ("function", "file", "line", "compile_id")} | {"ops": ops}


def symbol_rows(graph: Graph, values: dict[str, int]) -> list[Row]:
    """A graph that stands alone takes an int for every symbol that no placeholder carries."""
    extra = [symbol for symbol in graph.symbols if symbol["input"] >= len(graph.placeholders)]
    return [
        {"name": symbol["name"], "kind": "int", "value": str(values[symbol["name"]])}
        for symbol in sorted(extra, key=lambda symbol: symbol["input"])
    ]


def op_count(graph: Graph) -> int:
    """Nodes that are neither inputs nor constants."""
    return sum(node["op"] not in ("placeholder", "constant", "symbol") for node in graph.nodes)
