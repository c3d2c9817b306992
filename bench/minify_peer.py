"""PyTorch's minifier on one graph shape: `python minify_peer.py LENGTH POSITION[,POSITION]`, in an environment with torch.

The graph is a chain of unary ops; it "fails" while the ops at the positions are all in it (relu and floor). Prints one JSON line:
ops that are left, how often the predicate was asked, seconds. The predicate looks at the graph and compiles nothing.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(length: int, positions: list[int]) -> None:
    import torch
    from functorch.compile import minifier
    from torch import fx

    unary = [torch.sin, torch.cos, torch.tanh, torch.abs]
    marked = dict(zip(positions, [torch.relu, torch.floor], strict=False))
    graph = fx.Graph()
    last = graph.placeholder("x")
    for i in range(length):
        last = graph.call_function(marked.get(i, unary[i % len(unary)]), (last,))
    graph.output((last,))
    module = fx.GraphModule(torch.nn.Module(), graph)
    asked = 0

    def ops(failing: Any) -> list[Any]:
        return [node.target for node in failing.graph.nodes if node.op == "call_function"]

    def fails(failing: Any, inputs: Any) -> bool:
        nonlocal asked
        asked += 1
        return set(marked.values()) <= set(ops(failing))

    start = time.perf_counter()
    smallest, _ = minifier(module, [torch.linspace(-1, 2, 24).reshape(6, 4)], fails, dump_state=lambda *_: None)
    seconds = time.perf_counter() - start
    print(json.dumps({"ops": len(ops(smallest)), "calls": asked, "seconds": seconds}))


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")])
