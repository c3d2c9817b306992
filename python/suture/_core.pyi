"""The compiler, as Python sees it.

Everything that leaves the compiler is an event, and an event is one line of JSON: what a callback receives, what
`explain_records` returns and what a trace file holds is the same text. Its form:

    {"schema": 1, "event": "graph_break", "compile_id": "0/1", "time": 1764430000.123, "fields": {...}}

exactly as to_json_line (src/trace/json_line.cpp) writes it; `compile_id` is CompileId.str() or null.
"""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Protocol, TypedDict

import numpy as np

version: str
schema_version: int  # kEventSchemaVersion

def supported_python() -> bool:
    """True when this Python version has opcode tables. When False, `compile` still works and everything runs eagerly."""

def supported_versions() -> list[str]:
    """["3.11"]"""

# --- compiled callables -------------------------------------------------------------------------------------------------

class JitCallable:
    """What suture.compile returns. Stands in for the function: __name__, __doc__, __wrapped__, __module__, signature."""

    __wrapped__: Callable[..., Any]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any: ...
    def status(self) -> Status: ...
    def reset(self) -> None: ...

class GuardCost(TypedDict):
    check: str
    source: str
    kind: str
    place: str  # file:line that made it; ""
    removal: str  # what makes it unnecessary; ""
    tested: int  # calls for which it was tested
    failures: int  # calls that it refused
    # With warm caches: the least of the samples that are taken when the entry is made and at every guard_sample_every-th hit.
    ns: float | None

class Entry(TypedDict):
    number: int
    hits: int
    graph: str  # "" when the entry has no graph
    op_count: int
    guards: list[str]  # GuardTree.describe, evaluation order
    guard_costs: list[GuardCost]  # of each of `guards`
    guard_ns: float | None  # all of them together
    kernels: list[str]
    compile_ms: float

class Frame(TypedDict):
    frame: int  # frame id, first number of the compile id
    function: str  # qualified name; resume functions: "__resume_at_88_2"
    file: str
    line: int
    kind: str  # function | resume | iteration | callee
    calls: int
    hits: int
    compiles: int
    recompiles: int
    during_compile: int  # calls that ran in the interpreter because the function was being compiled, by another thread or around them
    compile_ms: float
    time_ms: float  # inclusive time of all calls, first (compiling) calls excluded; 0 unless `profile(True)`
    first_ms: float  # the same for calls during which anything was compiled
    steady_calls: int  # how many calls time_ms is the time of
    replays: int
    skipped: bool
    reason: str  # why skipped; ""
    entries: list[Entry]

class Status(TypedDict):
    function: str
    file: str
    line: int
    backend: str
    numerics: str
    graph_count: int  # graphs of the newest entry chain: distinct graphs over all frames' newest entries
    graph_break_count: int  # distinct break places
    recompiles: int  # sum over frames
    during_compile: int  # sum over frames
    hits: int
    entries: list[Entry]  # of the function itself
    guards: list[str]  # of its newest entry
    skipped: bool
    reason: str
    injected_faults: list[str]  # what the option inject_fault made wrong on purpose, as sentences
    frames: list[Frame]  # the function first, then its resume, iteration and callee frames in order of creation

def compile(
    fn: Callable[..., Any],
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str = "native",
    backend_callable: Callable[[Graph, list[Any]], Callable[..., tuple[Any, ...]]] | None = None,
    numerics: str = "exact",
    options: dict[str, str] | None = None,
) -> JitCallable:
    """Wraps a Python function (types.FunctionType). `backend` "native" needs no callable; any other name comes with one.

    With the option `disable` on, or on an unsupported Python, calls go straight to the function (calls and time are counted).
    `options` override the option table for this function; unknown names or bad values raise ValueError.
    Callables with `_suture_disable` in their __dict__ are never captured or inlined (break SB204); the Python function
    `suture.graph_break` is recognised by `_suture_graph_break` in its __dict__ (break SB205, first argument = message).
    """

def is_compiled(obj: object) -> bool: ...
def wrapped(obj: JitCallable) -> Callable[..., Any]: ...
def settings(obj: JitCallable) -> dict[str, Any]:
    """The keyword arguments `compile` was given."""

def status(obj: JitCallable) -> Status: ...
def explain_records(obj: JitCallable) -> list[str]:
    """All events recorded for this callable and its resume, iteration and callee frames since it was made or reset, in
    order, as JSON lines. Recorded always (kernel text included), so that explain needs no second run."""

def assembly_records(obj: JitCallable) -> list[str]:
    """Events kernel_assembly of the entries that are there now, made for this call."""

