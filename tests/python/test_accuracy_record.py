"""What a call gives, saved by `suture check --compare` and read back: exactly the same values, and nothing is run."""

import datetime
import json

import numpy as np
import pytest

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
