r"""Kernels: the similarity of inputs.

A kernel is called with two blocks of rows, `k(X, Y) -> (n, m)`, knows its diagonal, `k.diag(X)`, and a
bound `kappa >= sup_x sqrt(k(x, x))`. Rows are dense, scipy sparse, or, for kernels that say
`objects = True`, lists of anything. Kernels add, multiply and scale:

    >>> k = 0.5 * Gaussian(2.0) + Linear() * Cosine() + 1.0
    >>> k(np.eye(2), np.eye(2)).round(3)
    array([[2.5  , 1.389],
           [1.389, 2.5  ]])

One's own is one small class with `__call__` and `diag` (see docs/extending.md), or any function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.requirements import require_positive, require_whole
from oskaar.rows import count, is_sparse, squared_norms, with_norms

_CDIST_WIDTH, _CDIST_ROWS = 32, 4
"""Up to this width, or for this few rows, squared distances come from differences; else from a matrix product."""


class Kernel(ABC):
    """A positive semidefinite function of two inputs."""

    objects: bool = False
    """True: X and Y are lists of arbitrary objects instead of matrices."""

    @property
    def kappa(self) -> float:
        """A bound on sqrt(k(x, x)); infinite where none is known."""
        return math.inf

    @abstractmethod
    def __call__(self, X: Rows, Y: Rows) -> Array:
        """The (n, m) matrix of k(x, y)."""

    @abstractmethod
    def diag(self, X: Rows) -> Array:
        """The n numbers k(x, x)."""

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _operand(other))

    def __radd__(self, other: float) -> Kernel:
        return Sum(_operand(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, _operand(other))

    def __rmul__(self, other: float) -> Kernel:
        return Product(_operand(other), self)


@dataclass(frozen=True)
class Stationary(Kernel):
    """A function of the distance in units of a lengthscale, 1 at distance 0."""

    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        require_positive("lengthscale", self.lengthscale)

    @property
    def kappa(self) -> float:
        return 1.0

    def diag(self, X: Rows) -> Array:
        return np.ones(count(X))


@dataclass(frozen=True)
class Gaussian(Stationary):
    r"""exp(-|x - x'|^2 / (2 lengthscale^2)).

    >>> Gaussian(1.0)([[0.0]], [[1.0]])
    array([[0.60653066]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        D = _squared_distances(X, Y)
        D *= -0.5 / self.lengthscale**2
        return np.exp(D, out=D)


@dataclass(frozen=True)
class Laplacian(Stationary):
    r"""exp(-|x - x'|_1 / lengthscale), with the sum of absolute differences.

    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        D = _absolute_distances(X, Y)
        D /= -self.lengthscale
        return np.exp(D, out=D)


@dataclass(frozen=True)
class Matern(Stationary):
    r"""Matern of order nu = 1/2, 3/2 or 5/2, with r = sqrt(2 nu) |x - x'| / lengthscale.

        nu = 1/2: exp(-r);   3/2: (1 + r) exp(-r);   5/2: (1 + r + r^2 / 3) exp(-r)

    >>> Matern(1.0, nu=0.5)([[0.0]], [[1.0]])
    array([[0.36787944]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu}: those have a closed form.")

    def __call__(self, X: Rows, Y: Rows) -> Array:
        R = _squared_distances(X, Y, exact=True)
        np.sqrt(R, out=R)
        R *= math.sqrt(2 * self.nu) / self.lengthscale
        K = np.exp(-R)
        if self.nu == 1.5:
            K *= 1 + R
        elif self.nu == 2.5:
            K *= 1 + R + R * R / 3
        return K


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, x'>.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return _inner(X, Y)

    def diag(self, X: Rows) -> Array:
        return _squared_norms(X)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(scale <x, x'> + offset)^degree.

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    offset: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_whole("degree", self.degree)
        require_positive("scale", self.scale)
        if not (math.isfinite(self.offset) and self.offset >= 0):
            raise ValueError(f"offset must be >= 0, got {self.offset}: the kernel would not be positive.")

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self._power(_inner(X, Y))

    def diag(self, X: Rows) -> Array:
        """(scale |x|^2 + offset)^degree."""
        return self._power(_squared_norms(X))

    def _power(self, inner: Array) -> Array:
        powers: Array = (self.scale * inner + self.offset) ** int(self.degree)
        return powers


@dataclass(frozen=True)
class Cosine(Kernel):
    """<x, x'> / (|x| |x'|), and 0 where a row is 0: the kernel for bags of words.

    >>> Cosine()([[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    @property
    def kappa(self) -> float:
        return 1.0

    def __call__(self, X: Rows, Y: Rows) -> Array:
        (X, x), (Y, y) = with_norms(_rows(X)), with_norms(_rows(Y))
        K = _inner(X, Y)
        K /= np.where(x > 0, x, 1.0)[:, None]
        K /= np.where(y > 0, y, 1.0)
        return K

    def diag(self, X: Rows) -> Array:
        """1, and 0 for a row of zeros."""
        return (with_norms(_rows(X))[1] > 0).astype(float)


@dataclass(frozen=True)
class Constant(Kernel):
    """The same number for every pair: an intercept."""

    value: float = 1.0
    objects = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"a constant in a kernel must be finite and >= 0, got {self.value}.")

    @property
    def kappa(self) -> float:
        return math.sqrt(self.value)

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return np.full((count(X), count(Y)), float(self.value))

    def diag(self, X: Rows) -> Array:
        return np.full(count(X), float(self.value))


class _Pair(Kernel):
    """Two kernels on the same rows."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left, self.right = left, right
        wanted = {k.objects for k in (left, right) if not isinstance(k, Constant)}
        if len(wanted) > 1:
            raise ValueError(f"{left!r} and {right!r} take different inputs: one takes rows, one objects.")
        self.objects = wanted.pop() if wanted else False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.left!r}, {self.right!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.left, self.right))


class Sum(_Pair):
    """k + k'."""

    @property
    def kappa(self) -> float:
        return math.hypot(self.left.kappa, self.right.kappa)

    def __call__(self, X: Rows, Y: Rows) -> Array:
        if isinstance(self.right, Constant):
            return self.left(X, Y) + self.right.value
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Rows) -> Array:
        """The sum of the diagonals."""
        return self.left.diag(X) + self.right.diag(X)


class Product(_Pair):
    """k times k'."""

    @property
    def kappa(self) -> float:
        return self.left.kappa * self.right.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        if isinstance(self.left, Constant):
            return self.left.value * self.right(X, Y)
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Rows) -> Array:
        """The product of the diagonals."""
        return self.left.diag(X) * self.right.diag(X)


class Pairwise(Kernel):
    """Any function of two objects, k(x, x') -> number: strings, graphs, trees.

    It is called once for each pair, in Python; a class of one's own can do better.

    >>> shared = Pairwise(lambda a, b: len(set(a) & set(b)))
    >>> shared(["online"], ["line", "on"])
    array([[4., 2.]])
    """

    objects = True

    def __init__(self, function: Callable[[Any, Any], float], kappa: float = math.inf) -> None:
        self.function = function
        self._kappa = kappa

    @property
    def kappa(self) -> float:
        return self._kappa

    def __call__(self, X: Sequence[Any], Y: Sequence[Any]) -> Array:
        values = [[self.function(x, y) for y in Y] for x in X]
        return np.array(values, dtype=float).reshape(len(X), len(Y))

    def diag(self, X: Sequence[Any]) -> Array:
        """k(x, x) for each x."""
        return np.array([self.function(x, x) for x in X], dtype=float)

    def __repr__(self) -> str:
        return f"Pairwise({self.function!r})"


class Rowwise(Kernel):
    """A function of two matrices of rows, k(X, Y) -> (n, m), as scikit-learn's `pairwise` has them."""

    def __init__(self, function: Callable[[Rows, Rows], Any], kappa: float = math.inf) -> None:
        self.function = function
        self._kappa = kappa

    @property
    def kappa(self) -> float:
        return self._kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return np.asarray(self.function(X, Y), dtype=float)

    def diag(self, X: Rows) -> Array:
        """The diagonal of one-row calls."""
        n = count(X)
        return np.array([np.asarray(self.function(X[i : i + 1], X[i : i + 1])).item() for i in range(n)])

    def __repr__(self) -> str:
        return f"Rowwise({self.function!r})"


LIMIT = 5.0
"""How many standard deviations from the mean a feature can be, for `Standardised`: outliers stay bounded."""


@dataclass(frozen=True)
class Standardised(Kernel):
    """Another kernel on (x - centre) / scale, each feature cut off at -5 and 5.

    >>> Standardised(Linear(), (1.0, 0.0), (1.0, 10.0))([[2.0, 20.0]], [[4.0, 4000.0]])
    array([[13.]])
    """

    kernel: Kernel
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.objects:
            raise TypeError(f"a standardised kernel must be one on rows of numbers, got {self.kernel!r}.")
        for name in ("centres", "scales"):
            object.__setattr__(self, name, tuple(float(number) for number in getattr(self, name)))
        if len(self.centres) != len(self.scales):
            raise ValueError(f"each scale has a centre, got {len(self.scales)} and {len(self.centres)}.")
        for scale in self.scales:
            require_positive("each scale", scale)

    @property
    def kappa(self) -> float:
        """That of the kernel, on rows that are cut off."""
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(self.in_units(X), self.in_units(Y))

    def diag(self, X: Rows) -> Array:
        """Of the kernel, in these units."""
        return self.kernel.diag(self.in_units(X))

    def in_units(self, X: Rows) -> Array:
        """The rows that the kernel is on."""
        rows = _of_width(X, len(self.scales), "a scale")
        with np.errstate(over="ignore"):  # what is infinitely far is cut off too
            units: Array = rows - np.array(self.centres)
            units /= np.array(self.scales)
        return np.clip(units, -LIMIT, LIMIT, out=units)

    def __repr__(self) -> str:
        return f"Standardised({self.kernel!r}, {len(self.scales)} features)"


@dataclass(frozen=True)
class Within(Kernel):
    """Another kernel on rows whose features are cut off at these lowest and highest values: beyond, nothing changes.

    >>> Within(Linear(), (0.0, 0.0), (2.0, 10.0))([[1.0, 20.0]], [[7.0, 1.0]])
    array([[12.]])
    """

    kernel: Kernel
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.objects:
            raise TypeError(f"a kernel within limits must be one on rows of numbers, got {self.kernel!r}.")
        for name in ("lows", "highs"):
            object.__setattr__(self, name, tuple(float(number) for number in getattr(self, name)))
        if len(self.lows) != len(self.highs):
            raise ValueError(f"each feature has two limits, got {len(self.lows)} lows and {len(self.highs)} highs.")
        for low, high in zip(self.lows, self.highs, strict=True):
            if not low <= high:
                raise ValueError(f"each low must be <= its high, got {low} and {high}.")

    @property
    def kappa(self) -> float:
        """That of the kernel, on rows that are cut off."""
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(self.cut(X), self.cut(Y))

    def diag(self, X: Rows) -> Array:
        """Of the kernel, on rows that are cut off."""
        return self.kernel.diag(self.cut(X))

    def cut(self, X: Rows) -> Array:
        """The rows that the kernel is on."""
        rows = _of_width(X, len(self.lows), "two limits")
        return np.clip(rows, self.lows, self.highs)

    def __repr__(self) -> str:
        return f"Within({self.kernel!r}, {len(self.lows)} features)"


def _of_width(X: Rows, width: int, what: str) -> Array:
    """Dense rows of so many features, each of which has something."""
    rows: Array = X.toarray() if is_sparse(X) else _rows(X)
    if rows.shape[1] != width:
        raise ValueError(f"rows must have {width} features, each with {what}, got {rows.shape[1]}.")
    return rows


def standardised_kernels(rows: Array) -> list[Kernel]:
    """Three kernels with an intercept on d features standardised by the mean and standard deviation of these rows.

        exp(-|x - x'|^2 / 2d) + <x, x'> / 10d + 1       smooth, and straight far away
        <x, x'> / d + 1                                 straight
        exp(-3/2 |u - u'|_1 / d) + <x, x'> / 10d + 1    rough, feature by feature, as forests of trees are

    u is x, cut off at the lowest and the highest value of each feature in these rows: what lies beyond is as at the
    edge. Else a feature that has not moved yet counts as far away as soon as it does.

    >>> standardised_kernels(np.array([[0.0, 5.0], [2.0, 5.0]]))[1]
    Sum(Standardised(Product(Constant(value=0.5), Linear()), 2 features), Constant(value=1.0))
    """
    d = max(1, rows.shape[1])
    units = tuple(tuple(numbers.tolist()) for numbers in _centres_and_scales(rows))
    seen = Standardised(Linear(), *units).in_units(rows)
    edges = tuple(seen.min(axis=0).tolist()), tuple(seen.max(axis=0).tolist())
    smooth = Gaussian(math.sqrt(d)) + 0.1 / d * Linear()
    rough = Within(Laplacian(d / 1.5), *edges) + 0.1 / d * Linear()
    return [Standardised(shape, *units) + 1.0 for shape in (smooth, 1 / d * Linear(), rough)]


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
    """Gaussian(sqrt(d)) + 1 for rows of d numbers, Cosine() + 1 for sparse and dict rows.

    What feature maps without a kernel have, and learners until they know the units of dense rows
    (`standardised_kernels` from the fourth row on). sqrt(d) is about the size of a row whose features are
    standardised; sparse rows are mostly bags of words.
    The constant is an intercept: what all labels have in common, for inputs far from all that was seen.

    >>> default_kernel(np.zeros((1, 4)))
    Sum(Gaussian(lengthscale=2.0), Constant(value=1.0))
    """
    if isinstance(rows, list):
        raise ValueError("there is no default kernel for objects: give one, such as kernels.Pairwise(function).")
    return Cosine() + 1.0 if is_sparse(rows) else Gaussian(math.sqrt(max(1, rows.shape[1]))) + 1.0


def as_kernel(kernel: Any, rows: Rows) -> Kernel:
    """A Kernel out of a Kernel or a function, inferred from how the function answers for the first of `rows`.

    A function that makes a (2, 3) matrix of 2 and 3 rows is `Rowwise`; one that makes a number of a
    pair of inputs is `Pairwise`.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is None:
        return default_kernel(rows)
    if not callable(kernel):
        raise TypeError(f"kernel must be a Kernel or a function, got {kernel!r}.")
    if not isinstance(rows, list) and _shape_of(kernel, rows[[0, 0]], rows[[0, 0, 0]]) == (2, 3):
        return Rowwise(kernel)
    shape = _shape_of(kernel, rows[0], rows[0])
    if shape == ():
        return Pairwise(kernel)
    raise ValueError(
        f"kernel {kernel!r} must give an (n, m) matrix for n and m rows, or a number for a pair of inputs; "
        f"for the pair (x, x) it gave {'an error' if shape is None else f'shape {shape}'}."
    )


def gram(kernel: Kernel, X: Rows, Y: Rows) -> Array:
    """k(X, Y), refused where it is not (n, m) finite numbers.

    >>> gram(Linear(), np.array([[1e200]]), np.array([[1e200]]))                             # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: kernel Linear() must return finite numbers, got inf for a pair of inputs: rescale the inputs, ...
    """
    with np.errstate(all="ignore"):  # what comes of it is checked
        K = np.asarray(kernel(X, Y), dtype=float)
        if K.shape == (count(X), count(Y)) and math.isfinite(K.sum()):
            return K
    return _checked(kernel, K, (count(X), count(Y)), "a pair of inputs")


def diagonal(kernel: Kernel, X: Rows) -> Array:
    """k(x, x) of each row, refused where it is not n finite numbers >= 0."""
    with np.errstate(all="ignore"):
        d = np.asarray(kernel.diag(X), dtype=float)
    if not ((d >= 0) & (d < math.inf)).all() or d.shape != (count(X),):
        _checked(kernel, d, (count(X),), "k(x, x)")
        raise ValueError(
            f"the kernel must be positive semidefinite, and {kernel!r} has k(x, x) = {d.min():.6g} < 0: "
            "check it with oskaar.checks.check_kernel."
        )
    return d


def _checked(kernel: Kernel, K: Array, shape: tuple[int, ...], what: str) -> Array:
    if K.shape != shape:
        raise ValueError(f"kernel {kernel!r} must return shape {shape} for that many rows, got {K.shape}.")
    if not np.isfinite(K).all():
        bad = K[~np.isfinite(K)][0]
        raise ValueError(
            f"kernel {kernel!r} must return finite numbers, got {bad} for {what}: "
            "rescale the inputs, or check it with oskaar.checks.check_kernel."
        )
    return K


def _shape_of(function: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[int, ...] | None:
    try:
        return np.asarray(function(a, b), dtype=float).shape
    except Exception:  # any failure only means that the function is not of this form
        return None


def _operand(other: Kernel | float) -> Kernel:
    return other if isinstance(other, Kernel) else Constant(float(other))


def _rows(X: Rows) -> Any:
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64:
        return X
    return X if is_sparse(X) else np.atleast_2d(np.asarray(X, dtype=float))


def _inner(X: Rows, Y: Rows) -> Array:
    X, Y = _rows(X), _rows(Y)
    K = X @ Y.T
    return np.asarray(K.todense() if is_sparse(K) else K, dtype=float)


def _squared_norms(X: Rows) -> Array:
    return squared_norms(_rows(X))


def _squared_distances(X: Rows, Y: Rows, exact: bool = False) -> Array:
    """|x - y|^2, from differences for narrow dense rows, else from |x|^2 + |y|^2 - 2 <x, y>."""
    X, Y = _rows(X), _rows(Y)
    sparse = is_sparse(X) or is_sparse(Y)
    if not sparse and (exact or X.shape[1] <= _CDIST_WIDTH or min(len(X), len(Y)) <= _CDIST_ROWS):
        distances: Array = _cdist()(X, Y, "sqeuclidean")
        return distances
    if not sparse and len(Y):
        X, Y = X - Y[0], Y - Y[0]  # a common offset would eat the digits of the differences
    x2, y2 = _squared_norms(X), _squared_norms(Y)
    D = _inner(X, Y)
    D *= -2.0
    D += x2[:, None]
    D += y2
    D[2e-15 * (x2[:, None] + y2) > D] = 0.0  # equal rows are at distance 0, whatever the rounding
    return D


@cache
def _cdist() -> Any:
    from scipy.spatial.distance import cdist  # slow to load

    return cdist


def _absolute_distances(X: Rows, Y: Rows) -> Array:
    X, Y = _rows(X), _rows(Y)
    if not (is_sparse(X) or is_sparse(Y)):
        distances: Array = _cdist()(X, Y, "cityblock")
        return distances
    from scipy.sparse import csr_array

    X, Y = csr_array(X), csr_array(Y)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    D = np.empty((X.shape[0], Y.shape[0]))
    for j in range(Y.shape[0]):  # |x - y|_1 = |y|_1 + sum over the support of x of |x_i - y_i| - |y_i|
        y = Y[[j], :].toarray().ravel()
        there = y[X.indices]
        moved = np.abs(X.data - there) - np.abs(there)
        D[:, j] = np.bincount(rows, weights=moved, minlength=X.shape[0]) + np.abs(y).sum()
    return np.maximum(D, 0.0, out=D)
