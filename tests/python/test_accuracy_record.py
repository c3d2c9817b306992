"""What a call gives, saved by `suture check --compare` and read back: exactly the same values, and nothing is run."""

import datetime
import json
import os
import signal
import time

import numpy as np
import pytest

from suture.cli import _accuracy
from suture.cli._call_record import (
    ArgumentReader,
    ArgumentWriter,
    ArrayStore,
    CannotCopy,
    TooLarge,
    decode_leaves,
    digests,
    encode_leaves,
    leaves,
)

VALUES = {
    "floats": [0.1, -0.0, float("nan"), float("-inf"), 5e-324],
    "ints": [0, -1, 10**5000, True],
    "others": [None, 1 + 2j, b"\0\xff", "\udcff\n", ""],
    "arrays": [np.arange(6.0).reshape(2, 3).T, np.array(3), np.zeros((0, 2), "i1"), np.array([1], ">f4")],
    "scalars": [np.float32(-0.0), np.datetime64("2020-01-01"), np.bool_(True), np.str_("é")],
    "structures": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "objects": {"k": object(), "array": np.array([datetime, None])},
}


@pytest.mark.parametrize("name", VALUES)
def test_values_come_back_as_they_were(name, tmp_path):
    given = leaves(VALUES[name], "result")
    rows = encode_leaves(given, ArrayStore(tmp_path, 10_000))
    read = decode_leaves(json.loads(json.dumps(rows)), ArrayStore(tmp_path))
    assert [leaf for leaf, _ in read] == [leaf for leaf, _ in given]
    assert [type(value) for _, value in read] == [type(value) for _, value in given]
    assert [value.dtype for _, value in read if hasattr(value, "dtype")] == [
        value.dtype for _, value in given if hasattr(value, "dtype")
    ]
    assert digests(read) == digests(given)


def test_a_record_with_a_pickle_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        ArrayStore(tmp_path).load("x")


def test_an_array_is_kept_once_and_the_store_is_bounded(tmp_path):
    store = ArrayStore(tmp_path, 100)
    names = [store.keep(np.full(10, 1.5)) for _ in range(3)]
    assert len(set(names)) == 1 and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(TooLarge):
        store.keep(np.zeros(10))


def copied(arguments, directory, own=None):
    writer, reader = ArgumentWriter(ArrayStore(directory, 10_000)), ArgumentReader(ArrayStore(directory))
    trees = json.loads(json.dumps([writer.write(value) for value in arguments]))
    return [reader.read(tree, mine) for tree, mine in zip(trees, own or arguments, strict=True)]


LAYOUTS = {
    "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "reversed": np.arange(5)[::-1],
    "strided": np.arange(12, dtype="f4").reshape(3, 4)[:, ::2],
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "empty": np.zeros((0, 3)),
    "scalar array": np.array(2),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_argument_is_copied_with_its_layout(name, tmp_path):
    (copy,) = copied([LAYOUTS[name]], tmp_path)
    assert np.array_equal(copy, LAYOUTS[name]) and copy.dtype == LAYOUTS[name].dtype
    assert copy.strides == LAYOUTS[name].strides or not copy.size
    assert copy.flags.writeable == LAYOUTS[name].flags.writeable and not np.shares_memory(copy, LAYOUTS[name])


def test_containers_keep_their_types_and_what_is_the_same_object_stays_one(tmp_path):
    x = np.ones(3)
    first, second, options = copied(
        [x, [x, (1, 2.5, None)], {"f": np.sin, 3: x}], tmp_path, [x, [x, ()], {"f": np.cos, 3: x}]
    )
    assert second[0] is first and second[1] == (1, 2.5, None) and options[3] is first
    assert options["f"] is np.cos, "functions are those of the call that the copy is for"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([object()], "an object of type object"),
        ([np.array([{}])], "an object of type ndarray"),
        ([np.ma.masked_array([1.0])], "an object of type MaskedArray"),
        ((lambda x: [x, x[1:]])(np.ones(3)), "arrays that share memory"),
    ],
)
def test_what_cannot_be_copied_is_named(arguments, what, tmp_path):
    with pytest.raises(CannotCopy, match=what):
        copied(arguments, tmp_path)


