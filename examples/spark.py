"""From a frame to answers, in both ways: one model over all rows, and one learner for each shop."""

import numpy as np
import pandas as pd

from oskaar import OSKAAR, features, losses
from oskaar import spark as ospark

session = ospark.session(cores=2)
session.sparkContext.setLogLevel("ERROR")
rng = np.random.default_rng(0)
n = 20_000
rows = pd.DataFrame({"shop": rng.integers(40, size=n), "price": rng.normal(size=n), "stock": rng.normal(size=n)})
rows["hour"] = np.arange(n)
rows["sells"] = np.where(rows.price * (1 + rows.shop % 2) - rows.stock > 0, "many", "few")
df = session.createDataFrame(rows).repartition(4)

model = ospark.fit(df, OSKAAR(losses.ZeroOne(), budget=32, lam=0.1), x=["price", "stock"], y="sells")
answers = ospark.predict(df, model, x=["price", "stock"]).toPandas()
print(f"one model over {model.rounds} rows: {(answers.answer == answers.sells).mean():.1%} right")

learner = OSKAAR(losses.ZeroOne(), features=features.LinearMap(2), lam=0.1)
out = ospark.keyed(df, learner, key="shop", x=["price", "stock"], y="sells", time="hour").toPandas()
print(f"one learner for each of {out.shop.nunique()} shops: {1 - out.loss.mean():.1%} right before the label is seen")
session.stop()
