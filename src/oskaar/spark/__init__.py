"""Learners on Spark: one model over many rows, or one learner for each of many keys (the extra `spark`).

    model = spark.fit(df, learner, x=["a", "b"], y="label")        sums by partition, added up, one solve
    answers = spark.predict(df, model, x=["a", "b"])               a column of answers
    stream.writeStream.foreachBatch(spark.Batches(model, folder, x=..., y=...))
    spark.keyed(df, learner, key="customer", x=..., y=..., time="at")   a table or a stream

docs/spark.md goes through them.
"""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
