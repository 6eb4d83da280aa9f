"""Real multi-label streams in file order, nothing looking ahead: the published best of 11 methods is behind."""

import pytest

from oskaar import OSKAAR, kernels, losses, replay, streams

pytestmark = pytest.mark.realdata


def example_f1(path, n_labels, kernel, lam, limit=None):
    X, ys = streams.read_arff(path, n_labels)
    learner = OSKAAR(losses.F1(abs(n_labels)), kernel, lam=lam)
    return 1 - replay(learner, X[:limit], ys[:limit], keep_estimates=False).mean_loss


def test_yeast(data):
    assert example_f1(data / "multilabel/yeast.arff.gz", -14, kernels.Gaussian(0.5) + 1.0, lam=0.3) >= 0.655


def test_slashdot(data):
    assert example_f1(data / "multilabel/SLASHDOT-F.arff.gz", 22, kernels.Cosine() + 1.0, lam=1.0) >= 0.52


@pytest.mark.slow
def test_20ng(data):
    assert example_f1(data / "multilabel/20NG-F.arff.gz", 20, kernels.Cosine() + 1.0, lam=1.0) >= 0.69
