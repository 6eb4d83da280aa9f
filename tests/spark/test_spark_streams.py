"""Structured Streaming: the numbers of a table, exactly once."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from oskaar import OSKAAR, features, losses

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
SCHEMA = "shop string, at timestamp, a double, b double, y string, id bigint"


def table(n, keys, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"shop": rng.choice(keys, n), "a": rng.normal(size=n), "b": rng.normal(size=n)})
    frame["at"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(n), unit="min")
    frame["y"] = np.where(frame.a > 0.3, "up", "down")
    frame["id"] = np.arange(n)
    return frame


def write(folder, frame, number):
    """One file, which is one batch."""
    folder.mkdir(exist_ok=True)
    records = json.loads(frame.assign(at=frame["at"].astype(str)).to_json(orient="records"))
    lines = "\n".join(json.dumps({k: v for k, v in row.items() if v is not None}) for row in records)
    (folder / f".{number:03d}").write_text(lines)
    (folder / f".{number:03d}").rename(folder / f"{number:03d}.json")


def read_stream(spark, folder):
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def finish(writer, checkpoint, attempts=15):
    """Run to the end of the files. Spark gives a worker 10 seconds to start: on a busy machine, once more."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(300)
    except Exception as error:
        if attempts == 1 or "failed to connect back" not in str(error):
            raise
        finish(writer, checkpoint, attempts - 1)


def test_keyed_streams_have_the_numbers_of_tables(spark, tmp_path):
    """Three batches, a stop between them, late labels and a bad row: as one table."""
    from oskaar.spark import keyed

    frame = table(120, ["p", "q", "r"])
    late = frame.index % 5 == 0  # these labels come in rows of their own, an hour later
    told = frame[late].assign(a=np.nan, b=np.nan, at=frame["at"] + pd.Timedelta("61min") + pd.Timedelta("1s"))
    bad = frame[:1].assign(shop="p", y="sideways", at=pd.Timestamp("2026-01-01 00:30:30"), id=999)
    rows = pd.concat([frame.assign(y=frame.y.where(~late, None)), told, bad]).sort_values("at", kind="stable")
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    settings = {"key": "shop", "x": ["a", "b"], "y": "y", "time": "at", "id": "id", "timeout": "2 hours"}
    settings |= {"delay": "1 hour", "expire": "30 days"}
    source, sink, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    for i, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        write(source, rows.iloc[part], i)
        if i:  # the first run sees two files
            out = keyed(read_stream(spark, source), learner, **settings)
            finish(out.writeStream.format("parquet").option("path", str(sink)), checkpoint)
    streamed = spark.read.parquet(str(sink)).toPandas()
    whole = keyed(spark.read.schema(SCHEMA).json(str(source)), learner, **settings).toPandas()
    order = ["shop", "at", "id"]
    for one in (streamed, whole):
        one.sort_values(order, inplace=True, ignore_index=True)
    pd.testing.assert_frame_equal(streamed, whole)
    assert len(whole) == len(rows)
    assert whole.error.notna().sum() == 1
    assert whole.loss.notna().sum() == 120


def test_batches_are_answered_before_they_are_learned_and_learned_once(spark, tmp_path, monkeypatch):
    from oskaar.spark import Batches

    frame = table(300, ["p"])
    source, learner = tmp_path / "in", OSKAAR(losses.ZeroOne(), features=features.LinearMap(2), lam=0.1)
    for i in range(3):
        write(source, frame[100 * i : 100 * (i + 1)], i)

    def run(name):
        batches = Batches(learner, tmp_path / name, x=["a", "b"], y="y")
        finish(read_stream(spark, source).writeStream.foreachBatch(batches), tmp_path / name / "checkpoint")
        return batches

    model = run("whole").model
    expected, losses_of = copy.deepcopy(learner), []
    for i in range(3):
        part = frame[100 * i : 100 * (i + 1)]
        losses_of.append(-100 * expected.score(part[["a", "b"]].to_numpy(), part.y))
        expected.learn_batch(part[["a", "b"]].to_numpy(), part.y)
    assert (model.rounds, model.unanswered, model.total_loss) == (300, 0, pytest.approx(sum(losses_of)))
    order = [list(expected.space.positions).index(y) for y in model.space.positions]
    for x in frame[["a", "b"]].to_numpy()[:9]:
        np.testing.assert_allclose(model.estimate(x), expected.estimate(x)[order], atol=1e-8)
    answers = spark.read.parquet(str(tmp_path / "whole" / "answers")).toPandas()
    assert len(answers) == 300

    failing = {"left": 2}
    save = OSKAAR.save

    def fail(self, path):
        failing["left"] -= 1
        if failing["left"] == 0:  # the answers of the second batch are written, its model is not
            raise OSError("the machine stops here")
        save(self, path)

    monkeypatch.setattr(OSKAAR, "save", fail)
    with pytest.raises(Exception, match="the machine stops here"):
        run("broken")
    again = run("broken").model
    assert (again.rounds, again.total_loss) == (300, model.total_loss)
    np.testing.assert_array_equal(again.estimate([1.0, 2.0]), model.estimate([1.0, 2.0]))
    twice = spark.read.parquet(str(tmp_path / "broken" / "answers")).toPandas()
    both = [one.sort_values("id", ignore_index=True) for one in (answers, twice)]
    pd.testing.assert_frame_equal(*both)
    with pytest.raises(ValueError, match="use another folder"):
        Batches(OSKAAR(losses.ZeroOne("ab"), features=features.LinearMap(2)), tmp_path / "whole", x=["a"], y="y")


def test_an_old_checkpoint_of_other_columns_is_refused(spark, tmp_path):
    from oskaar.spark import keyed

    source, learner = tmp_path / "in", OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    write(source, table(9, ["p"]), 0)

    def run(x):
        out = keyed(read_stream(spark, source), learner, key="shop", x=x, y="y", time="at")
        finish(out.writeStream.format("noop"), tmp_path / "checkpoint")

    run(["a", "b"])
    write(source, table(9, ["p"], seed=1), 1)
    with pytest.raises(Exception, match=r"state of key \('p',\) was made with other settings"):
        run(["b", "a"])
