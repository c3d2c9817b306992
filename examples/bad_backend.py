"""A backend that cannot handle one op, and a function that needs it: something for the minifier.

SUTURE_REPRO_AFTER=capture python examples/bad_backend.py
python minifier_launcher.py
python repro.py
"""

import numpy as np

import suture


def bad_backend(graph, example_inputs):
    for node in graph.nodes:
        if node["target"] == "np.maximum":
            raise RuntimeError("bad_backend cannot handle relu")
    return graph.forward()


@suture.compile(backend=bad_backend)
def f(x):
    a = np.sin(x) + 1
    y = np.cos(a) * x
    z = np.maximum(y, 0)
    return z / (1 + z)


def main():
    x = np.random.default_rng(0).standard_normal((32, 8))
    print(f"mean {f(x).mean():.6f}")


if __name__ == "__main__":
    main()
