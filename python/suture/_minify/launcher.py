"""What a failed compile leaves behind: minifier_launcher.py, and an exception whose last line says how to run it.

The compiler calls `on_graph` when the option repro_after is set (driver/failed_compile.cpp). By repro_level:

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
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture import _core
from suture._config import config
from suture._errors import BackendCompilerFailed
from suture._minify import lowered, plain_text
from suture._minify.case import Case
from suture._minify.signature import Outcome, Signature

if TYPE_CHECKING:
    from suture._core import Graph
    from suture._minify.repro_file import Place, ReproFile

# Options that say what to do about a failure, and not how the graph is compiled.
_NOT_OF_THE_CASE = frozenset(
    (
        "repro_after",
        "repro_level",
        "record",
        "strict",
        "disable",
        "backend",
        "numerics",
        "cache_dir",
        "perf",
        "perf_dir",
    )
)


def output_directory() -> Path:
    """Where files for the user go."""
    if config.compile_debug_dir:
        return Path(config.compile_debug_dir)
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path(os.curdir)


def on_graph(facts: str, graph: Graph, inputs: list[Any] | None, backend: Any, subject: Any) -> Any:
    """The hook of failed_compile.cpp, which says what it is called with and what becomes of its result."""
    told = json.loads(facts)
    if told["what"] == "runs":
        from suture._minify import checked_runs

        return checked_runs.checked(subject, Watched(told, graph, None, backend))
    watched = Watched(told, graph, inputs, backend)
    if told["what"] == "before":
        watched.write_before()
        return None
    outcome, words = _expected(told, subject)
    return watched.failure(outcome, words, subject)


def _expected(told: dict[str, Any], exception: BaseException | None) -> tuple[Outcome, str]:
    """The failure as a run of the case would end, and in words."""
    if exception is None:  # a defect of ours; a graph that is compiled alone raises it so
        message = f"{told['step']}: {told['message']}"
        return Outcome("compile_error", "compile", "RuntimeError", message), f"raised InternalError: {message}"
    name, message = type(exception).__name__, plain_text.of_exception(exception)
    return Outcome("compile_error", "compile", name, message), f"raised {name}: {message}"


class Watched:
    """A graph whose failures leave a file. `inputs`: of the call; None when they are not known."""

    def __init__(self, told: dict[str, Any], graph: Graph, inputs: list[Any] | None, backend: Any) -> None:
        self.case, self.level = told["case"], told["level"]
        self.graph, self._inputs, self._backend = graph, inputs, backend

    @property
    def is_native(self) -> bool:
        """Compiled by the native compiler itself; a function of the program may be called so, too."""
        return self.case["backend"] == "native" and self._backend is None

    def failure(self, outcome: Outcome, words: str, cause: BaseException | None) -> BackendCompilerFailed:
        """What the user gets instead of the failure; the file is written."""
        headline = f"{self.case['backend']} {words}"
        path, text = self._leave_file(headline, outcome)
        raised = BackendCompilerFailed(f"{headline}\n\n{text}", self.case["backend"], path)
        raised.__cause__ = cause
        return raised

    def with_inputs(self, inputs: list[Any]) -> Watched:
        return Watched({"case": self.case, "level": self.level}, self.graph, inputs, self._backend)

    def _leave_file(self, headline: str, outcome: Outcome) -> tuple[str, str]:
        """The path, "" when there is none, and what the exception says about it."""
        from suture._minify import repro_file

        if self._inputs is None:
            return "", "No file was written: an input of the graph is computed by the function around it."
        stem = repro_file.REPRO if self.level == 1 else repro_file.LAUNCHER
        try:
            # Results are judged when the level is 4 only; the file judges them in the same way.
            repro = self._repro({"compile": "compile", "compare": "accuracy"}.get(outcome.stage, "run"))
            repro.case = repro.case.with_(calls=calls_of(outcome.call))
            repro.title, repro.expected = headline, Signature.of(outcome).to_dict()
            path = repro_file.write(repro, output_directory(), stem)
        except OSError as error:
            return "", (
                f"No file was written: {error.strerror or error}: {error.filename or output_directory()}\n"
                "Set SUTURE_COMPILE_DEBUG_DIR to a directory that can be written."
            )
        except Exception as error:
            return "", f"No file was written: {type(error).__name__}: {error}"
        what = f"The graph of {self.case['function']} ({self.case['file']}:{self.case['line']}, {repro.case.op_count} ops) and its inputs are in a file"
        return str(path), f"{what} {self._of_file(repro, path)}\n  python {path}"

    def _of_file(self, repro: ReproFile, path: Path) -> str:
        """What the file is good for, and what it needs."""
        from suture._minify import backend_code, certify, repro_file

        if repro.backend_code and (reason := backend_code.missing_source(repro.backend_code)):
            place = repro_file.place_of(path)
            reduces = "runs it" if self.level == 1 else "reduces itself to the ops that fail"
            first = f"It cannot run yet: write the backend into make_backend() first, at {place.backend} ({plain_text.printable(reason)})."
            return "\n".join([f"that {reduces}.", first, *_data_notes(place), "Then run:"])
        notes = notes_of(repro, path)
        if self.level == 1:
            return "\n".join([f"of their own. {certify.in_words(certify.certify(path))}", *notes])
        reduces = "that reduces itself to the ops that fail"
        return "\n".join([f"{reduces}.", *notes, "Run:"]) if notes else f"{reduces}; run:"

    def write_before(self) -> None:
        from suture import _startup
        from suture._minify import repro_file

        if self._inputs is None:
            return
        try:
            repro = self._repro("run")
            repro.title = f"graph {self.case['graph']}, written before it was compiled (repro_level 3)"
            repro_file.write(repro, output_directory(), repro_file.LAUNCHER)
        except OSError as error:
            _startup.warn(f"repro_level 3: no file was written: {error}")

    def case_of(self, check: str) -> Case:
        assert self._inputs is not None
        return Case.of(self.graph, self._inputs, check=check, **settings_of(self.case))

    def compiler(self, case: Case) -> Callable[[Graph], Any]:
        """Compiles other graphs as this one was compiled; `case` has its settings."""

        def compile_graph(graph: Graph) -> Any:
            return _core.compile_graph(
                graph,
                case.objects(),
                backend=case.backend,
                backend_callable=self._backend,
                numerics=case.numerics,
                options=config.texts(dict(case.options)),
            )

        return compile_graph

    def _repro(self, check: str) -> ReproFile:
        from suture._minify import backend_code
        from suture._minify.repro_file import ReproFile

        made = self.case_of(check)
        code = backend_code.code_for(self.case["backend"], self._backend)
        made = made.with_(backend=backend_code.name_for(made.backend, code))
        return ReproFile(made, input_names(made), origin=origin_of(self.case, made.op_count), backend_code=code)


def notes_of(repro: ReproFile, path: Path) -> list[str]:
    """Sentences about what a file that was written needs beside it."""
    from suture._minify import backend_needs, repro_file

    needs = backend_needs.needs_of(repro.case.backend, repro.backend_code, path.parent)
    backend = [] if needs.is_in_the_file or needs.missing_source else [f"The backend: {needs.in_words()}."]
    return [*backend, *_data_notes(repro_file.place_of(path))]


def _data_notes(place: Place) -> list[str]:
    return [f"The data of inputs: {of_data(place.data_directory)}."] if place.data_directory else []


def of_data(directory: str) -> str:
    return f"in {directory}/ beside the file: copy the directory along"


MOST_CALLS = 16


def calls_of(number: int) -> int:
    """How often a case is called whose graph failed in call `number`; 0: not known. A reduction finds out whether fewer do."""
    return min(max(number, 1), MOST_CALLS)


def settings_of(case: dict[str, Any]) -> dict[str, Any]:
    """What decides how a graph is compiled."""
    texts = {name: text for name, text in case["options"].items() if name not in _NOT_OF_THE_CASE}
    return {"backend": case["backend"], "numerics": case["numerics"], "options": config.values(texts) or {}}


def origin_of(case: dict[str, Any], ops: int) -> dict[str, Any]:
    origin = {key: case[key] for key in ("function", "file", "line", "compile_id")} | {"ops": ops}
    after_lowering = case["options"].get("repro_after") in ("lowering", "aot")
    return origin | ({lowered.AFTER: "lowering"} if after_lowering else {})


def input_names(case: Case) -> list[str]:
    """The placeholders, then the symbols that no placeholder carries."""
    placeholders = case.graph.placeholders
    extra = [symbol for symbol in case.graph.symbols if symbol["input"] >= len(placeholders)]
    return [*placeholders, *(row["name"] for row in sorted(extra, key=lambda row: row["input"]))]
