"""oskaar inside River: estimators, a metric for any loss, and feature maps as transformers (docs/river.md).

Needs River, the extra `river`.

>>> from river import datasets, evaluate, metrics, preprocessing
>>> from oskaar.river import Classifier
>>> model = preprocessing.StandardScaler() | Classifier()
>>> evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy())
Accuracy: 83.28%
"""

try:
    import river as _river  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("oskaar.river needs River: pip install 'oskaar[river]'.") from error

from oskaar.river.estimators import Classifier, MultiLabelClassifier, MultiTargetRegressor, Regressor, Structured
from oskaar.river.metrics import LossMetric
from oskaar.river.transformers import Features

__all__ = [
    "Classifier",
    "Features",
    "LossMetric",
    "MultiLabelClassifier",
    "MultiTargetRegressor",
    "Regressor",
    "Structured",
]
