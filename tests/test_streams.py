import gzip

import numpy as np
import pytest

from oskaar import streams

DENSE = """% a comment
@relation test
@attribute a numeric
@attribute color {red, green}
@attribute l1 {0,1}
@attribute l2 {0,1}
@data
1.5,green,0,1

-2,red,1,1
"""

SPARSE = """@relation 'x: -C 2'
@ATTRIBUTE l1 {0,1}
@ATTRIBUTE l2 {0,1}
@ATTRIBUTE w1 numeric
@ATTRIBUTE w2 numeric
@DATA
{1 1, 3 2.5}
{}
{0 1,1 1,2 1}
"""


def test_dense(tmp_path):
    (tmp_path / "d.arff").write_text(DENSE)
    X, ys = streams.read_arff(tmp_path / "d.arff", -2)
    np.testing.assert_array_equal(X, [[1.5, 1], [-2, 0]])
    assert ys == [{1}, {0, 1}]


def test_sparse_and_compressed(tmp_path):
    (tmp_path / "s.arff.gz").write_bytes(gzip.compress(SPARSE.encode()))
    X, ys = streams.read_arff(tmp_path / "s.arff.gz", 2)
    np.testing.assert_array_equal(X.toarray(), [[0, 2.5], [0, 0], [1, 0]])
    assert ys == [{1}, set(), {0, 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DENSE + "1,red,0\n", "line 11: cannot read '1,red,0'"),
        (DENSE + "1,blue,0,0\n", "line 11"),
        (SPARSE + "{9 1}\n", "line 10"),
        ("@relation x\n@attribute a numeric\n", "no @data line"),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "bad.arff").write_text(text)
    with pytest.raises(ValueError, match=message):
        streams.read_arff(tmp_path / "bad.arff", 1)
    (tmp_path / "good.arff").write_text(DENSE)
    with pytest.raises(ValueError, match="cannot be the labels"):
        streams.read_arff(tmp_path / "good.arff", 4)


def test_standardised_does_not_look_ahead(rng):
    X = rng.normal(size=(50, 4)) * [1, 100, 1e-6, 0] + [0, 1e6, 0, 5]
    whole = streams.standardised(X)
    for t in range(50):
        np.testing.assert_array_equal(streams.standardised(X[: t + 1]), whole[: t + 1])
    spread = X[:, :3].std(axis=0)
    np.testing.assert_allclose(whole[-1, :3], (X[-1, :3] - X[:, :3].mean(axis=0)) / spread, rtol=1e-6)
    assert not whole[:, 3].any()
    assert streams.standardised(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="matrix of rows"):
        streams.standardised(np.zeros(3))
