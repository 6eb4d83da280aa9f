"""Many rounds from the present state: `predict_many` and `predict_proba` say what `predict_one` says of each row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few

from oskaar import OSKAAR, SALAMI, Ensemble, features, kernels, losses
from oskaar.learners import mixture
from oskaar.learners.corrected import Corrected
from oskaar.learners.mixture import Mixture
from oskaar.learners.selection import SelectedMixture

TAGS, NUMBER = losses.F1(list("abc")), losses.Squared(low=-4.0, high=4.0)

PLAIN = {"selection": False, "neighbours": False, "stacking": False}

LEARNERS = {
    "selected, on kernels": (SelectedMixture, 60, lambda loss: Ensemble(loss)),
    "selected, on features": (SelectedMixture, 150, lambda loss: Ensemble(loss, budget=16)),
    "corrected": (Corrected, 150, lambda loss: Ensemble(loss, budget=16, selection=False)),
    "mixture": (Mixture, 150, lambda loss: Ensemble(loss, budget=16, **PLAIN)),
    "a kernel of one's own": (SelectedMixture, 60, lambda loss: Ensemble(loss, kernels.Gaussian(1.0))),
    "experts of one's own": (SelectedMixture, 60, lambda loss: Ensemble(loss, experts=[OSKAAR(loss), SALAMI(loss)])),
    "all restarts": (Mixture, 60, lambda loss: SALAMI(loss)),
    "a window": (Mixture, 60, lambda loss: SALAMI(loss, window=20)),
    "shifted": (Mixture, 40, lambda loss: SALAMI(loss, shifted=True)),
    "geometric": (Mixture, 40, lambda loss: SALAMI(loss, restarts="geometric")),
    "a budget": (Mixture, 40, lambda loss: SALAMI(loss, budget=9)),
    "a dictionary that grows": (object, 30, lambda loss: OSKAAR(loss, features=features.Nystrom(None, 25))),
    "projected again": (object, 30, lambda loss: OSKAAR(loss, features=features.Nystrom(None, 9, reproject=True))),
    "exact": (object, 30, lambda loss: OSKAAR(loss)),
}


def stream(seed, rows, loss):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[rng.random(rows) < 0.1] = X[0]
    Y = X @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(rows, 3))
    if loss is NUMBER:
        return X, np.clip(Y[:, 0], -4, 4).tolist()
    return X, [[tag for tag, there in zip("abc", y > 0) if there] for y in Y]


@pytest.mark.parametrize("name", few(LEARNERS, 2))
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([TAGS, NUMBER]), st.integers(0, 20), st.sampled_from([2, 2**20]))
def test_estimates_of_many_are_those_of_each(name, seed, loss, fewer, at_once):
    """Whatever is pending, folded or about to be dropped; in parts of any size."""
    kind, rows, make = LEARNERS[name]
    X, ys = stream(seed, rows + 9, loss)
    n = rows - fewer
    learner = make(loss).partial_fit(X[:n], ys[:n])
    assert isinstance(learner._estimator, kind)
    block, ends = learner._inputs.parse_each(X[n:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "AT_ONCE", at_once)
        G = learner._estimator.each(block, ends, learner._space)
    alone = np.stack([learner._estimator.forecast(learner._inputs.parse(x), learner._space).G[0] for x in X[n:]])
    np.testing.assert_allclose(G, alone, atol=1e-10)
    if loss is TAGS:
        shares = [learner.predict_proba_one(x) for x in X[n:]]
        for one, many in zip(shares, learner.predict_proba(X[n:]), strict=True):
            assert many == pytest.approx(one, abs=1e-9)


def test_before_the_first_round():
    assert Ensemble(TAGS).predict_many([[0.0, 1.0, 2.0]] * 3) == [Ensemble(TAGS).predict_one([0.0, 1.0, 2.0])] * 3
