"""A real Spark on this machine; without one these tests are skipped."""

import shutil
import warnings

import pytest

warnings.filterwarnings("ignore", module="pyspark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("there is no Java runtime")
    from oskaar.spark import session

    spark = session("tests", cores=2, spark_sql_warehouse_dir=tmp_path_factory.mktemp("warehouse"))
    spark.sparkContext.setLogLevel("ERROR")
    yield spark
    spark.stop()
