"""The backend that fails on purpose: `backend="faulty:op=maximum,kind=wrong_value"`.

For trying minifiers, bisectors and contract tests on known defects. The language is in _fault_spec.py. A graph in which the
fault cannot act goes to the base backend as it is. Otherwise the graph runs under NumPy, statement by statement, with a tap
behind each node that may fail: the tap sees the operands and the result, decides whether the fault acts, and does what the
table KINDS says. Faults of outputs act when the graph returns, if one of the taps said so.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suture._fault_spec import PREFIX, Condition, Fault, parse
from suture._replay import globals_of_file, names_of_warnings

if TYPE_CHECKING:
    from suture._core import Graph

Row = dict[str, Any]  # of Graph.nodes

_random = random.SystemRandom()  # forked children draw for themselves


class InjectedFault(RuntimeError):
    """What a faulty backend raises, unless `raises` names another exception."""


# --- what happens at an op ------------------------------------------------------------------------------------------------


def _raise(fault: Fault, row: Row) -> None:
    raise (fault.raises or InjectedFault)(f"backend {PREFIX}: {fault.kind} on op '{row['op']}'")


def _warn(fault: Fault, row: Row) -> None:
    from suture._startup import warn_at

    text = f"backend {PREFIX}: {fault.kind} on op '{row['op']}'"
    warn_at(text, RuntimeWarning, row["file"], row["line"])


def _segfault(fault: Fault, row: Row) -> None:
    import ctypes

    ctypes.string_at(0)


def _abort(fault: Fault, row: Row) -> None:
    import os

    os.abort()


def _killed(fault: Fault, row: Row) -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def _out_of_memory(fault: Fault, row: Row) -> None:
    np.empty(1 << 60, np.uint8)


def _hang(fault: Fault, row: Row) -> None:
    import time

    while True:  # Ctrl-C ends it
        time.sleep(0.05)


_ACTS: dict[str, Callable[[Fault, Row], None]] = {
    "compile_error": _raise,
    "run_error": _raise,
    "second_call_error": _raise,
    "warning": _warn,
    "segfault": _segfault,
    "abort": _abort,
    "killed": _killed,
    "oom": _out_of_memory,
    "hang": _hang,
}


def _off(value: Any, error: float) -> Any:
    """A wrong value of the same type, dtype, shape and layout."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value + error * max(1.0, abs(value))
    with np.errstate(all="ignore"):
        if value.dtype.kind == "b":
            spoiled = ~value
        elif value.dtype.kind in "iu":
            spoiled = value + value.dtype.type(1)
        else:
            spoiled = (value + error * np.maximum(1, np.abs(value))).astype(value.dtype, copy=False)
    return np.asarray(spoiled) if isinstance(value, np.ndarray) else spoiled


# --- what happens to the outputs ------------------------------------------------------------------------------------------

_OTHER_DTYPES = {"float64": np.float32, "float32": np.float64, "bool": np.uint8}


def _other_dtype(value: Any) -> Any:
    array = np.asarray(value)
    other = array.astype(_OTHER_DTYPES.get(array.dtype.name, np.float64))
    return other if isinstance(value, np.ndarray) else other[()]


def _with_gaps(value: np.ndarray) -> np.ndarray:
    spaced = np.empty((*value.shape, 2), value.dtype)[..., 0]
    spaced[...] = value
    return spaced


_OUTPUT_CHANGES: dict[str, Callable[[Any], Any]] = {
    "wrong_dtype": _other_dtype,
    "wrong_shape": lambda value: np.asarray(value)[None],
    "wrong_stride": _with_gaps,
    "copied_view": np.copy,
}


def _may_change(kind: str, value: Any, inputs: tuple[Any, ...]) -> bool:
    if kind == "wrong_stride":
        return isinstance(value, np.ndarray) and value.ndim > 0
    if kind == "copied_view":
        arrays = [each for each in inputs if isinstance(each, np.ndarray)]
        return isinstance(value, np.ndarray) and any(np.may_share_memory(value, each) for each in arrays)
    return True


# --- where it happens -----------------------------------------------------------------------------------------------------


