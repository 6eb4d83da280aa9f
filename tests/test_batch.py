import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import KERNELS, blocks, labels_of, lams, rows, small_losses

from oskaar import BatchILE, kernels, losses


@given(st.data(), rows(), st.sampled_from(sorted(KERNELS)), lams())
def test_estimate_is_the_batch_argmin(data, X, name, lam):
    if len(X) == 0:
        return
    kernel, twin = KERNELS[name]
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    model = BatchILE(loss, kernel, lam=lam).fit(X, ys)
    new = X[::-1] + 0.1
    expected = naive.batch_ile(twin, X, np.array([loss.embed(y) for y in ys]), lam, new)
    for x, g in zip(new, expected):
        np.testing.assert_allclose(model.estimate(x), g, atol=1e-8)
        assert model.predict_one(x) == loss.decode(model.estimate(x))
    risks = [[loss(z, y) for z in loss.outputs()] for y in ys]
    assert -model.score(X, ys) <= max(map(max, risks))


@given(blocks(), lams())
def test_rounds_of_several_rows(rounds, lam):
    loss = losses.PerRow(losses.ZeroOne(3))
    ys = [[(i + j) % 3 for j in range(len(x))] for i, x in enumerate(rounds)]
    model = BatchILE(loss, kernels.Gaussian(), lam=lam).fit(rounds, ys)
    expected = naive.batch_ile(
        naive.gaussian, np.vstack(rounds), np.vstack([loss.embed(y) for y in ys]), lam, rounds[0]
    )
    np.testing.assert_allclose(model.estimate(rounds[0]), expected, atol=1e-8)
    assert model.predict(rounds) == [model.predict_one(x) for x in rounds]


def test_the_other_families(rng):
    """Open classes, sets in blocks, and a loss that is only a function."""
    X = rng.normal(size=(20, 2))
    names = ["left" if x[0] < 0 else "right" for x in X]
    assert BatchILE(losses.ZeroOne(), lam=1e-3).fit(X, names).score(X, names) > -0.2
    delta = lambda z, y: float(z != y)  # noqa: E731
    assert BatchILE(losses.LossTrick(delta), lam=1e-3).fit(X, names).predict(X) == BatchILE(
        losses.ZeroOne(), lam=1e-3
    ).fit(X, names).predict(X)
    sets = BatchILE(losses.F1(3), lam=1e-3).fit(X, [{int(x[0] > 0)} for x in X])
    clear = X[np.argmax(X[:, 0])]
    assert sets.predict_one(clear) == frozenset({1})
    assert sets.estimate(X[0]).shape == (10,)
    assert "BatchILE(F1(3)" in repr(sets)
    assert sets.predict(np.zeros((0, 2))) == []


def test_fit_forgets():
    model = BatchILE(losses.ZeroOne(2), lam=0.1).fit([[0.0], [1.0]], [0, 1])
    model.fit([[0.0, 1.0], [1.0, 0.0]], [1, 0])
    assert model.predict_one([0.0, 1.0]) == 1
    with pytest.raises(ValueError, match="must have 2 features"):
        model.predict_one([0.0])
