"""Learners on Spark: one model over many rows, or one learner for each of many keys (the extra `spark`).

    model = spark.fit(df, learner, x=["a", "b"], y="label")        sums by partition, added up, one solve
    answers = spark.predict(df, model, x=["a", "b"])               a column of answers
    stream.writeStream.foreachBatch(spark.Batches(model, folder, x=..., y=...))
    spark.keyed(df, learner, key="customer", x=..., y=..., time="at")   a table or a stream

docs/spark.md goes through them.
"""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.spark.batches import Batches
    from oskaar.spark.keyed import keyed
    from oskaar.spark.model import fit, predict
    from oskaar.spark.session import session

_HOMES = {"batches": "Batches", "keyed": "keyed", "model": "fit predict", "session": "session"}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = ["Batches", "fit", "keyed", "predict", "session"]