class _Flow:
    """Which values of a graph depend on which; a store reaches everything that reads the same memory later."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self._root: dict[str, str] = {}
        self._stored = {row["name"]: row["operands"][0] for row in rows if row["op"] == "store"}
        for row in rows:
            shares = row["op"] == "store" or row["kind"] == "View"
            self._root[row["name"]] = self._root[row["operands"][0]] if shares else row["name"]

    def computes(self, row: Row) -> bool:
        return bool(row["kind"] != "Input")

    def root(self, name: str) -> str:
        return self._root[name]

    def written_as(self, name: str) -> str:
        """The variable of a value in the graph's code: a store has that of the array it writes into."""
        return self.written_as(self._stored[name]) if name in self._stored else name

    def downstream(self, start: Row) -> set[str]:
        """Names of the values that depend on `start`, itself included; roots of memory that was written with them too."""
        found = {start["name"]}
        written = {self.root(start["name"])} if start["op"] == "store" else set()
        for row in self._rows[self._rows.index(start) + 1 :]:
            if any(operand in found or self.root(operand) in written for operand in row["operands"]):
                found.add(row["name"])
                if row["op"] == "store":
                    written.add(self.root(row["name"]))
        return found | written


def _static_shape(row: Row, symbols: dict[str, int]) -> list[int]:
    return [eval(dim, {"__builtins__": {}, "min": min, "max": max}, symbols) for dim in row["shape"]]


class _Sites:
    """The nodes of one graph at which the fault may act, by what is known before the graph runs."""

    def __init__(self, fault: Fault, graph: Graph, compile_number: int) -> None:
        described = json.loads(graph.to_json())
        self.rows: list[Row] = graph.nodes
        self.flow = _Flow(self.rows)
        self._attributes = {node["name"]: node["attrs"] for node in described["nodes"]}
        self._symbols = {symbol["name"]: symbol["hint"] for symbol in described["symbols"]}
        self._facts = {
            "nodes": sum(map(self.flow.computes, self.rows)),
            "inputs": len(graph.placeholders),
            "outputs": len(graph.outputs),
            "symbols": len(self._symbols),
            "compile": compile_number,
        }
        if fault.op == "*":
            candidates = [row for row in self.rows if self.flow.computes(row)]
        else:
            candidates = [row for row in self.rows if row["op"] == fault.op]
        self.nth = {row["name"]: number for number, row in enumerate(candidates, 1)}
        holds = all(condition.holds(self._facts[condition.word]) for condition in fault.needs("graph"))
        self.chosen = [row for row in candidates if holds and self._fits(fault, row)]

    def _fits(self, fault: Fault, row: Row) -> bool:
        conditions = fault.needs("op") + (fault.needs("run") if fault.stage == "compile" else [])
        return all(c.holds(self._fact(c, row)) for c in conditions) and self._has_partner(fault, row)

    def _fact(self, condition: Condition, row: Row) -> Any:
        if condition.word.startswith("attr."):
            return self._attributes[row["name"]].get(condition.word.removeprefix("attr."), "")
        match condition.word:
            case "nth":
                return self.nth[row["name"]]
            case "rank":
                return len(row["shape"])
            case "dim":
                return _static_shape(row, self._symbols)
            case "size":
                return math.prod(_static_shape(row, self._symbols))
        return row[condition.word]  # target, dtype

    def _has_partner(self, fault: Fault, row: Row) -> bool:
        if not fault.with_op:
            return True
        partners = [other for other in self.rows if other is not row and fault.with_op in ("*", other["op"])]
        if fault.path == "any":
            return bool(partners)
        below = self.flow.downstream(row)
        connected = [o for o in partners if o["name"] in below or row["name"] in self.flow.downstream(o)]
        return bool(connected) if fault.path == "yes" else len(connected) < len(partners)


# --- running a graph with taps --------------------------------------------------------------------------------------------


