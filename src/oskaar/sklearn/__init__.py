"""Estimators in scikit-learn's own shapes (the extra `sklearn`): arrays in, arrays out.

`OSKAAR`, `SALAMI` and `BatchILE` work in scikit-learn's pipelines and searches as they are, with any structure for y
(docs/scikit-learn.md). These are for y as scikit-learn writes it, and keep all of its conventions.

>>> from oskaar.sklearn import Classifier
>>> Classifier().fit([[0.0], [1.0], [0.1], [0.9]], ["a", "b", "a", "b"]).predict([[0.2]])
array(['a'], dtype='<U1')
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("oskaar.sklearn needs scikit-learn: pip install 'oskaar[sklearn]'.") from error

from oskaar.sklearn.classes import Classifier, MultiLabelClassifier, OrdinalClassifier
from oskaar.sklearn.rankings import Ranker
from oskaar.sklearn.vectors import VectorRegressor

__all__ = ["Classifier", "MultiLabelClassifier", "OrdinalClassifier", "Ranker", "VectorRegressor"]
