r"""Kernels that learners take where none is given: on features in units of the rows so far."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel
from oskaar.kernels.learned import PASSES, TOTAL, Ranks, Relevance, relevance
from oskaar.kernels.mixed import OnNumbers, OnText
from oskaar.kernels.shapes import Cosine, Gaussian, Laplacian, Linear
from oskaar.kernels.standardised import Scaled, Within
from oskaar.rows import MixedRows, is_sparse


def standardised_kernels(
    rows: Array, fixed: Any = None, features: int | None = None, weights: Array | None = None
) -> list[Kernel]:
    """Four kernels with an intercept on d features standardised by the mean and standard deviation of these rows.

    fixed: for each column, whether its unit is 1 whatever its spread is; None: none. features: d, where it is not the
    number of columns: a category has several, and counts as one. weights: a_j, how much each feature matters
    (`weights_of_features`); None: all the same.

        exp(-sum_j s_j (x_j - x'_j)^2 / 2d) + <x, x'> / 10d + 1    smooth, and straight far away
        <x, x'> / d + 1                                            straight
        exp(-sum_j a_j |u_j - u'_j|) + <x, x'> / 10d + 1           rough, feature by feature, as forests of trees are
        exp(-sum_j b_j |r_j - r'_j|) + <x, x'> / 10d + 1           rough on ranks: units do not matter

    a_j is 3 / 2d where nothing is known, s_j = 2d a_j / 3. u is x, cut off at the lowest and highest value of each
    feature in these rows: what lies beyond is as at the edge. Else a feature that has not moved yet counts as far
    away as soon as it does. r is the rank of x (`kernels.Ranks`); b_j is 3 / d, and for columns whose unit is fixed
    as much less as ranks set 0 and 1 further apart.

    >>> standardised_kernels(np.array([[0.0, 5.0], [2.0, 5.0]]))[1]
    Sum(Scaled(Product(Constant(value=0.5), Linear()), 2 features), Constant(value=1.0))
    """
    d = max(1, rows.shape[1] if features is None else features)
    units, seen = _standardised(rows, fixed)
    edges = tuple(seen.min(axis=0).tolist()), tuple(seen.max(axis=0).tolist())
    rough: Kernel = Laplacian(d / TOTAL)
    if weights is not None and seen.shape[1]:
        rough = Relevance(Laplacian(1.0), tuple(weights.tolist()))
    shapes = (
        _smooth(d, weights if seen.shape[1] else None),
        1 / d * Linear(),
        Within(rough, *edges) + 0.1 / d * Linear(),
        _on_ranks(seen, d, fixed),
    )
    return [Scaled(shape, *units) + 1.0 for shape in shapes]


def weights_of_features(
    rows: Rows,
    targets: Array,
    fixed: Any = None,
    features: int | None = None,
    start: Array | None = None,
    passes: int = PASSES,
) -> Array:
    """a_j of the rough default kernel, from phi of the labels of these rows (`kernels.relevance`).

    Columns of a category share what one feature counts. start, passes: as of `kernels.relevance`.
    """
    _, seen = _standardised(rows, fixed)
    shares = np.ones(seen.shape[1])
    if fixed is not None and np.any(fixed):
        d = max(1, seen.shape[1] if features is None else features)
        shares[fixed] = max(d - np.sum(~fixed), 1) / np.sum(fixed)
    return relevance(seen, targets, shares=shares, start=start, passes=passes)


def _standardised(rows: Array, fixed: Any) -> tuple[tuple[Any, Any], Array]:
    """Centres and scales of features, and the rows in these units."""
    units = _units(rows, fixed)
    return units, Scaled(Linear(), *units).mapped(rows)


def _units(rows: Array, fixed: Any) -> tuple[Any, Any]:
    """Centres and scales of features."""
    centres, scales = _centres_and_scales(rows)
    if fixed is not None:
        scales = np.where(fixed, 1.0, scales)
    return tuple(centres.tolist()), tuple(scales.tolist())


def _smooth(d: int, weights: Array | None = None) -> Kernel:
    """exp(-sum_j s_j (x_j - x'_j)^2 / 2d) + <x, x'> / 10d."""
    smooth: Kernel = Gaussian(math.sqrt(d))
    if weights is not None:
        smooth = Relevance(smooth, tuple(np.sqrt(d / TOTAL * weights).tolist()))
    return smooth + 0.1 / d * Linear()


def _on_ranks(seen: Array, d: int, fixed: Any) -> Kernel:
    """exp(-sum_j b_j |r_j - r'_j|) + <x, x'> / 10d. Ranks set 0 and 1 apart by sqrt(3), whatever their shares are."""
    weights = np.full(seen.shape[1], 2 * TOTAL / d)
    if fixed is not None:
        weights[fixed] /= 2 * math.sqrt(3)
    return Ranks(Relevance(Laplacian(1.0), tuple(weights.tolist())), seen) + 0.1 / d * Linear()


def default_kernels(
    rows: Rows, fixed: Any = None, features: int | None = None, weights: Array | None = None
) -> dict[str, Kernel]:
    """The default kernels by name, in the units of these rows: smooth, linear, rough, ranks.

    Mixed rows: smooth and rough are means over kinds, k(numbers) / 2 + cosine(text) / 2 + 1, so that neither drowns
    the other; linear is on the numbers. Besides there is the rough one on numbers alone, and the cosine alone.

    >>> list(default_kernels(np.eye(2)))
    ['smooth', 'linear', 'rough', 'ranks']
    """
    numbers = rows.dense if isinstance(rows, MixedRows) else rows
    smooth, linear, rough, ranks = standardised_kernels(numbers, fixed, features, weights)
    if not isinstance(rows, MixedRows):
        return {"smooth": smooth, "linear": linear, "rough": rough, "ranks": ranks}
    words = OnText(Cosine())
    return {
        "smooth": 0.5 * OnNumbers(_without_intercept(smooth)) + 0.5 * words + 1.0,
        "linear": OnNumbers(_without_intercept(linear)) + 1.0,
        "rough": 0.5 * OnNumbers(_without_intercept(rough)) + 0.5 * words + 1.0,
        "numbers": OnNumbers(_without_intercept(rough)) + 1.0,
        "text": words + 1.0,
    }


def smooth_kernel(rows: Rows, fixed: Any = None, features: int | None = None) -> Kernel:
    """The first of `default_kernels` alone, where nothing is known of how much features matter.

    >>> smooth_kernel(np.eye(2))(np.eye(2), np.eye(2)).round(3)
    array([[2.1  , 1.035],
           [1.035, 2.1  ]])
    """
    if isinstance(rows, MixedRows):
        return default_kernels(rows, fixed, features)["smooth"]
    d = max(1, rows.shape[1] if features is None else features)
    return Scaled(_smooth(d), *_units(rows, fixed)) + 1.0


def nearness(kernels: dict[str, Kernel]) -> Scaled:
    """exp(-sum_j a_j |u_j - u'_j|) of the rough default kernel alone, on rows of numbers.

    >>> nearness(default_kernels(np.array([[0.0], [2.0]]))).innermost([[2.0], [7.0]])
    array([[1.],
           [1.]])
    """
    scaled: Any = _without_intercept(kernels["rough"])
    return Scaled(scaled.kernel.left, scaled.centres, scaled.scales)


def _without_intercept(kernel: Any) -> Kernel:
    left: Kernel = kernel.left
    return left


def _centres_and_scales(rows: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation of each column, or 1e-12 of its size where that is larger."""
    size = np.abs(rows).max(axis=0)
    size[size == 0] = 1.0
    rows = rows / size  # neither squares nor sums overflow, nor vanish
    moved = rows - rows[0]  # from the first row: a large offset costs no digits
    centres = size * (rows[0] + moved.mean(axis=0))
    scales = size * np.maximum(moved.std(axis=0), 1e-12)
    return centres, np.maximum(scales, np.finfo(float).tiny)


def default_kernel(rows: Rows) -> Kernel:
    """Gaussian(sqrt(d)) + 1 for rows of d numbers, Cosine() + 1 for sparse rows, the mean of both for mixed ones.

    What feature maps without a kernel have, and learners until they know the units of dense rows
    (`standardised_kernels` from the fourth row on). sqrt(d) is about the size of a row whose features are
    standardised; sparse rows are mostly bags of words.
    The constant is an intercept: what all labels have in common, for inputs far from all that was seen.

    >>> default_kernel(np.zeros((1, 4)))
    Sum(Gaussian(lengthscale=2.0), Constant(value=1.0))
    """
    if isinstance(rows, list):
        raise ValueError(
            "there is no default kernel for objects: give one, such as kernels.Pairwise(function). A row of one "
            "number is [x], one of a text {'text': x}."
        )
    if isinstance(rows, MixedRows):
        numbers = Gaussian(math.sqrt(max(1, rows.dense.shape[1])))
        return 0.5 * OnNumbers(numbers) + 0.5 * OnText(Cosine()) + 1.0
    return Cosine() + 1.0 if is_sparse(rows) else Gaussian(math.sqrt(max(1, rows.shape[1]))) + 1.0
