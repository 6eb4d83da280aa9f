"""Spark sessions with what oskaar needs: this Python in the workers, and a state store on disk."""

from __future__ import annotations

import os
import sys
from typing import Any

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""Keyed state on disk, with checkpoints of what has changed."""


def session(name: str = "oskaar", cores: int = 2, memory: str = "2g", **settings: Any) -> Any:
    """A session on this machine alone: so many cores, all addresses local, no page in the browser.

    settings: more of Spark's, with underscores for dots: `spark_sql_shuffle_partitions=4`.
    On a cluster take the session that is there: `fit`, `predict` and `keyed` set up what they need.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    ours = {
        "spark.driver.memory": memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": STORE,
    }
    builder = SparkSession.builder.appName(name).master(f"local[{cores}]")
    for key, value in (ours | {key.replace("_", "."): str(value) for key, value in settings.items()}).items():
        builder = builder.config(key, value)
    return set_up(builder.getOrCreate())


def set_up(spark: Any) -> Any:
    """A session of the user's, with this Python in workers on this machine, and with our state store."""
    context, store = getattr(spark, "_sc", None), "spark.sql.streaming.stateStore.providerClass"
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    if spark.conf.get(store, "") != STORE:
        spark.conf.set(store, STORE)
    return spark
