"""One model on a stream of batches: each is answered by the model before it, then learned, once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.saving import load
from oskaar.spark.columns import Columns, allowed
from oskaar.spark.model import agreed, answered, shards
from oskaar.spark.session import set_up

KEPT = 2
"""So many models are kept: that of the last batch, and the one before."""


class Batches:
    """What to give to `foreachBatch`: answers of the model before a batch, then the model with it.

    folder: models go to folder/models, one file a batch, and answers to folder/answers/batch=..., as Parquet. A batch
    that Spark sends again after a failure writes the same answers in place of the old ones, and is not learned
    twice: a model's file, which appears in one step, bears the number of its batch. Start again with the same folder
    and the same checkpointLocation.

        query = df.writeStream.foreachBatch(Batches(learner, folder, x=["a"], y="y")).option(
            "checkpointLocation", ...).start()

    A row without a label is answered only. A bad row has its reason in the column `error`. `model` is the learner
    after the last batch: its total_loss is that of the answers that were given before the labels were used.
    """

    def __init__(
        self, learner: OSKAAR, folder: Any, x: Any, y: str, label: Any = None, type: str | None = None
    ) -> None:
        self.folder, self.x, self.y, self.label, self.type = Path(folder), x, y, label, type
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        self._allow = allowed(learner)
        self.batch, self.model = -1, learner
        for number, path in self._files()[-1:]:
            self.batch, self.model = number, load(path, self._allow)
            if type_name(self.model) != type_name(learner) or repr(self.model.loss) != repr(learner.loss):
                raise ValueError(f"{path} holds {self.model!r}, not {learner!r}: use another folder.")

    def __call__(self, df: Any, batch: int) -> None:
        """Answer and learn one batch."""
        if batch <= self.batch:
            return
        set_up(df.sparkSession)
        df = df.persist()
        try:
            columns = Columns.of(df, self.x, self.y, self.label)
            if self.model.rounds == 0 and not df.isEmpty():
                self.model = agreed(df, self.model, columns)
            kind = self.type or dict(df.dtypes)[self.y]
            answers = answered(df, columns, self.model, "answer", kind, "error")
            answers.write.mode("overwrite").parquet(str(self.folder / "answers" / f"batch={batch}"))
            labelled = df.where(df[self.y].isNotNull())
            found = shards(labelled, columns, self.model.like_new(), skip_bad=True, before=self.model)
            model = OSKAAR.merged([self.model, *found])
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


def type_name(learner: Any) -> str:
    """The class of a learner."""
    return type(learner).__qualname__
