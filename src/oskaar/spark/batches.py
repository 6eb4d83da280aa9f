"""One model on a stream of batches: each is answered by the model before it, then learned, once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from oskaar.alike import difference
from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.saving import load
from oskaar.spark.columns import Columns, allowed, answer_type
from oskaar.spark.keys import unlike
from oskaar.spark.model import agreed, answered, require_mergeable, shards
from oskaar.spark.session import set_up

KEPT = 2
"""So many models are kept: that of the last batch, and the one before."""

NOTHING = "no row up to this batch can be read, so that there is no feature map to learn with: x in columns "


class Batches:
    """What to give to `foreachBatch`: answers of the model before a batch, then the model with it.

    folder: models go to folder/models, one file a batch, and answers to folder/answers/batch=..., as Parquet. A batch
    that Spark sends again after a failure writes the same answers in place of the old ones, and is not learned
    twice: a model's file, which appears in one step, bears the number of its batch. Start again with the same folder
    and the same checkpointLocation.

        query = df.writeStream.foreachBatch(Batches(learner, folder, x=["a"], y="y")).option(
            "checkpointLocation", ...).start()

    A row without a label is answered only. A bad row has its reason in the column `error`; so has one whose label
    came before any row from which a map could be agreed on. `model` is the learner after the last batch: its
    total_loss is that of the answers that were given before the labels were used.
    """

    def __init__(
        self, learner: OSKAAR, folder: Any, x: Any, y: str, label: Any = None, type: str | None = None
    ) -> None:
        require_mergeable(learner, "oskaar.spark.Batches")
        self.folder, self.x, self.y, self.label, self.type = Path(folder), x, y, label, type
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        self._allow = allowed(learner)
        self._settle(learner)
        self.batch, self.model = -1, learner
        for number, path in self._files()[-1:]:
            self.batch, self.model = number, load(path, self._allow)

    def _settle(self, learner: OSKAAR) -> None:
        """Write down what the folder is made with, or refuse a folder that was made with something else."""
        start, names = self.folder / "start.oskaar", self.folder / "columns.json"
        columns = {"x": [self.x] if isinstance(self.x, str) else list(self.x), "y": self.y}
        if names.exists():
            found = json.loads(names.read_text())
            differs = unlike(load(start, self._allow), learner) or difference(found, columns, "columns")
            if differs:
                raise ValueError(
                    f"{self.folder} was made with other settings: {differs}. Use another folder, with a new "
                    "checkpointLocation, or the old columns and learner."
                )
            return
        learner.like_new().save(start)
        part = names.with_suffix(".part")
        part.write_text(json.dumps(columns))
        part.replace(names)  # whole, at any moment

    def __call__(self, df: Any, batch: int) -> None:
        """Answer and learn one batch."""
        if batch <= self.batch:
            return
        from pyspark.sql import functions as F

        set_up(df.sparkSession)
        df = df.persist()
        try:
            columns = Columns.of(df, self.x, self.y, self.label)
            start = agreed(df, self.model, columns)
            model = self.model if start is None else start
            kind = self.type or answer_type(model.like_new(), dict(df.dtypes)[self.y], self.label)
            answers = answered(df, columns, model, "answer", kind, "error")
            if start is None:
                answers = answers.withColumn(
                    "error", F.when(F.col(f"`{self.y}`").isNotNull(), F.lit(NOTHING + f"{columns.names}."))
                )
            answers.write.mode("overwrite").parquet(str(self.folder / "answers" / f"batch={batch}"))
            if start is not None:
                labelled = df.where(df[self.y].isNotNull())
                found = shards(labelled, columns, model.like_new(), skip_bad=True, before=model)
                model = OSKAAR.merged([model, *found])
        finally:
            df.unpersist()
        model.save(self.folder / "models" / f"{batch:09d}.oskaar")
        self.batch, self.model = batch, model
        for _, path in self._files()[:-KEPT]:
            path.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        """The models there are, by the number of their batch."""
        paths = (self.folder / "models").glob("*.oskaar")
        return sorted((int(path.stem), path) for path in paths if re.fullmatch(r"\d+", path.stem))
