"""Structured Streaming: the numbers of a table, exactly once."""

import copy
import json
import os
import time

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
    os.utime(
        folder / f".{number:03d}", (1_790_000_000 + number,) * 2
    )  # Spark reads files in the order of their times
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
    for other, x, reason in (
        (OSKAAR(losses.ZeroOne("ab"), features=features.LinearMap(2), lam=0.1), ["a", "b"], "learner.loss"),
        (OSKAAR(losses.ZeroOne(), features=features.LinearMap(2), lam=0.2), ["a", "b"], "learner.lam"),
        (learner, ["b", "a"], "columns.x.0 is 'a' in one and 'b' in the other"),
    ):
        with pytest.raises(ValueError, match=rf"made with other settings: .*{reason}.*Use another folder"):
            Batches(other, tmp_path / "whole", x=x, y="y")


def test_an_old_checkpoint_of_other_columns_is_refused(spark, tmp_path):
    from oskaar.spark import keyed

    source, learner = tmp_path / "in", OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    write(source, table(9, ["p"]), 0)

    def run(x):
        out = keyed(read_stream(spark, source), learner, key="shop", x=x, y="y", time="at")
        finish(out.writeStream.format("noop"), tmp_path / "checkpoint")

    run(["a", "b"])
    write(source, table(9, ["p"], seed=1), 1)
    same, learner = learner, OSKAAR(losses.ZeroOne(["up", "down"]), features=features.Hashing(8))
    with pytest.raises(Exception, match=r"state of key \('p',\) was made with other settings: the learner.features"):
        run(["a", "b"])
    learner = same
    with pytest.raises(Exception, match=r"state of key \('p',\) was made with other settings"):
        run(["b", "a"])


def test_batches_agree_on_a_map_and_tell_of_bad_rows(spark, tmp_path):
    """The first batch has nothing to agree on, the second has; rows that cannot be learned are no end."""
    from oskaar.spark import Batches

    frame = table(40, ["p"])
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), budget=6, lam=0.1)
    write(tmp_path / "in", frame[:2].assign(a=np.nan, b=np.nan), 0)
    write(tmp_path / "in", frame[2:20], 1)
    bad = frame[20:23].assign(y=["sideways", None, "up"])
    write(tmp_path / "in", pd.concat([bad, frame[23:]]), 2)
    batches = Batches(learner, tmp_path / "out", x=["a", "b"], y="y")
    finish(read_stream(spark, tmp_path / "in").writeStream.foreachBatch(batches), tmp_path / "checkpoint")
    answers = spark.read.parquet(str(tmp_path / "out" / "answers")).toPandas().set_index("id").sort_index()
    assert answers.error[:2].str.startswith("no row up to this batch can be read").all()
    assert answers.error[20].startswith("y in column 'y': unknown class 'sideways'")
    assert answers.error.notna().sum() == 3
    assert answers.answer[2:].notna().all()
    learned = answers[answers.error.isna() & answers.y.notna()]
    assert batches.model.rounds == len(learned) == 36
    assert batches.model.total_loss == (learned.answer != learned.y).sum()


def test_idle_keys_leave_the_store(spark, tmp_path):
    from oskaar.spark import keyed

    learner = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    frame = table(6, ["p"])

    def run(part, number):
        write(tmp_path / "in", part, number)
        df = read_stream(spark, tmp_path / "in")
        out = keyed(df, learner, key="shop", x=["a", "b"], y="y", time="at", expire="1 second", delay="1 second")
        finish(out.writeStream.format("parquet").option("path", str(tmp_path / "out")), tmp_path / "checkpoint")
        held = spark.read.format("statestore").option("path", str(tmp_path / "checkpoint"))
        return {row[0] for row in held.option("stateVarName", "stream").load().selectExpr("key.shop").collect()}

    assert run(pd.concat([frame, frame.assign(shop="q"), frame[:1].assign(shop=None)]), 0) == {"p", "q"}
    time.sleep(1.5)
    assert run(frame[:1].assign(shop="q"), 1) == {"q"}
    out = spark.read.parquet(str(tmp_path / "out")).toPandas()
    assert out[out.shop.isna()].error.str.startswith("the key in column 'shop' is null").all()
    assert out.error.isna().sum() == 13  # q was forgotten, so that no row of it is late
