"""What a fault is: the language of `backend="faulty:..."`.

    faulty:op=maximum,kind=wrong_value,when=nodes>=5&dtype==float64

Pairs `key=value`, separated by commas; every key has a default. `when` holds conditions joined by `&`, each a word, a
comparison and a value. KEYS, KINDS and WORDS are the whole language; docs/reference/faults.md is generated from them.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from suture import _core

PREFIX = "faulty"


class Kind(NamedTuple):
    stage: str  # compile: when the backend is given the graph; op: as the op runs; outputs: as the graph returns
    shows_as: str  # the failure that a minimiser or a contract test sees
    doc: str


KINDS = {
    "compile_error": Kind("compile", "compile_error", "the backend raises"),
    "not_callable": Kind("compile", "compile_error", "the backend returns no callable"),
    "run_error": Kind("op", "run_error", "the op raises"),
    "second_call_error": Kind("op", "run_error", "the op raises in the second call of the graph, and in no other"),
    "warning": Kind("op", "warning", "the op gives a RuntimeWarning that NumPy does not give"),
    "wrong_value": Kind(
        "op", "wrong_value", "the result of the op is off by `error`; what follows is computed from it"
    ),
    "nondeterministic": Kind("op", "nondeterministic", "as wrong_value, in one call out of two, at random"),
    "segfault": Kind("op", "segfault", "the op reads from address 0"),
    "abort": Kind("op", "abort", "the op calls abort()"),
    "killed": Kind("op", "killed", "the process gets SIGKILL, as from the kernel when memory is short"),
    "oom": Kind("op", "oom", "the op asks for more memory than there is: MemoryError"),
    "hang": Kind("op", "hang", "the op never returns"),
    "wrong_dtype": Kind("outputs", "wrong_dtype", "the first output that depends on the op has another dtype"),
    "wrong_shape": Kind("outputs", "wrong_shape", "the first output that depends on the op has one axis more"),
    "wrong_stride": Kind("outputs", "wrong_strides", "the first output that depends on the op, an array, has gaps"),
    "wrong_type": Kind("outputs", "run_error", "the graph returns its first output instead of a tuple"),
    "wrong_count": Kind("outputs", "run_error", "the last output is missing"),
    "reused_output": Kind("outputs", "wrong_alias", "every call returns the array of the first again, filled anew"),
    "copied_view": Kind("outputs", "wrong_alias", "the first output that is a view of an input is a copy"),
    "mutated_input": Kind("outputs", "wrong_value", "the graph writes into its first input that is an array"),
}


def _any_of(values: Any, holds: Callable[[Any], Any]) -> bool:
    import numpy as np

    return bool(np.any(holds(np.asarray(values))))


class Word(NamedTuple):
    stage: str  # graph: known of the graph; op: known of the op; run: known when the op has run
    type: str  # int | float | text | dtype
    doc: str


WORDS = {
    "nodes": Word("graph", "int", "nodes of the graph, inputs and constants not counted"),
    "inputs": Word("graph", "int", "inputs of the graph"),
    "outputs": Word("graph", "int", "outputs of the graph"),
    "symbols": Word("graph", "int", "symbolic sizes and ints of the graph"),
    "compile": Word("graph", "int", "graphs that this backend was given, with this one"),
    "nth": Word("op", "int", "the how manieth such op of the graph it is, from 1"),
    "target": Word("op", "text", "the call as the user wrote it, as `np.maximum`, `+`, `ndarray.sum`"),
    "dtype": Word("op", "dtype", "dtype of the result, by NumPy's name"),
    "rank": Word("op", "int", "axes of the result"),
    "attr.NAME": Word("op", "text", "an attribute of the op as in the text of the graph, as `attr.axes==[0]`"),
    "dim": Word("run", "int", "size of some axis of the result (when compiling: in the first call)"),
    "size": Word("run", "int", "elements of the result (when compiling: in the first call)"),
    "operand": Word("run", "float", "some element of some operand; `nan` is equal to itself"),
    "result": Word("run", "float", "some element of the result; `nan` is equal to itself"),
    "call": Word("run", "int", "calls of the compiled graph, with this one"),
}


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class Condition(NamedTuple):
    word: str
    comparison: str
    value: Any

    @property
    def known(self) -> Word:
        return WORDS["attr.NAME" if self.word.startswith("attr.") else self.word]

    def holds(self, actual: Any) -> bool:
        """Of a value, or of some element of an array."""
        if isinstance(self.value, float) and math.isnan(self.value):
            import numpy as np

            return _any_of(actual, (lambda a: a == a) if self.comparison == "!=" else np.isnan)
        if isinstance(self.value, str):
            return COMPARISONS[self.comparison](actual, self.value)
        return _any_of(actual, lambda a: COMPARISONS[self.comparison](a, self.value))

    def __str__(self) -> str:
        return f"{self.word}{self.comparison}{self.value}"


class Fault(NamedTuple):
    """A parsed text."""

    op: str
    kind: str
    with_op: str
    path: str
    when: tuple[Condition, ...]
    error: float
    raises: type[BaseException] | None
    at: str
    base: str

    @property
    def stage(self) -> str:
        return "compile" if self.at == "compile" else KINDS[self.kind].stage

    def needs(self, stage: str) -> list[Condition]:
        return [condition for condition in self.when if condition.known.stage == stage]

    def __str__(self) -> str:
        """The text that gives this fault, without what is at its default."""
        conditions = "&".join(map(str, self.when))
        raises = self.raises.__name__ if self.raises else ""
        values = [
            self.op,
            self.kind,
            self.with_op,
            self.path,
            conditions,
            f"{self.error:g}",
            raises,
            self.at,
            self.base,
        ]
        pairs = [
            f"{name}={value}" for (name, key), value in zip(KEYS.items(), values, strict=True) if value != key.default
        ]
        return f"{PREFIX}:{','.join(pairs)}" if pairs else PREFIX


class FaultTextError(ValueError):
    """A text that describes no fault. The message has the text, what is wrong in it and what is allowed."""


def _refuse_name(what: str, name: str, known: Iterable[str], show_all: bool = True) -> FaultTextError:
    names = list(known)
    hint = _core.did_you_mean(name, names, f"; known: {', '.join(names)}" if show_all else "")
    return FaultTextError(f"no {what} is named '{name}'{hint}")


@functools.cache
def _op_names() -> dict[str, str]:
    """Names of ops in graphs, by that and by NumPy's name of the function."""
    table = {op["name"]: op["name"] for op in _core.op_table()}
    return table | {op["numpy"].removeprefix("np."): op["name"] for op in _core.op_table() if op["numpy"]}