class _Tapped:
    """The graph under NumPy with the fault in it; counts its calls."""

    def __init__(self, fault: Fault, graph: Graph, sites: _Sites) -> None:
        self._fault, self._sites = fault, sites
        self._arguments = graph.forward().__self__.arguments  # type: ignore[attr-defined]
        self._outputs = graph.outputs
        self._reach = [self._sites.flow.downstream(row) for row in sites.chosen]
        self._kept: dict[tuple[Any, ...], np.ndarray] = {}
        self._calls = itertools.count(1)
        self._forward = self._compiled(graph)

    def __call__(self, *inputs: Any) -> Any:
        return self._forward(*self._arguments(inputs), next(self._calls))

    # A tap's names have a space, so that no name of the graph is one.
    def _compiled(self, graph: Graph) -> Callable[..., Any]:
        tree = ast.parse(graph.code)
        definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
        variables = {argument.arg for argument in definition.args.args}
        definition.args.args.append(ast.arg("call number"))
        statements = _statements_of_nodes(self._sites, definition.body)
        body: list[ast.stmt] = []
        for statement in definition.body:
            if isinstance(statement, ast.Return):
                body.append(self._return(statement, graph.placeholders))
                continue
            body.append(statement)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                variables.add(statement.targets[0].id)
            for index, row in enumerate(self._sites.chosen):
                if statements.get(row["name"]) is statement:
                    body.append(self._tap_call(index, row, statement, variables))
        definition.body = body
        ast.fix_missing_locations(tree)
        file = self._put_at_its_lines(statements)
        made: dict[str, Any] = {f"tap {index}": self._tap(row) for index, row in enumerate(self._sites.chosen)}
        made["finish"] = self._finish
        made |= names_of_warnings(globals_of_file(file))
        exec(compile(tree, file or f"<{PREFIX} {graph.name}>", "exec"), made)
        return made["forward"]

    def _put_at_its_lines(self, statements: dict[str, ast.stmt]) -> str:
        """Warnings and exceptions of NumPy's are those of the program's lines. The file of these lines; "": they are in several."""
        rows = [row for row in self._sites.rows if row["name"] in statements]
        files = {row["file"] for row in rows}
        if len(files) != 1:
            return ""
        for row in rows:
            for node in ast.walk(statements[row["name"]]):
                if isinstance(node, (ast.stmt, ast.expr, ast.keyword)):
                    node.lineno = node.end_lineno = row["line"]
        return str(files.pop())

    def _tap_call(self, index: int, row: Row, statement: ast.stmt, variables: set[str]) -> ast.stmt:
        """`value, acts = tap(value, operands, in_place, call number)`"""
        target, in_place = _result_of(statement)
        operands = map(self._sites.flow.written_as, row["operands"])
        seen: list[ast.expr] = [ast.Name(name, ast.Load()) for name in operands if name in variables]
        arguments = [
            ast.Name(target, ast.Load()),
            ast.Tuple(seen, ast.Load()),
            ast.Constant(in_place),
            ast.Name("call number", ast.Load()),
        ]
        made = ast.Tuple([ast.Name(target, ast.Store()), ast.Name(f"acts {index}", ast.Store())], ast.Store())
        return ast.Assign([made], ast.Call(ast.Name(f"tap {index}", ast.Load()), arguments, []))

    def _return(self, statement: ast.Return, placeholders: list[str]) -> ast.Return:
        """`return finish(inputs, outputs, acts)`"""
        acts: list[ast.expr] = [ast.Name(f"acts {index}", ast.Load()) for index in range(len(self._sites.chosen))]
        inputs: list[ast.expr] = [ast.Name(name, ast.Load()) for name in placeholders]
        assert statement.value is not None
        arguments = [ast.Tuple(inputs, ast.Load()), statement.value, ast.Tuple(acts, ast.Load())]
        return ast.Return(ast.Call(ast.Name("finish", ast.Load()), arguments, []))

    def _acts(self, operands: tuple[Any, ...], result: Any, call: int) -> bool:
        facts: dict[str, Callable[[], list[Any]]] = {
            "dim": lambda: [np.shape(result)],
            "size": lambda: [np.size(result)],
            "operand": lambda: list(operands),
            "result": lambda: [result],
            "call": lambda: [call],
        }
        if self._fault.kind == "second_call_error" and call != 2:
            return False
        if not all(any(map(c.holds, facts[c.word]())) for c in self._fault.needs("run")):
            return False
        return self._fault.kind != "nondeterministic" or _random.random() < 0.5

    def _tap(self, row: Row) -> Callable[..., tuple[Any, bool]]:
        act = _ACTS.get(self._fault.kind)
        spoils = self._fault.kind in ("wrong_value", "nondeterministic")

        def tap(result: Any, operands: tuple[Any, ...], in_place: bool, call: int) -> tuple[Any, bool]:
            acts = self._acts(operands, result, call)
            if acts and act:
                act(self._fault, row)
            if acts and spoils and in_place:
                result[...] = _off(result, self._fault.error)
            elif acts and spoils:
                result = _off(result, self._fault.error)
            return result, acts

        return tap

    def _finish(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...], acts: tuple[bool, ...]) -> Any:
        kind = self._fault.kind
        if self._fault.stage != "outputs" or not any(acts):
            return outputs
        if kind == "wrong_type":
            return outputs[0] if outputs else None
        if kind == "wrong_count":
            return outputs[:-1]
        if kind == "mutated_input":
            self._write_into(inputs)
        if kind == "reused_output":
            return tuple(self._kept_array(i, output) for i, output in enumerate(outputs))
        if change := _OUTPUT_CHANGES.get(kind):
            reached = set().union(*(reach for reach, acted in zip(self._reach, acts, strict=True) if acted))
            for i, (name, output) in enumerate(zip(self._outputs, outputs, strict=True)):
                depends = name in reached or self._sites.flow.root(name) in reached
                if depends and _may_change(kind, output, inputs):
                    return (*outputs[:i], change(output), *outputs[i + 1 :])
        return outputs

    def _write_into(self, inputs: tuple[Any, ...]) -> None:
        for value in inputs:
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value[...] = _off(value, self._fault.error)
                return

    def _kept_array(self, index: int, output: Any) -> Any:
        if not isinstance(output, np.ndarray) or output.base is not None:
            return output
        kept = self._kept.setdefault((index, output.shape, output.strides, output.dtype), output)
        kept[...] = output
        return kept


