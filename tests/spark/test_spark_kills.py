"""kill -9 in the middle of a stream: answers and states are those of a run that nobody disturbed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from test_spark_streams import table, write

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
FILES, ROWS = 6, 60


def start(folder, seconds):
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(folder), str(seconds)]
    return subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def batches(folder):
    """How many batches are committed."""
    return len(list((folder / "out" / "_spark_metadata").glob("[0-9]*")))


def wait_for(condition, process, seconds=400):
    end = time.time() + seconds
    while not condition():
        assert process.poll() is None, "the driver has ended"
        assert time.time() < end, "nothing happens"
        time.sleep(0.2)


def descendants(pid):
    """Processes that a process has started, and those that these have."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        parents.setdefault(int(text.rsplit(")", 1)[1].split()[1]), []).append(int(text.split()[0]))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def workers(pid):
    """Python workers: children of the daemon that the driver's Java has started."""
    return [p for p in descendants(pid) if "pyspark" in _command(p) and "daemon" in _command(p)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def answers(folder):
    """What the sink's log says was written, in the order of rows."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    frame = spark.read.parquet(str(folder / "out")).toPandas()
    return frame.sort_values("id", ignore_index=True)[["id", "shop", "at", "answer", "loss", "error"]]


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    rows = fill(folder)
    assert "finished" in start(folder, 0).communicate(timeout=500)[0]
    found = answers(folder)
    assert len(found) == rows
    return found


def fill(folder):
    frame = table(FILES * ROWS, ["p", "q", "r"])
    for i in range(FILES):
        write(folder / "in", frame[ROWS * i : ROWS * (i + 1)], i)
    return len(frame)


def test_kill_the_driver(undisturbed, tmp_path):
    fill(tmp_path)
    for committed in (1, 3):
        driver = start(tmp_path, 0.05)
        wait_for(lambda: batches(tmp_path) > committed, driver)  # noqa: B023
        time.sleep(0.5)  # somewhere in the next batch
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert batches(tmp_path) < FILES
    assert "finished" in start(tmp_path, 0).communicate(timeout=500)[0]
    pd.testing.assert_frame_equal(answers(tmp_path), undisturbed)


def test_kill_a_worker(undisturbed, tmp_path):
    fill(tmp_path)
    driver = start(tmp_path, 0.05)
    wait_for(lambda: batches(tmp_path) > 1, driver)
    wait_for(lambda: len(workers(driver.pid)) > 1, driver)
    for pid in workers(driver.pid):
        os.kill(pid, signal.SIGKILL)
    message = driver.communicate(timeout=500)[0]
    assert "finished" in message
    pd.testing.assert_frame_equal(answers(tmp_path), undisturbed)