def test_many_arguments_are_written_in_linear_time(tmp_path):
    def seconds(count: int) -> float:
        arrays = [np.full(1, float(i % 7)) for i in range(count)]
        writer = ArgumentWriter(ArrayStore(tmp_path, 1 << 20))
        start = time.perf_counter()
        tree = writer.write([arrays, [[i] for i in range(count)], list(arrays)])
        taken = time.perf_counter() - start
        assert tree[1][2][1] == [["same", 2 + i] for i in range(count)]
        return taken

    seconds(100)
    few, many = min(seconds(1_000) for _ in range(3)), seconds(10_000)
    assert many < 40 * few, "ten times as many; quadratic would be a hundred times as long"


@pytest.mark.parametrize(
    ("make", "shares"),
    [
        (lambda x: [x[:5], x[5:]], False),
        (lambda x: [x[5:], x[:5]], False),
        (lambda x: [x[:6], x[5:]], True),
        (lambda x: [x[5:], x[:6]], True),
        (lambda x: [x[::-1][:4], x[6:8]], True),
        (lambda x: [x[::-1][:4], x[4:6]], False),
        (lambda x: [x[:2], x[8:], x[2:8]], False),
        (lambda x: [x[:2], x[8:], x[1:9]], True),
        (lambda x: [x[2:4], x], True),
        (lambda x: [x, x[2:4], x], True),
        (lambda x: [x[:0], x, x[3:3]], False),
        (lambda x: [np.lib.stride_tricks.as_strided(x[2:], (3, 3), (8, 8)), x[:2], x[7:]], False),
        (lambda x: [np.broadcast_to(x[2:3], (5,)), x[3:], x[:2]], False),
    ],
)
def test_shared_memory_is_what_numpy_says(make, shares, tmp_path):
    arrays = make(np.arange(10.0))
    pairs = [(a, b) for i, a in enumerate(arrays) for b in arrays[:i] if a is not b]
    assert any(np.may_share_memory(a, b) for a, b in pairs) is shares
    writer = ArgumentWriter(ArrayStore(tmp_path, 10_000))
    if shares:
        with pytest.raises(CannotCopy, match="share memory"):
            writer.write(arrays)
    else:
        assert writer.write(arrays)[0] == "list"


# --- calls repeated in a child --------------------------------------------------------------------------------------------


def test_what_a_child_gives_comes_back_whole():
    found = {"text": "x" * 300_000}  # more than a pipe holds
    assert _accuracy.in_child(lambda: found) == found


def test_a_child_that_dies_or_raises_gives_nothing():
    for work in (lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 // 0):
        with pytest.raises(CannotCopy, match="could not be repeated"):
            _accuracy.in_child(work)


@pytest.mark.parametrize("trickles", [True, False])
def test_a_child_has_a_deadline_for_all_that_it_writes(trickles, monkeypatch):
    ends: list[tuple[int, int]] = []
    pipe = os.pipe

    def noted() -> tuple[int, int]:
        ends.append(pipe())
        return ends[-1]

    def work() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if trickles:
                os.write(ends[0][1], b"x")
            time.sleep(0.05)

    monkeypatch.setattr(os, "pipe", noted)
    monkeypatch.setattr(_accuracy, "REPEAT_SECONDS", 1)
    start = time.monotonic()
    with pytest.raises(CannotCopy, match="it takes more than 1 s"):
        _accuracy.in_child(work)
    assert time.monotonic() - start < 20


def test_a_process_that_the_call_leaves_behind_is_not_waited_for():
    def work():
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        return {"done": True}

    start = time.monotonic()
    assert _accuracy.in_child(work) == {"done": True}
    assert time.monotonic() - start < 20