def _result_of(statement: ast.stmt) -> tuple[str, bool]:
    """The variable that has the result, and whether the statement writes into its array."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name, False
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) | ast.AugAssign(target=ast.Name(id=name)):
            return name, True
        case ast.Expr(value=ast.Call(keywords=[*_, ast.keyword(arg="out", value=ast.Name(id=name))])):
            return name, True
    raise AssertionError(f"a statement of another form: {ast.unparse(statement)}")


def _statements_of_nodes(sites: _Sites, body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Per node the statement that computes it. An op that was written in one with its store has that one's statement."""
    named = {_result_of(s)[0]: s for s in body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    writes = iter([s for s in body if not isinstance(s, ast.Return) and _result_of(s)[1]])
    found: dict[str, ast.stmt] = {}
    waiting: list[str] = []
    for row in filter(sites.flow.computes, sites.rows):
        if row["op"] == "store":
            found[row["name"]] = statement = next(writes)
            found |= dict.fromkeys(waiting, statement)
            waiting = []
        elif row["name"] in named:
            found[row["name"]] = named[row["name"]]
        else:
            waiting.append(row["name"])
    return found


# --- the backend ----------------------------------------------------------------------------------------------------------


class Faulty:
    """backend(graph, example_inputs) with one fault; made from its text by `suture.compile(backend="faulty:...")`."""

    def __init__(self, text: str) -> None:
        from suture import _backends

        self.fault = parse(text)
        self.__name__ = text
        self._base = _backends.callable_of(self.fault.base)
        self._graphs = itertools.count(1)

    def __call__(self, graph: Graph, example_inputs: list[Any]) -> Any:
        sites = _Sites(self.fault, graph, next(self._graphs))
        if not sites.chosen:
            return self._base(graph, example_inputs)
        if self.fault.kind == "not_callable":
            return "no callable"
        if self.fault.stage == "compile":
            _ACTS[self.fault.kind](self.fault, sites.chosen[0])
            return self._base(graph, example_inputs)
        return _Tapped(self.fault, graph, sites)

    def __repr__(self) -> str:
        return f"<backend {self.fault}>"
