"""What a call gives, saved by `suture check --compare` and read back: exactly the same values, and nothing is run."""

import datetime

import numpy as np
import pytest

from suture.cli._accuracy import _decoded, _digests, _encoded, leaves

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
def test_values_come_back_as_they_were(name):
    given = leaves(VALUES[name], "result")
    before, read = _decoded(_encoded(["digest"], given))
    assert before == ["digest"]
    assert [leaf for leaf, _ in read] == [leaf for leaf, _ in given]
    assert [type(value) for _, value in read] == [type(value) for _, value in given]
    assert _digests(read) == _digests(given)


def test_a_record_with_a_pickle_is_refused():
    import io

    data = io.BytesIO()
    np.savez(data, rows=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        _decoded(data.getvalue())