def guard_records(obj: JitCallable) -> list[str]:
    """Events guard_costs of the entries that are there now, made for this call."""

def step_with(
    hook: Callable[[Callable[..., Any], str, Callable[..., Any] | None], Callable[..., Any] | None] | None,
) -> None:
    """While there is a hook, compiled functions work under a tracer as they do without one, and hook(function, compile id,
    transformed function or None) may give the function to run in place of the transformed one, or of the function itself when
    it is one graph. The hook runs untraced."""

def live_compiled() -> list[JitCallable]:
    """What suture.compile has returned and is still there, oldest first."""

class GuardFunctionRow(TypedDict):
    compile_id: str
    name: str  # __guard_0_for_f
    text: str  # of a module that defines it; `_K` in it is a list for `objects`
    objects: list[Any]  # weak references stay weak
    compiled: JitCallable  # whose entry it is
    function: Callable[..., Any]  # what that wraps

def guard_functions(obj: JitCallable) -> list[GuardFunctionRow]:
    """Of each entry of the function and of the functions that it made, printed from the records that guard it."""

class CompiledEntry(TypedDict):
    compile_id: str
    entry: int
    kind: str  # function | resume | iteration | callee
    function: FunctionType  # what was captured
    transformed: FunctionType | None  # what runs instead; None: the frame is one graph, or runs in the interpreter
    graph: str  # runnable NumPy source of the captured graph; "" when there is none
    eager_reason: str  # not empty: these inputs run the function itself

def compiled_entries(obj: JitCallable) -> list[CompiledEntry]:
    """Of the function and of the functions that it made, in order of frames and compiles."""

def guard_code_records(obj: JitCallable) -> list[str]:
    """Events guard_code of the entries that are there now, made for this call."""

