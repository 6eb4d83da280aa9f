"""One learner for each key, as a table."""

import numpy as np
import pytest

from oskaar import OSKAAR, Ensemble, features, losses

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
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
    with pytest.raises(ValueError, match="delay must be a number"):
        keyed(df.withColumn("n", df.a), learner, key="shop", x=["a"], y="y", time="n", delay="5 minutes")
    with pytest.raises(ValueError, match="needs time="):
        keyed(df, learner, key="shop", x=["a"], y="y", delay=3)
    with pytest.raises(ValueError, match="'nowhere'"):
        keyed(df, learner, key="nowhere", x=["a"], y="y")
