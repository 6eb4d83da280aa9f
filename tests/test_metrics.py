"""Metrics beside the loss are those of scikit-learn and SciPy, and are shown where people look."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

from oskaar import OSKAAR, RepeatLast, kernels, losses, replay
from oskaar.metrics import Metrics


def fed(loss, zs, ys, probabilities=None):
    metrics = Metrics(loss)
    for i, (z, y) in enumerate(zip(zs, ys)):
        metrics.update(z, loss.check(y), probabilities[i] if probabilities else None)
        if i == len(ys) // 2:
            metrics = Metrics(loss).restored(metrics.to_dict())
    return metrics.values()


def test_classes(rng):
    y, z = rng.choice(list("abc"), 80).tolist(), rng.choice(list("abc"), 80).tolist()
    P = rng.dirichlet(np.ones(3), 80)
    found = fed(losses.ZeroOne(), z, y, [dict(zip("abc", p)) for p in P])
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, z))
    assert found["macro F1"] == pytest.approx(sk.f1_score(y, z, average="macro"))
    assert found["log loss"] == pytest.approx(sk.log_loss(y, P, labels=list("abc")))
    by = sk.f1_score(y, z, average=None, labels=list("abc"))
    assert [found["F1 by label"][c] for c in "abc"] == pytest.approx(by)
    table = [[found["confusion"][a].get(b, 0) for b in "abc"] for a in "abc"]
    assert table == sk.confusion_matrix(y, z, labels=list("abc")).tolist()


def test_tags(rng):
    y, z = ([frozenset(np.array(list("abcd"))[row].tolist()) for row in rng.random((60, 4)) < p] for p in (0.4, 0.5))
    Y, Z = (MultiLabelBinarizer(classes=list("abcd")).fit(y).transform(s) for s in (y, z))
    found = fed(losses.F1(), z, y)
    assert found["subset accuracy"] == pytest.approx(sk.accuracy_score(Y, Z))
    for name, average in (("micro F1", "micro"), ("macro F1", "macro"), ("F1 of examples", "samples")):
        assert found[name] == pytest.approx(sk.f1_score(Y, Z, average=average, zero_division=1.0))
    assert [found["F1 by label"][c] for c in "abcd"] == pytest.approx(sk.f1_score(Y, Z, average=None))


def test_numbers_levels_rankings_and_sequences(rng):
    y, z = rng.normal(1e3, 2.0, size=(50, 2)), rng.normal(1e3, 2.0, size=(50, 2))
    found = fed(losses.Squared(2), z, y)
    assert found["MAE"] == pytest.approx(sk.mean_absolute_error(y, z))
    assert found["RMSE"] == pytest.approx(np.sqrt(sk.mean_squared_error(y, z)))
    assert found["R2"] == pytest.approx(sk.r2_score(y, z, multioutput="variance_weighted"))
    pinball = fed(losses.Pinball(2, quantile=0.8), z, y)["pinball"]
    assert pinball == pytest.approx(sk.mean_pinball_loss(y, z, alpha=0.8))
    levels, answers = rng.integers(0, 5, 50).tolist(), rng.integers(0, 5, 50).tolist()
    found = fed(losses.Ordinal(5), answers, levels)
    assert found["MAE"] == pytest.approx(np.abs(np.subtract(levels, answers)).mean())
    assert found["RMSE"] == pytest.approx(np.sqrt(np.square(np.subtract(levels, answers)).mean()))
    orders = [tuple(rng.permutation(5).tolist()) for _ in range(40)]
    tau = np.mean([kendalltau(np.argsort(a), np.argsort(b)).statistic for a, b in zip(orders[:20], orders[20:])])
    assert fed(losses.Kendall(5), orders[:20], orders[20:])["tau"] == pytest.approx(tau)
    grades = [tuple(rng.integers(0, 3, 4).tolist()) for _ in range(20)]
    some = [tuple(i for i in o if i < 4) for o in orders[:20]]
    places = [[-z.index(i) for i in range(4)] for z in some]
    ndcg = np.mean([sk.ndcg_score([g], [s]) if any(g) else 1 for s, g in zip(places, grades)])
    assert fed(losses.NDCG(4), some, grades)["NDCG"] == pytest.approx(ndcg)
    found = fed(losses.SequenceHamming(2), [("a", "b"), ("a", "a")], [("a", "b"), ("a", "b")])
    assert (found["accuracy of places"], found["accuracy of sequences"]) == (0.75, 0.5)
    assert fed(losses.Circular(), [0.1], [0.2]) == {}


def test_replays_have_metrics_and_are_shown(rng):
    X = rng.normal(size=(40, 2))
    ys = np.where(X[:, 0] > 0, "<up>", "down").tolist()
    learner = OSKAAR(losses.ZeroOne(), kernel=kernels.Gaussian() + 1.0)
    result = replay(learner, X, ys)
    found = result.metrics()
    assert found["accuracy"] == pytest.approx(1 - result.mean_loss)
    assert 0 < found["log loss"] < 1
    assert replay(RepeatLast(losses.ZeroOne()), X, ys).metrics()["accuracy"] <= 1
    assert "log loss" not in replay(learner.like_new(), X, ys, keep_estimates=False).metrics()
    for thing in (result, learner, learner.certificate(), OSKAAR(losses.ZeroOne(["<b>"]))):
        page = thing._repr_html_()
        assert "<b>Replay" in page or "<table>" in page
        assert "<up>" not in page
        assert "['<b>']" not in page
    assert replay(OSKAAR(losses.Squared()), X[:0], [])._repr_html_()
    assert replay(OSKAAR(losses.Squared()), X[:0], []).metrics() == {}


def test_plot(rng):
    pytest.importorskip("matplotlib")
    result = replay(OSKAAR(losses.Squared()), rng.normal(size=(9, 2)), rng.normal(size=9))
    line = result.plot().get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), np.cumsum(result.losses) / np.arange(1, 10))