def bound_arguments(obj: JitCallable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """As the guards see them: positional, keyword-only, the *args tuple, the **kwargs dict. TypeError when they do not fit."""

def failing_guard(obj: JitCallable, entry: int, bound: tuple[Any, ...]) -> int | None:
    """Number of the first guard of an entry that refuses a call; None when it is accepted. Runs nothing."""

def reset() -> None:
    """Forgets every compiled entry in the process; counters and records too. Compiled callables stay usable: each is a new frame
    from then on, with a number of its own in compile ids."""

def reset_callable(obj: JitCallable) -> None:
    """reset() for one callable and what it made."""

def before_reset(hook: Callable[[JitCallable], None] | None) -> None:
    """hook(callable) before the entries, counters and records of a callable are forgotten. With reset(), before anything is."""

def mark_dynamic(array: np.ndarray, dim: int, min: int | None = None, max: int | None = None) -> None: ...
def mark_static(array: np.ndarray, dim: int) -> None: ...
def watch_calls(hook: Callable[[Any, tuple[Any, ...]], Any] | None) -> None:
    """While profiling is on: hook(function, bound arguments) before every outermost call of a compiled function gives None or
    an object whose done(result, error) is called after it; error is the name of the exception's type, or "".
    """

def profile(enable: bool) -> None:
    """Per-frame timing of calls (Frame.time_ms, first_ms), and measured costs in performance hints: a graph that is compiled
    meanwhile runs a few more times on the inputs of its first call. Calls of profile(True) nest."""

# --- options ------------------------------------------------------------------------------------------------------------

def option_table() -> list[tuple[str, str, str, str, str, str, str]]:
    """(name, type, default text, environment variable, allowed values, doc, scope) per line of options.def. Allowed values
    are in words; "": every value of the type. Scope: function | process | output."""

def get_option(name: str) -> str: ...
def set_option(name: str, text: str) -> None:
    """ValueError: unknown name or a value that is not allowed, with what is allowed and the nearest name."""

def check_option(name: str, text: str) -> str:
    """The text that set_option would keep, with its errors; nothing is set."""

def option_problems() -> list[str]:
    """Sentences about environment variables that could not be used."""

# --- events and tables --------------------------------------------------------------------------------------------------

def subscribe(events: Sequence[str] | None, callback: Callable[[str], None]) -> int:
    """Calls back with one JSON line per event; None = all events but kernel_assembly, which costs. Called with the GIL held,
    from the thread that compiles. An exception in the callback is reported with sys.unraisablehook and does not reach the program; KeyboardInterrupt and
    what else is not an Exception is raised at the end of the compile, or at the next instruction of Python."""

def unsubscribe(token: int) -> None: ...
def trace_start(
    directory: str, facts: dict[str, str], on_trouble: Callable[[str], None], with_assembly: bool = False
) -> None:
    """Writes every event, kernel_assembly only `with_assembly`, to a file of this process in `directory`, without Python; the former trace stops. `facts` go into
    the first line. `on_trouble` is told once what went wrong; nothing is written after that."""

def trace_stop() -> None: ...
def trace_path() -> str:
    """The file that is being written; "" before the first event."""

def event_table() -> list[tuple[str, str]]:
    """(name, doc)"""

def shown_events() -> list[str]:
    """Events that people must see without any setting."""

def event_field_table() -> list[tuple[str, str, str, str]]:
    """(event, field, type, doc)"""

def break_table() -> list[tuple[str, str, str, str, str, str, str]]:
    """(code "SB101", enumerator, title, explanation template, hints separated by " | ", station of `suture check`,
    severity)"""

def guard_table() -> list[tuple[str, str, str, str, str]]:
    """(name, check, failure sentence, action that stops the recompile), with their placeholders"""

def pass_table() -> list[tuple[str, bool, str]]:
    """(name, required, doc) in pipeline order"""

def fault_tables() -> dict[str, list[tuple[str, ...]]]:
    """The language of the option inject_fault: kinds (name, stage, doc), keys (name, default, doc), words (name, doc)."""

def python_math_table() -> list[tuple[str, str]]:
    """(name, op) per line of python_math.def"""

def numpy_table() -> list[tuple[str, str, str]]:
    """(name, op, parameters) per line of numpy_names.def; parameters are NumPy's own, comma separated, keywords only after *."""

def fusion_reason_table() -> list[tuple[str, str, str]]:
    """(name, sentence, advice)"""

def perf_hint_table() -> list[tuple[str, str, str, str]]:
    """(name, title, why, advice)"""

def op_table() -> list[dict[str, Any]]:
    """One dict per line of ops.def: enumerator, name, kind, level, arity, numpy, rule, ulp64, ulp32, doc."""

def register_exceptions(graph_break: type[RuntimeError], internal_error: type[RuntimeError]) -> None:
    """`fullgraph=True`: raise graph_break(message, record); strict mode: raise internal_error(message, record).
    message = Break::message(); record = the JSON line of the graph_break / internal_error event. Called once at import;
    before it, RuntimeError(message) is raised."""

# --- graphs -------------------------------------------------------------------------------------------------------------

class Graph:
    """What a backend receives: the captured graph. Immutable."""

    name: str
    nodes: list[dict[str, Any]]
    """name, op, kind (see op_table), target, operands: list[str], dtype, shape: list[str], type: str, file, line"""

    placeholders: list[str]
    outputs: list[str]
    code: str  # to_numpy_source().text
    text: str  # to_text()
    def print_readable(self) -> str: ...
    def to_json(self) -> str: ...
    def forward(self) -> Callable[..., tuple[Any, ...]]:
        """The graph under NumPy, as a function placed at the user's file and lines (the same one that replay uses)."""

    def eval(self, *inputs: Any) -> tuple[Any, ...]:
        """forward()(*inputs)"""

    def lowered(self) -> str:
        """Text of the lowered graph."""

    def interpreter(self) -> Callable[..., tuple[Any, ...]]:
        """The lowered graph under the reference interpreter. Raises NotImplementedError when it cannot be lowered."""

    @staticmethod
    def from_text(text: str) -> Graph:
        """The inverse of to_text; places may be left out. ValueError: text that cannot be read or is no lawful graph.

        Its inputs are the placeholders', then one int for every symbol that is no whole axis of a placeholder."""

    def to_text(self) -> str: ...
    def canonical_text(self) -> str:
        """Text without what no compiler looks at: names and places."""

    def canonical_hash(self) -> str:
        """SHA-256 of canonical_text."""

    def subgraph(
        self,
        keep: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        instead: dict[str, str] = ...,
        constants: dict[str, bool | int | float] = ...,
        types: dict[str, str] = ...,
        symbols: dict[str, int] = ...,
        fixed: Sequence[str] = (),
    ) -> tuple[Graph, list[tuple[str, str]]]:
        """A part of the graph that runs alone (src/graph/subgraph.h): the ops in `keep` (None: all), returning `outputs` (None:
        the graph's own) and whatever nobody reads.

        instead: readers of the key read the value, an earlier node. constants: the node is this number. types: of inputs, as
        graph text has them. symbols: new values of symbols; fixed: symbols that become constants.

        Also returns, per placeholder, the node of this graph whose value it takes and the store (or "") right behind which
        that value is to be taken. ValueError when there is no such part."""

    input_types: list[dict[str, Any]]
    """Per placeholder: name, kind (array, numpy_scalar, py_bool, py_int, py_float), dtype, shape and strides (in elements) of
    the captured call, symbolic_shape (texts), writeable, type (text)."""

    symbols: list[dict[str, Any]]
    """Per symbol: name, source, hint, min, max, is_size, and which input carries it: input, axis (-1: the int itself), stride."""

    def symbol_values(self, *inputs: Any) -> dict[str, int]:
        """The value every symbol has for these inputs."""

    def check_inputs(self, *inputs: Any) -> None:
        """TypeError or ValueError unless the graph is for inputs like these, as the guards of a frame see to."""

def compile_graph(
    graph: Graph,
    inputs: Sequence[Any] = (),
    *,
    backend: str = "native",
    backend_callable: Callable[[Graph, list[Any]], Callable[..., tuple[Any, ...]]] | None = None,
    numerics: str = "exact",
    options: dict[str, str] | None = None,
) -> Callable[..., tuple[Any, ...]]:
    """Compiles a graph on the path that captured graphs take; `inputs` are the examples that other backends get. What a backend
    raises is raised, and RuntimeError for a defect of the compiler. The callable trusts its inputs: see Graph.check_inputs."""

def compile_ahead(graphs: Sequence[tuple[Graph, str, dict[str, str] | None]]) -> None:
    """Compiles the kernels of several graphs (graph, numerics, options) in one run of the C++ compiler, into the disk cache: there
    compile_graph(backend="native") finds them. Does nothing without a cache. A graph that cannot be compiled is left out: it says so
    when it is compiled."""

def compiler_runs() -> int:
    """Runs of a C++ compiler in this process until now."""

class Record(TypedDict):
    serial: int
    began: float  # seconds since the epoch
    open: bool  # what it stands for has not ended
    facts: str  # JSON, see write_ahead.cpp
    data_offset: int  # of the bytes of its arrays, in the file
    data_bytes: int

class RecordFile(TypedDict):
    problem: str  # why it cannot be read; ""
    pid: int
    alive: bool  # its process still runs
    about: str  # JSON: the command and the directory of the process
    records: list[Record]  # oldest first

def record_directory() -> str:
    """Where write-ahead records of this user's processes are; "" when the cache is off."""

def record_files(directory: str) -> list[str]:
    """Names of the record files there, newest first."""

def read_record_file(path: str) -> RecordFile:
    """Of another process: to read the file of this one would give up its lock."""

def remove_records() -> int:
    """Removes the record files of processes that are gone; how many."""

def record_state() -> tuple[str, str]:
    """(file of this process or "", what keeps it from being written or "")"""

def nearest_name(wanted: str, known: Sequence[str]) -> str:
    """The known name that `wanted` is probably a slip of, or ""."""

def did_you_mean(wanted: str, known: Sequence[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: "; did you mean 'x'?", or `otherwise` where no name is near."""

# --- kernels and the disk cache -----------------------------------------------------------------------------------------

def plugin_path() -> str:
    """Where the shared object with the in-process compiler is looked for."""

internal_error_prefix: str  # how names of saved internal errors begin, in the cache directory

def prelude() -> str:
    """The C++ text that kernels are compiled on top of."""

def kernel_flags() -> str:
    """Compiler options that give a kernel its meaning, for g++ and clang++."""

class RunRecord(Protocol):
    def numpy_step(self, step: int, result: Any) -> None: ...
    def done(self, outputs: tuple[Any, ...] | None) -> tuple[list[str], list[str], list[str]] | None:
        """None: the run raised. Returns the lists of the event graph_run, or None for no event."""

def watch_failures(hook: Callable[[str, Graph, list[Any] | None, Callable[..., Any] | None, Any], Any]) -> None:
    """With the option repro_after: hook(facts, graph, inputs, backend callable, subject) when a compile fails, before a compile
    (repro_level 3), and after one whose runs are to be checked; see failed_compile.cpp."""

def record_graphs(recorder: Callable[[str, str, tuple[Any, ...]], RunRecord | None] | None) -> None:
    """Graphs compiled from now on call recorder(compile id, graph name, inputs) when they run first. None stops."""

kernel_lines_suffix: str  # of the line table beside a kernel's source
guard_sample_every: int  # hits of an entry between two samples of what its guards cost

def cache_directory() -> str:
    """The resolved directory; "" when the cache is off."""

def cache_verify() -> list[tuple[str, str]]:
    """(file, what is wrong) per damaged entry"""
