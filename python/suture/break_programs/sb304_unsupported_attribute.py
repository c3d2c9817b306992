import numpy as np

REASON, AT, FRAMES = "SB304", "settings.gain", 2


class Dynamic:
    def __getattr__(self, name):
        return 2.0


SETTINGS = Dynamic()


def arguments():
    return (np.ones(3), SETTINGS)


def f(x, settings):
    y = x * 2
    gain = settings.gain
    return y * gain


# Fix: read the attribute outside and pass its value.


def fixed(x, gain):
    return x * 2 * gain


def caller(fixed, x, settings):
    return fixed(x, settings.gain)
