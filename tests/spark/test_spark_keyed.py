"""One learner for each key, as a table."""

import numpy as np
import pytest

from oskaar import OSKAAR, Ensemble, features, losses

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")


def table(n, keys, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"shop": rng.choice(keys, n), "a": rng.normal(size=n), "b": rng.normal(size=n)})
    frame["at"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(rng.permutation(n), unit="min")
    frame["y"] = np.where(frame.a > 0.3, "up", "down")
    return frame


def by_hand(learner, frame):
    """A plain loop over the rows of each key, in the order of time: answers and losses by time."""
    found, learners = {}, {}
    for row in frame.sort_values("at").itertuples():
        one = learners.setdefault(row.shop, learner.like_new())
        z = one.predict_one([row.a, row.b])
        one.learn_one([row.a, row.b], row.y)
        found[row.at] = (row.shop, z, one.loss(z, row.y))
    return found


@pytest.mark.parametrize("learner", [OSKAAR(losses.ZeroOne(), budget=8), Ensemble(losses.ZeroOne(["up", "down"]))])
def test_a_table_is_a_loop_over_keys(spark, learner):
    from oskaar.spark import keyed

    frame = table(240, ["p", "q", "r"])
    out = keyed(spark.createDataFrame(frame), learner, key="shop", x=["a", "b"], y="y", time="at").toPandas()
    assert out.columns.tolist() == ["shop", "at", "answer", "loss", "error"]
    assert out.error.isna().all()
    expected = by_hand(learner, frame)
    assert {row.at: (row.shop, row.answer, row.loss) for row in out.itertuples()} == expected


def test_bad_rows_have_their_reasons(spark):
    from pyspark.sql import functions as F

    from oskaar.spark import keyed

    frame = table(30, ["p", "q"])
    bad = pd.DataFrame({"shop": [None, "p", "q"], "a": [1.0, np.nan, 1.0], "b": 1.0, "y": ["up", "up", "sideways"]})
    bad["at"] = pd.to_datetime("2026-02-01")
    df = spark.createDataFrame(pd.concat([frame, bad], ignore_index=True))
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    out = keyed(df, learner, key=["shop"], x=["a", "b"], y="y", time="at").toPandas()
    assert out.error.isna().sum() == 30
    reasons = sorted(out.error.dropna())
    assert reasons[0].startswith("key 'p': x in column 'a', 'b': x must be finite, got nan in feature 0")
    assert reasons[1].startswith("key 'q': y in column 'y': unknown class 'sideways'")
    assert reasons[2].startswith("the key in column 'shop' is null")
    words = df.withColumn("word", df.y).withColumn("list", F.array("a")).withColumn("inside", F.struct("a"))
    for settings, reason in (
        ({"time": "word"}, "time must be a column of timestamps, dates or numbers, 'word' is string"),
        ({"id": "list"}, "id must be a column of text, numbers or times, 'list' is array<double>"),
        ({"ticket": "a", "x": ["b"]}, "ticket must be a column of text, 'a' is double"),
        ({"id": "word", "ticket": "word"}, "by id or by ticket"),
        ({"id": "shop"}, "columns of their own, shop is two of them"),
        ({"x": ["a", "y"]}, "'y' must not be a column of x"),
        ({"x": ["at"], "time": "at"}, "give x a copy of the column"),
        ({"x": ["a", "inside"]}, "'inside' is struct"),
        ({"time": "at", "delay": "soon"}, "delay must be a duration >= 0 such as '10 minutes', got 'soon'"),
        ({"time": "at", "expire": 5}, "expire must be a duration"),
        ({"time": "at", "timeout": "-1 days"}, "timeout must be a duration"),
        ({"learner": "OSKAAR"}, "learner must be a learner of oskaar"),
    ):
        with pytest.raises((ValueError, TypeError), match=reason):
            keyed(words, **{"learner": learner, "key": "shop", "x": ["a"], "y": "y", **settings})
    with pytest.raises(ValueError, match="rename answer"):
        keyed(df.withColumnRenamed("shop", "answer"), learner, key="answer", x=["a"], y="y")
    with pytest.raises(ValueError, match="delay must be a number"):
        keyed(df.withColumn("n", df.a), learner, key="shop", x=["a"], y="y", time="n", delay="5 minutes")
    with pytest.raises(ValueError, match="needs time="):
        keyed(df, learner, key="shop", x=["a"], y="y", delay=3)
    with pytest.raises(ValueError, match="'nowhere'"):
        keyed(df, learner, key="nowhere", x=["a"], y="y")


def test_columns_come_back_as_they_went(spark):
    """Large whole numbers beside nulls, and the hour that a time zone has twice: pandas would round and mix them."""
    from oskaar.spark import keyed

    large = 2**53 + 1
    rows = [
        ("p", i, float(i), None if i == 4 else large + 2 * (i % 2), None if i == 3 else large + i) for i in range(8)
    ]
    df = spark.createDataFrame(rows, "shop string, n int, a double, y bigint, id bigint")
    learner = OSKAAR(losses.ZeroOne(), features=features.LinearMap(1))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = df.selectExpr("*", "timestamp_seconds(1761433200 + n * 1200) at").selectExpr(
            "*", "cast(at as timestamp_ntz) local", "date_add(date '2026-01-01', n) day", "n + 9007199254740993 count"
        )
        for time in ("at", "day", "count", "n"):
            out = keyed(df, learner, key="shop", x=["a"], y="y", time=time, id="id")
            wide = out.selectExpr("*", f"cast({time} as string) as told").collect()
            assert [row.id for row in wide] == [row[4] for row in rows]
            assert [row.told for row in wide] == [
                row[0] for row in df.selectExpr(f"cast({time} as string)").collect()
            ]
            assert wide[-1].answer in (large, large + 2)
        instants = [
            row[0]
            for row in keyed(df, learner, key="shop", x=["a"], y="y", time="at")
            .selectExpr("unix_seconds(at)")
            .collect()
        ]
        assert instants == [1761433200 + 1200 * i for i in range(8)]
        local = keyed(df, learner, key="shop", x=["a"], y="y", time="local", delay="1 day")
        assert sorted(row.local for row in local.collect()) == sorted(row.local for row in df.collect())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_numbers_as_labels_and_learners_that_know_something(spark):
    from oskaar.spark import keyed

    df = spark.createDataFrame(
        [("p", i, float(i % 3), i % 3) for i in range(9)], "shop string, n int, a double, y int"
    )
    start = OSKAAR(losses.Squared(), features=features.LinearMap(1), lam=0.1)
    known = start.like_new().partial_fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    for learner in (start, known):
        one = (
            learner.like_new() if learner is start else known.like_new().partial_fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        )
        expected = []
        for i in range(9):
            expected.append(float(one.predict_one([float(i % 3)])[0]))
            one.learn_one([float(i % 3)], i % 3)
        out = keyed(df, learner, key="shop", x="a", y="y", time="n").toPandas()
        assert out.error.isna().all()
        np.testing.assert_allclose(out.answer, expected, atol=1e-10)
    assert known.rounds == 3


def test_times_and_tokens_in_x(spark):
    """Rows of cells that are no numbers: the same in a fit, in answers and for each key."""
    from oskaar.spark import fit, keyed, predict

    rows = [
        ("p", i, f"2026-01-0{1 + i % 7} 0{i % 9}:00:00", ["red", "blue"] if i % 2 else ["green"]) for i in range(40)
    ]
    df = spark.createDataFrame(rows, "shop string, n int, at string, words array<string>").selectExpr(
        "shop", "n", "if(n = 5, null, cast(at as timestamp)) seen", "words", "if(words[0] = 'red', 'up', 'down') y"
    )
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), budget=16, lam=0.1)
    model = fit(df, learner, x=["n", "seen", "words"], y="y")
    answers = predict(df, model, x=["n", "seen", "words"]).toPandas()
    assert (model.rounds, (answers.answer == answers.y).mean() > 0.9) == (40, True)
    out = keyed(df, model.like_new(), key="shop", x=["n", "seen", "words"], y="y", time="n").toPandas()
    cells = [
        {"n": float(r.n), "seen": pd.Timestamp(r.seen) if r.seen else None, "words": r.words} for r in df.collect()
    ]
    assert out.error.isna().all()
    assert out.answer.tolist() == by_round(model.like_new(), cells, df.toPandas().y)


def by_round(learner, rows, ys):
    found = []
    for x, y in zip(rows, ys, strict=True):
        found.append(learner.predict_one(x))
        learner.learn_one(x, y)
    return found
