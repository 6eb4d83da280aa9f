"""A keyed stream from files to files, to be killed at any moment: python killed.py folder seconds_a_label.

A query that fails, as when a worker is killed, is started again from its checkpoint.
"""

import sys
import time
from pathlib import Path

from oskaar import OSKAAR, features, losses
from oskaar import spark as ospark

SCHEMA = "shop string, at timestamp, a double, b double, y string, id bigint"


class Slow:
    """The label itself, after a while: there is time to be killed in."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, label):
        time.sleep(self.seconds)
        return label


def run(folder, seconds):
    session = ospark.session("killed", cores=2, memory="1g")
    session.sparkContext.setLogLevel("OFF")
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), features=features.LinearMap(2))
    for _ in range(30):
        df = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
        out = ospark.keyed(df, learner, key="shop", x=["a", "b"], y="y", time="at", id="id", label=Slow(seconds))
        writer = out.writeStream.format("parquet").option("path", str(folder / "out"))
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            break
        except Exception as error:
            print("started again after", type(error).__name__, flush=True)
    session.stop()
    print("finished", flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), float(sys.argv[2]))
