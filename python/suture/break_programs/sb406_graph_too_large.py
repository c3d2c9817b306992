import numpy as np

REASON, AT, FRAMES = "SB406", "", 3
FIXED_FRAMES = 2

BODY = "\n".join("    x = x * 0.5 + 1" for _ in range(1500))


def arguments():
    return (np.ones(3),)


def f(x):
    raise NotImplementedError("replaced below by a function with 3,000 operations")


exec(compile(f"def f(x):\n{BODY}\n    return x", __file__.replace(".py", "_body.py"), "exec"))


# Fix: a loop instead of 1500 lines: its body is compiled once.


def fixed(x):
    for _ in range(1500):
        x = x * 0.5 + 1
    return x
