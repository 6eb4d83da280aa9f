"""River learners in oskaar compare."""

import json

import numpy as np
import pytest

from oskaar import losses, replay
from oskaar.cli import main, river_learners
from oskaar.cli.river_learners import LEARNERS, make_river_learner, suits

river = pytest.importorskip("river")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 2)).round(3)
YS = {
    "label_a,label_b": (X > 0).astype(int),
    "y": np.where(X[:, 0] > 0, "up", "down"),
    "level": np.clip(np.round(X[:, 0] + 2), 0, 4).astype(int),
    "numbers": (3 * X[:, 0]).round(3),
}


@pytest.fixture
def files(tmp_path):
    for name, ys in YS.items():
        columns = f"a,b,{name}"
        rows = [",".join(map(str, [*x, *np.atleast_1d(y)])) for x, y in zip(X, ys)]
        (tmp_path / f"{name}.csv").write_text("\n".join([columns, *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", sorted(YS))
def test_every_kind_of_y(files, name, capsys):
    """They learn something of each, and stand in one table with the baselines."""
    arguments = ["--learner", "river-linear,river-knn,river-hat", "--json"]
    assert main(["compare", str(files / f"{name}.csv"), *arguments]) == 0
    means = {row["name"]: row["mean_loss"] for row in json.loads(capsys.readouterr().out)["learners"]}
    assert {"river-linear", "river-knn", "river-hat", "repeat-last"} <= set(means)
    blind = min(value for key, value in means.items() if not key.startswith("river"))
    assert means["river-knn"] < 0.8 * blind


def test_all_of_them_by_one_word(files, capsys):
    assert main(["compare", str(files / "y.csv"), "--river", "--learner", "oskaar", "--lam", "0.1,1", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)["learners"]}
    assert names == {"oskaar lam=0.1", "oskaar lam=1", *LEARNERS, "repeat-last", "most-frequent"}


def test_a_rival_is_the_river_model(files, capsys):
    """Scaled by the rows before it, then predict and learn, as River's own pipeline does."""
    from river import neighbors, preprocessing

    assert main(["compare", str(files / "y.csv"), "--learner", "river-knn", "--json"]) == 0
    rows = {row["name"]: row["mean_loss"] for row in json.loads(capsys.readouterr().out)["learners"]}
    scaler, model, wrong = preprocessing.StandardScaler(), neighbors.KNNClassifier(), 0
    for x, y in zip(X, YS["y"]):
        row = dict(enumerate(x.tolist()))
        wrong += model.predict_one(scaler.transform_one(row)) != str(y)
        scaler.learn_one(row)
        model.learn_one(scaler.transform_one(row), str(y))
    assert rows["river-knn"] == pytest.approx(wrong / len(X))


def test_named_values():
    """Dict rows with text in them."""
    xs = [{"colour": "red" if i % 2 else "blue", "n": float(i % 3)} for i in range(600)]
    ys = ["odd" if i % 2 else "even" for i in range(600)]
    loss = losses.ZeroOne()
    for name in LEARNERS:
        n = 600 if name == "river-hat" else 60  # a tree takes its time
        assert replay(make_river_learner(name, loss), xs[:n], ys[:n], loss=loss).losses[n // 2 :].mean() < 0.1


def test_what_river_has_nothing_for(files, capsys, monkeypatch):
    assert not suits(losses.Kendall(3))
    assert not suits(losses.PrecisionAtK(3, k=1))
    assert not suits(losses.CostMatrix([[0, 1]], outputs=["a"], labels=["b", "c"]))
    path = files / "ranks.csv"
    path.write_text("x,L1,L2\n" + "1,1,2\n2,2,1\n" * 10)
    assert main(["compare", str(path), "--y", "L*", "--loss", "kendall", "--river"]) == 0
    assert "River has no learner for Kendall" in capsys.readouterr().err
    assert main(["compare", str(path), "--y", "L*", "--loss", "kendall", "--learner", "river-knn"]) == 2
    assert "River has no learner for Kendall" in capsys.readouterr().err
    assert main(["compare", str(path), "--learner", "river-svm"]) == 2
    assert "must be one of river-linear" in capsys.readouterr().err
    monkeypatch.setattr(river_learners, "find_spec", lambda name: None)
    assert main(["compare", str(files / "y.csv"), "--river", "--learner", "oskaar"]) == 0
    assert "River is not installed" in capsys.readouterr().err
    assert main(["compare", str(files / "y.csv"), "--learner", "river-knn"]) == 2
    assert "needs River: pip install" in capsys.readouterr().err
