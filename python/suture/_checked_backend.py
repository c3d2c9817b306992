"""The option check_backend: what another backend's callable returns is compared with the types of its graph at every call.

For authors of backends, in programs that suture.testing.check_backend does not have. Values are not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suture._core import Graph

_NUMBERS = {"py_float": float, "py_int": int, "py_bool": bool}


class Checked:
    """The backend between two looks."""

    def __init__(self, name: str, backend: Callable[..., Any]) -> None:
        self.__name__ = name
        self._backend = backend

    def __call__(self, graph: Graph, example_inputs: list[Any]) -> Any:
        made = self._backend(graph, example_inputs)
        return _CheckedCall(self.__name__, graph, made) if callable(made) else made


class _CheckedCall:
    def __init__(self, backend: str, graph: Graph, run: Callable[..., Any]) -> None:
        self._where = f"backend '{backend}', graph {graph.name}"
        self._graph, self._run = graph, run
        nodes = {node["name"]: node for node in json.loads(graph.to_json())["nodes"]}
        self._outputs = [(name, nodes[name]["type"]) for name in graph.outputs]
        self._written = {root for node in nodes.values() if node["op"] == "store" for root in [_root(nodes, node)]}

    def __call__(self, *inputs: Any) -> Any:
        kept = {
            name: each.copy()
            for name, each in zip(self._graph.placeholders, inputs, strict=False)
            if isinstance(each, np.ndarray) and name not in self._written
        }
        symbols = self._graph.symbol_values(*inputs)
        results = self._run(*inputs)
        if not isinstance(results, (tuple, list)):
            raise TypeError(f"{self._where}: the callable returned {type(results).__name__}, not a tuple of outputs")
        if len(results) != len(self._outputs):
            raise TypeError(f"{self._where}: {len(results)} outputs were returned, the graph has {len(self._outputs)}")
        for position, (result, (name, type_)) in enumerate(zip(results, self._outputs, strict=True)):
            if wrong := _difference(result, type_, symbols):
                raise TypeError(f"{self._where}: output {position} ('{name}') {wrong}")
        for name, before in kept.items():
            now = inputs[self._graph.placeholders.index(name)]
            if now.tobytes() != before.tobytes():
                raise TypeError(f"{self._where}: input '{name}' was written into; the graph does not store into it")
        return results


def _root(nodes: dict[str, Any], node: dict[str, Any]) -> str:
    """The value whose memory a node writes or views."""
    while node["operands"] and node["op"] != "placeholder":
        node = nodes[node["operands"][0]]
    return str(node["name"])


def _sizes(texts: list[str], symbols: dict[str, int]) -> list[int]:
    return [eval(text, {"__builtins__": {}, "min": min, "max": max}, symbols) for text in texts]


def _difference(result: Any, type_: dict[str, Any], symbols: dict[str, int]) -> str:
    """What tells the result from the type; "" when nothing does."""
    wanted = type_["class"]
    if wanted in _NUMBERS:
        same = type(result) is _NUMBERS[wanted]
        return "" if same else f"is {type(result).__name__}; the graph has a Python {_NUMBERS[wanted].__name__}"
    kind = np.ndarray if wanted == "array" else np.generic
    if not isinstance(result, kind):
        return f"is {type(result).__name__}; the graph has {'an array' if wanted == 'array' else 'a NumPy scalar'}"
    if result.dtype.name != type_["dtype"]:
        return f"has dtype {result.dtype.name}; the graph has {type_['dtype']}"
    shape = _sizes(type_["shape"], symbols)
    if list(result.shape) != shape:
        return f"has shape {result.shape}; the graph has {tuple(shape)}"
    strides = [each * result.itemsize for each in _sizes(type_["strides"], symbols)]
    told = [(a, b) for a, b, n in zip(result.strides, strides, shape, strict=True) if n > 1 and result.size]
    if any(a != b for a, b in told):
        return f"has strides {result.strides}; the graph has {tuple(strides)}"
    return ""
