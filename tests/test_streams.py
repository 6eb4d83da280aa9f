import gzip

import numpy as np
import pytest

from oskaar import losses, streams

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


def test_nominal_numbers(tmp_path):
    """Values that are numbers stay themselves; a sparse row that lacks one has the first."""
    (tmp_path / "n.arff").write_text(
        "@relation n\n@attribute l {0,1}\n@attribute size {30, 10}\n@data\n{0 1,1 10}\n{0 1}\n"
    )
    X, _ = streams.read_arff(tmp_path / "n.arff", 1)
    np.testing.assert_array_equal(X.toarray(), [[10], [30]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DENSE + "1,red,0\n", "line 11: cannot read '1,red,0'"),
        (DENSE + "1,blue,0,0\n", "line 11: column 'color' must be one of red, green, got 'blue'"),
        (DENSE + "many,red,0,0\n", "line 11: column 'a' must be a number, got 'many'"),
        (DENSE + "?,red,0,0\n", "line 11: column 'a' must be a number, got None"),
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


CONLLU = """# sent_id = 1
# text = I can't go
1\tI\tI\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
3.1\tsurely\t_\tADV\t_\t_\t_\t_\t4:advmod\t_
4\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

# sent_id = 2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_conllu(tmp_path, end):
    """Ranges and empty nodes are no tokens; the last sentence may end with the file."""
    (tmp_path / "a.conllu").write_text(CONLLU.rstrip("\n") + end)
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    sentences = streams.read_conllu(tmp_path / "a.conllu")
    assert sentences == streams.read_conllu(tmp_path / "a.conllu.gz")
    assert sentences == [
        (("I", "ca", "n't", "go"), ("PRON", "AUX", "PART", "VERB"), (4, 4, 4, 0)),
        (("Yes",), ("INTJ",), (0,)),
    ]
    assert sentences[0].heads == losses.DependencyTree().check(sentences[0].heads)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2\tno\tno\tINTJ\tUH\t_\t1", "line 12: a token must have 10 fields, as the first had, got 7"),
        ("3\tno\tno\tINTJ\tUH\t_\t1\t_\t_\t_", "line 12: token 2 must come next, got '3'"),
        ("x\tno\tno\tINTJ\tUH\t_\t1\t_\t_\t_", "line 12: token 2 must come next, got 'x'"),
        ("2\tno\tno\tINTJ\tUH\t_\t_\t_\t_\t_", "line 12: the head of token 2 must be a number, got '_'"),
    ],
)
def test_conllu_that_cannot_be_read(tmp_path, line, message):
    (tmp_path / "a.conllu").write_text(CONLLU + line + "\n")
    with pytest.raises(ValueError, match=message):
        streams.read_conllu(tmp_path / "a.conllu")
