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


def test_maps_rounds_of_parts_and_rows_that_no_map_takes(spark):
    from oskaar.spark import fit, predict

    good = [({"u": 1.0, "v": float(i)}, "p" if i < 4 else "q") for i in range(8)]
    df = spark.createDataFrame([*good, (None, "p"), ({"u": float("inf")}, "p")], "x map<string,double>, y string")
    learner = OSKAAR(losses.ZeroOne(), budget=8, lam=0.1)
    model = fit(df, learner, x="x", y="y", skip_bad=True)
    assert model.rounds == 8
    why = predict(df, model, x="x", errors="why").where("why is not null").collect()
    assert len(why) == 2
    with pytest.raises(ValueError, match="2 rows cannot be learned, such as one with x in column 'x'"):
        fit(df, learner, x="x", y="y")
    with pytest.raises(ValueError, match="none that can be read"):
        fit(df.where("x is null"), learner, x="x", y="y")
    parts = [([[1.0, 2.0], [0.0, 1.0]], ["a", "b"])] * 4 + [([[1.0, 2.0]], ["a", "b"])]
    df = spark.createDataFrame(parts, "x array<array<double>>, y array<string>")
    model = fit(df, OSKAAR(losses.Sequence("ab"), features=features.LinearMap(2)), x="x", y="y", skip_bad=True)
    assert (model.rounds, predict(df, model, x="x").first().answer) == (4, ["a", "b"])
    huge = spark.createDataFrame([(float(i), "p") for i in range(20)] + [(1e9, "q")], "a double, y string")
    model = fit(huge, OSKAAR(losses.ZeroOne(), features=features.LinearMap(1)), x="a", y="y", skip_bad=True)
    assert (model.rounds, list(model.space.positions)) == (20, ["p"])


def test_answers_leave_the_other_columns_alone(spark):
    """Large whole numbers beside nulls, and the hour that a time zone has twice."""
    from oskaar.spark import fit, predict

    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = spark.range(8).selectExpr(
            "timestamp_seconds(1761433200 + id * 1200) at", "if(id % 2 = 0, id + 9007199254740993, null) large",
            "cast(id as decimal(9, 2)) a", "array(id, null) many", "named_struct('u', id) inside", "id > 3 flag",
        )  # fmt: skip
        model = fit(
            df, OSKAAR(losses.ZeroOne(), features=features.LinearMap(2)), x=["a", "flag"], y="large", skip_bad=True
        )
        assert sorted(model.space.positions) == [2**53 + i for i in (1, 3, 5, 7)]
        out = predict(df, model, x=["a", "flag"])
        assert out.drop("answer").collect() == df.collect()
        instants = "unix_seconds(at)"
        assert out.selectExpr(instants).collect() == df.selectExpr(instants).collect()
        assert {row.answer for row in out.collect()} <= set(model.space.positions)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    with pytest.raises(ValueError, match="flag is there already"):
        predict(df, model, x=["a", "flag"], into="flag")


def test_what_cannot_be_fitted(spark, tmp_path):
    from oskaar.spark import Batches, fit

    df = spark.createDataFrame([(1.0, "a")], "x double, y string")
    for learner, reason in (
        (OSKAAR(losses.ZeroOne("ab")), "whose rows are sums"),
        (OSKAAR(losses.ZeroOne("ab"), features=FOURIER, shifted=True), "shifted=False"),
        (Ensemble(losses.ZeroOne("ab")), "OSKAAR on features"),
        ("a model", "OSKAAR on features"),
    ):
        with pytest.raises(ValueError, match=reason):
            fit(df, learner, x=["x"], y="y")
        with pytest.raises(ValueError, match=reason):
            Batches(learner, tmp_path / "none", x=["x"], y="y")
    with pytest.raises(ValueError, match="'z'"):
        fit(df, OSKAAR(losses.ZeroOne("ab"), features=FOURIER), x=["z"], y="y")
    empty = fit(df.where("x > 5"), OSKAAR(losses.ZeroOne("ab"), features=FOURIER), x=["x"], y="y")
    assert empty.rounds == 0