def _op_named(text: str) -> str:
    """The name of an op in graphs, from that or from NumPy's name of the function."""
    if text in ("*", ""):
        return text
    table = _op_names()
    name = text.removeprefix("np.")
    if name not in table:
        raise _refuse_name("op", text, table, show_all=False)
    return table[name]


def _chosen(what: str, names: Iterable[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise _refuse_name(what, text, names)
        return text

    return parse


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FaultTextError(f"'{text}' is no number") from None


def _exception_named(text: str) -> type[BaseException] | None:
    if not text:
        return None
    found = getattr(builtins, text, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        names = [name for name, value in vars(builtins).items() if isinstance(value, type)]
        raise _refuse_name("built-in exception", text, names, show_all=False)
    return found


def _value_of(word: str, kind: str, text: str) -> Any:
    if kind == "text":
        return text
    if kind == "dtype":
        known = [dtype for dtype in _dtypes()]
        if text not in known:
            raise _refuse_name("dtype", text, known)
        return text
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        raise FaultTextError(
            f"{word} is compared with {'an int' if kind == 'int' else 'a number'}, not '{text}'"
        ) from None


def _dtypes() -> list[str]:
    sizes = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (32, 64)}
    return ["bool", *(f"{name}{bits}" for name, widths in sizes.items() for bits in widths)]


def _condition(text: str) -> Condition:
    found = [(text.find(sign), -len(sign), sign) for sign in COMPARISONS if sign in text]
    if not found:
        raise FaultTextError(f"the condition '{text}' has no comparison; it looks like nodes>=5")
    at, _, sign = min(found)
    word, value = text[:at].strip(), text[at + len(sign) :].strip()
    if word not in WORDS and not (word.startswith("attr.") and len(word) > len("attr.")):
        raise _refuse_name("word of a condition", word, WORDS)
    kind = WORDS["attr.NAME" if word.startswith("attr.") else word].type
    if kind in ("text", "dtype") and sign not in ("==", "!="):
        raise FaultTextError(f"{word} is compared with == or !=, not {sign}")
    return Condition(word, sign, _value_of(word, kind, value))


def _conditions(text: str) -> tuple[Condition, ...]:
    return tuple(_condition(part) for part in text.split("&")) if text else ()


class Key(NamedTuple):
    parse: Callable[[str], Any]
    default: str
    doc: str


KEYS = {
    "op": Key(_op_named, "*", "the op that fails: its name in graphs or in NumPy; `*`: every op"),
    "kind": Key(_chosen("kind of fault", KINDS), "compile_error", "what happens, see below"),
    "with": Key(_op_named, "", "only in graphs that also have this op, at another node"),
    "path": Key(
        _chosen("path", ("any", "yes", "no")),
        "any",
        "yes: one of the two ops must be computed from the other; no: must not",
    ),
    "when": Key(_conditions, "", "conditions joined by `&`, see below"),
    "error": Key(
        _number, "0.001", "wrong values are x + error * max(1, |x|); integers are off by 1, truth values inverted"
    ),
    "raises": Key(_exception_named, "", "built-in exception to raise instead of InjectedFault"),
    "at": Key(
        _chosen("stage", ("run", "compile")),
        "run",
        "compile: a warning, crash, hang or lack of memory happens while the backend compiles",
    ),
    "base": Key(str, "eager", "the backend that runs graphs which this one leaves alone"),
}


def _read(text: str) -> dict[str, Any]:
    given: dict[str, str] = {}
    for pair in filter(None, re.split(r",(?![^\[]*\])", text)):  # attr.axes==[0, 1] is one
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals:
            raise FaultTextError(f"'{pair}' is no pair key=value")
        if key not in KEYS:
            raise _refuse_name("key", key, KEYS)
        if key in given:
            raise FaultTextError(f"'{key}' is there twice")
        given[key] = value.strip()
    return {key: entry.parse(given.get(key, entry.default)) for key, entry in KEYS.items()}


def _check(fault: Fault) -> None:
    """What can be read one by one and makes no sense together."""
    if fault.base.split(":")[0] == PREFIX:
        raise FaultTextError("base cannot be a faulty backend")
    late = [str(c) for c in fault.when if c.word in ("call", "operand", "result")]
    if fault.stage == "compile" and late:
        raise FaultTextError(f"'{late[0]}' is known when a graph runs, and {fault.kind} happens when it is compiled")
    if fault.at == "compile" and fault.kind not in ("warning", "segfault", "abort", "killed", "oom", "hang"):
        raise FaultTextError(f"kind={fault.kind} cannot be moved; at=compile has no meaning")
    if fault.raises and fault.kind not in ("compile_error", "run_error", "second_call_error"):
        raise FaultTextError(f"kind={fault.kind} raises nothing, so raises={fault.raises.__name__} has no meaning")
    if fault.path != "any" and not fault.with_op:
        raise FaultTextError("path says how op and with are connected, and no with is given")


def parse(text: str) -> Fault:
    """`faulty` or `faulty:key=value,...` as a Fault; FaultTextError when it is not one."""
    name, _, rest = text.partition(":")
    assert name == PREFIX, text
    try:
        values = _read(rest)
        fault = Fault(**{"with_op" if key == "with" else key: value for key, value in values.items()})
        _check(fault)
    except FaultTextError as error:
        raise FaultTextError(f"backend '{text}': {error}") from None
    return fault
