"""One model over the rows of a frame: as on one machine, whatever the partitioning."""

import copy

import numpy as np
import pytest

from oskaar import OSKAAR, Ensemble, features, kernels, losses

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
pd = pytest.importorskip("pandas")
FOURIER = features.RandomFourier(kernels.Gaussian(1.0) + 1.0, 17)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": 10 * rng.normal(size=n), "word": rng.choice(list("uvw"), n)})
    frame["y"] = np.where(frame.a + 0.1 * frame.b > 0.5, "up", np.where(frame.word == "u", "flat", "down"))
    return frame


def estimates(learner, rows):
    """By label."""
    return [dict(zip(learner.space.positions, learner.estimate(x))) for x in rows]


def agree(one, other, rows):
    for a, b in zip(estimates(one, rows), estimates(other, rows)):
        assert a == pytest.approx(b, abs=1e-8)


def test_fit_is_as_on_one_machine(spark):
    from oskaar.spark import fit, predict

    frame = table(900)
    df, X = spark.createDataFrame(frame), frame[["a", "b"]].to_numpy()
    learner = OSKAAR(losses.ZeroOne(), features=FOURIER, lam=0.1)
    one = copy.deepcopy(learner).learn_batch(X, frame.y)
    for parts in (1, 5, 40):  # more partitions than are merged at a time
        model = fit(df.repartition(parts), learner, x=["a", "b"], y="y")
        assert (model.rounds, model.unanswered, learner.rounds) == (900, 900, 0)
        agree(model, one, X[:9])
    more = fit(df.where("a > 0"), model, x=["a", "b"], y="y")  # goes on where the model was
    agree(more, copy.deepcopy(one).learn_batch(X[frame.a > 0], frame.y[frame.a > 0]), X[:9])
    answers = predict(df, model, x=["a", "b"]).toPandas()
    assert answers.columns.tolist() == [*frame.columns, "answer"]
    assert answers.answer.tolist() == model.predict(answers[["a", "b"]].to_numpy())


def test_a_map_agreed_on_from_a_sample(spark):
    """A budget and its units, and the names of dict rows, do not depend on the partitioning."""
    from oskaar.spark import fit

    frame = table(400, seed=1)
    df = spark.createDataFrame(frame)
    for x, learner in (
        (["a", "b"], OSKAAR(losses.ZeroOne(), budget=12, lam=0.1)),
        (["a", "word"], OSKAAR(losses.ZeroOne(), features=features.Hashing(12))),
    ):
        first, second = (fit(df.repartition(parts), learner, x=x, y="y", sample=100) for parts in (1, 6))
        rows = frame[x].to_dict("records") if "word" in x else frame[x].to_numpy()
        agree(first, second, rows[:9])
        agree(first, first.like_new().learn_batch(rows, frame.y), rows[:9])


def test_arrays_sets_and_bad_rows(spark):
    from oskaar.spark import fit, predict

    rows = [([float(i % 7), 1.0], [i % 3]) for i in range(60)] + [
        ([1.0, 2.0], None),
        ([1.0, None], [1]),
        ([1.0], [2]),
    ]
    df = spark.createDataFrame(rows, "x array<double>, tags array<int>")
    learner = OSKAAR(losses.F1(3), features=features.LinearMap(2))
    with pytest.raises(ValueError, match=r"3 rows cannot be learned, such as one with [xy] in column '(x|tags)'"):
        fit(df, learner, x="x", y="tags", label=frozenset)
    model = fit(df, learner, x="x", y="tags", label=frozenset, skip_bad=True)
    one = copy.deepcopy(learner).learn_batch([x for x, _ in rows[:60]], [frozenset(t) for _, t in rows[:60]])
    np.testing.assert_allclose(model.estimate([3.0, 1.0]), one.estimate([3.0, 1.0]), atol=1e-8)
    answers = predict(df, model, x="x", type="array<bigint>", errors="why").toPandas()
    assert answers.why.notna().sum() == 2
    assert "'x'" in answers.why.dropna().iloc[0]
    assert answers[answers.why.isna()].answer.map(list).tolist()[0] == sorted(one.predict_one([0.0, 1.0]))


def test_what_cannot_be_fitted(spark):
    from oskaar.spark import fit

    df = spark.createDataFrame([(1.0, "a")], "x double, y string")
    for learner, reason in (
        (OSKAAR(losses.ZeroOne("ab")), "whose rows are sums"),
        (OSKAAR(losses.ZeroOne("ab"), features=FOURIER, shifted=True), "shifted=False"),
        (Ensemble(losses.ZeroOne("ab")), "OSKAAR on features"),
    ):
        with pytest.raises(ValueError, match=reason):
            fit(df, learner, x=["x"], y="y")
    with pytest.raises(ValueError, match="'z'"):
        fit(df, OSKAAR(losses.ZeroOne("ab"), features=FOURIER), x=["z"], y="y")
    empty = fit(df.where("x > 5"), OSKAAR(losses.ZeroOne("ab"), features=FOURIER), x=["x"], y="y")
    assert empty.rounds == 0
