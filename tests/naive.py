"""The paper's definitions, written the long way. Nothing here comes from the package."""

import math
import zlib
from functools import cache, lru_cache
from itertools import chain, combinations, pairwise, permutations, product

import numpy as np
from scipy.stats import t as student

# ------------------------------------------------------------------ kernels, a pair at a time


def gaussian(x, y, lengthscale=1.0):
    return np.exp(-sum((a - b) ** 2 for a, b in zip(x, y)) / (2 * lengthscale**2))


def laplacian(x, y, lengthscale=1.0):
    return np.exp(-sum(abs(a - b) for a, b in zip(x, y)) / lengthscale)


def matern(x, y, lengthscale=1.0, nu=1.5):
    r = np.sqrt(2 * nu) * np.sqrt(sum((a - b) ** 2 for a, b in zip(x, y))) / lengthscale
    return {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu] * np.exp(-r)


def linear(x, y):
    return sum(a * b for a, b in zip(x, y))


def polynomial(x, y, degree=3, offset=1.0, scale=1.0):
    return (scale * linear(x, y) + offset) ** degree


def cosine(x, y):
    norms = np.sqrt(linear(x, x)) * np.sqrt(linear(y, y))
    return linear(x, y) / norms if norms > 0 else 0.0


def gram(kernel, X, Y):
    X, Y = ([z.tolist() if isinstance(z, np.ndarray) else z for z in Z] for Z in (X, Y))  # NumPy's numbers are slow
    return np.array([[kernel(x, y) for y in Y] for x in X]).reshape(len(X), len(Y))


# ------------------------------------------------------------------ KAAR


def coordinates(K):
    """Z with Z Z^T = K: the rows in an orthonormal basis of the span of k(., x_1), ..., k(., x_n), up to rounding."""
    return _coordinates(np.asarray(K, dtype=float).tobytes(), len(K))


@lru_cache(maxsize=64)
def _coordinates(K, n):
    values, vectors = np.linalg.eigh(np.frombuffer(K).reshape(n, n))
    there = values > 1e-16 * values.max(initial=0.0)
    return vectors[:, there] * np.sqrt(values[there])


def objective(Z, theta, scale, target, lam):
    """sum_i |scale_i g(x_i) - target_i|^2 + lam |g|^2 at the g with g(x_i) = Z_i theta."""
    return ((scale[:, None] * (Z @ theta) - target) ** 2).sum() + lam * (theta**2).sum()


def argmin(Z, scale, target, lam):
    """The theta that minimises the objective: one least-squares problem, with a row for every square in it.

    By the representer theorem the g of the RKHS that does lies in the span of the rows, where g(x_i) = Z_i theta and
    |g| = |theta|. Rows that are no part of the problem have scale and target 0. Many problems at once: (S, n) scales
    and (S, n, p) targets.
    """
    n = Z.shape[1]
    norms = np.broadcast_to(np.sqrt(lam) * np.eye(n), (*scale.shape[:-1], n, n))
    Q, R = np.linalg.qr(np.concatenate([scale[..., None] * Z, norms], axis=-2))
    target = np.concatenate([target, np.zeros((*target.shape[:-2], n, target.shape[-1]))], axis=-2)
    return np.linalg.solve(R, Q.swapaxes(-1, -2) @ target)


def kaar_squares(rows, past, now, Phi):
    """sum_past |g(x) - phi|^2 + sum_now |g(x)|^2, equation (hat g_t), as scale and target of so many rows."""
    scale, target = np.zeros(rows), np.zeros((rows, Phi.shape[1]))
    scale[past] = scale[now] = 1
    target[past] = Phi[past]
    return scale, target


def shifted_squares(rows, past, now, Phi, G):
    """sum_past |g(x) / 2 + g_hat / 2 - phi|^2 + 1/4 sum_now |g(x)|^2, equation (hat gt shifted)."""
    scale, target = np.zeros(rows), np.zeros((rows, Phi.shape[1]))
    scale[past] = scale[now] = 1 / 2
    target[past] = Phi[past] - G[past] / 2
    return scale, target


def kaar(kernel, X, Phi, x, lam):
    """g_hat at the rows x (a list of rows of one round), after the rows X with targets Phi."""
    rows = list(X) + list(x)
    past, now = np.arange(len(X)), np.arange(len(X), len(rows))
    return expert(gram(kernel, rows, rows), np.asarray(Phi), past, now, lam)


def in_turn(rounds):
    """For each round: how many rows there are before it, and how many with it."""
    lo = 0
    for block in rounds:
        yield lo, lo + len(block)
        lo += len(block)


def oskaar(kernel, rounds, targets, lam):
    """g_hat_t(x_t) for every round; rounds and targets are lists of blocks of rows."""
    rows, Phi = [row for block in rounds for row in block], np.vstack(targets)
    K = gram(kernel, rows, rows)
    return [expert(K, Phi, np.arange(lo), np.arange(lo, hi), lam) for lo, hi in in_turn(rounds)]


def late_oskaar(kernel, xs, targets, events, lam):
    """g_hat of each round when it was asked; events are ("ask", t) and ("tell", t); told rounds are known."""
    estimates, told = {}, []
    for what, t in events:
        if what == "tell":
            told.append(t)
            continue
        X = [row for s in told for row in xs[s]]
        Phi = np.vstack([np.zeros((0, targets[t].shape[1])), *(targets[s] for s in told)])
        estimates[t] = kaar(kernel, X, Phi, list(xs[t]), lam)
    return estimates


def shifted_oskaar(kernel, rounds, targets, lam, x=None):
    """argmin_g sum_{s<t} |1/2 g(x_s) + 1/2 g_hat_s(x_s) - phi_s|^2 + lam |g|^2 + 1/4 |g(x_t)|^2, and so on to x."""
    blocks = [*rounds, *([x] if x is not None else [])]
    rows = [row for block in blocks for row in block]
    Phi = np.vstack([*targets, np.zeros((0 if x is None else len(x), targets[0].shape[1] if targets else 0))])
    K, G = gram(kernel, rows, rows), np.zeros_like(Phi)
    for lo, hi in in_turn(blocks):
        G[lo:hi] = shifted_expert(K, Phi, G, np.arange(lo), np.arange(lo, hi), lam)
    return [G[lo:hi] for lo, hi in in_turn(blocks)]


def average(kernel, rounds, targets, lam, x):
    """g_bar_T(x) = 1/T sum_t g_hat_t(x): the T functions, each hedged at its own x_t, at x."""
    rows, Phi = [row for block in rounds for row in block], np.vstack(targets)
    Z = coordinates(gram(kernel, [*rows, *x], [*rows, *x]))
    functions = []
    for lo, hi in in_turn(rounds):
        functions.append(argmin(Z, *kaar_squares(len(Z), np.arange(lo), np.arange(lo, hi), Phi), lam))
    return sum(Z[len(rows) :] @ theta for theta in functions) / len(rounds)


def shifted_average(kernel, rounds, targets, lam, x):
    """The same average of the functions of equation (hat gt shifted)."""
    rows, Phi = [row for block in rounds for row in block], np.vstack(targets)
    Z = coordinates(gram(kernel, [*rows, *x], [*rows, *x]))
    G, functions = np.zeros_like(Phi), []
    for lo, hi in in_turn(rounds):
        functions.append(argmin(Z, *shifted_squares(len(Z), np.arange(lo), np.arange(lo, hi), Phi, G), lam))
        G[lo:hi] = Z[lo:hi] @ functions[-1]
    return sum(Z[len(rows) :] @ theta for theta in functions) / len(rounds)


def batch_ile(kernel, X, Phi, lam, x):
    """argmin_g 1/n sum |phi_i - g(x_i)|^2 + lam |g|^2, at x: equation (ERM gn)."""
    n, rows = len(X), [*X, *x]
    Z = coordinates(gram(kernel, rows, rows))
    scale, target = np.zeros(len(rows)), np.zeros((len(rows), np.shape(Phi)[1]))
    scale[:n], target[:n] = n**-0.5, np.asarray(Phi) * n**-0.5
    return Z[n:] @ argmin(Z, scale, target, lam)


def label_weights(kernel, X, x, lam):
    """beta with g_hat_t(x_t) = sum_s beta_s phi_s for all phi: the estimates of the targets e_1, ..., e_{t-1}."""
    return kaar(kernel, X, np.eye(len(X)), [x], lam)[0]


def effective_dimension(K, lam):
    return np.trace(K @ np.linalg.inv(K + lam * np.eye(len(K))))


# ------------------------------------------------------------------ SALAMI


def expert(K, Phi, past, now, lam):
    """argmin_g sum_past |phi - g(x)|^2 + lam |g|^2 + sum_now |g(x)|^2, at the rows now."""
    rows, n = np.concatenate([past, now]), len(past)
    Z, now = coordinates(K[np.ix_(rows, rows)]), np.arange(n, len(rows))
    return Z[n:] @ argmin(Z, *kaar_squares(len(rows), np.arange(n), now, Phi[past]), lam)


def shifted_expert(K, Phi, mixture, past, now, lam):
    """argmin_g sum_past |phi - mixture / 2 - g(x) / 2|^2 + lam |g|^2 + 1/4 sum_now |g(x)|^2, at the rows now."""
    rows, n = np.concatenate([past, now]), len(past)
    Z, now = coordinates(K[np.ix_(rows, rows)]), np.arange(n, len(rows))
    return Z[n:] @ argmin(Z, *shifted_squares(len(rows), np.arange(n), now, Phi[past], mixture[past]), lam)


def experts(K, Phi, begins, lo, hi, lam, mixture=None):
    """The experts that begin at these rows, at the rows lo..hi-1, each (n, p); shifted where there is a mixture."""
    Z, now, found = coordinates(K[:hi, :hi]), np.arange(lo, hi), []
    for some in np.array_split(np.asarray(begins), 1 + len(begins) * hi**2 // 1_000_000):
        if mixture is None:
            squares = [kaar_squares(hi, np.arange(s, lo), now, Phi) for s in some]
        else:
            squares = [shifted_squares(hi, np.arange(s, lo), now, Phi, mixture) for s in some]
        found += list(Z[lo:] @ argmin(Z, *map(np.array, zip(*squares)), lam)) if len(some) else []
    return found


def projected(g):
    """Each row of g, on the unit ball."""
    return np.array([row / max(1.0, np.linalg.norm(row)) for row in g]).reshape(g.shape)


def mean_square(phi, g):
    """The mean over the rows of a round of |phi - g|^2."""
    return np.mean([np.sum((a - b) ** 2) for a, b in zip(phi, g, strict=True)])


def lives(restarts):
    """Which experts are alive, as the docstrings say it; rounds from 0."""
    if restarts == "all":
        return None
    if restarts is None:
        return lambda s, t: s == 0
    return lambda s, t: s == 0 or t - s < 4 * max(2**k for k in range(20) if (s + 1) % 2**k == 0)


def in_window(window, begins, s, t):
    """Whether the expert that starts at s has at most `window` rows at t, or `window(t)`; the newborn always."""
    return window is None or s == t or begins[t] - begins[s] <= (window(t) if callable(window) else window)


def rows_by_coordinates(numbers, widths, least=16):
    """The window of each round t, where labels had widths[t] coordinates before it."""
    return lambda t: max(least, numbers // max(1, widths[t]))


def salami(Ks, Phi, ends, lams, eta, project=False, shifted=False, window=None, lives=None):
    """Algorithm 2, or Algorithm 3 when shifted, with experts (s, K, lam) for s = 1..t.

    Round t is rows [ends[t - 1], ends[t]). Returns the mixture's estimates, stacked, and for each round the
    weights p_t and the estimates of all experts, ordered by restart, Gram matrix and lam.
    `window` keeps the experts, and the newborn, whose past has at most that many rows, or `window(t)`; `lives(s, t)`
    says whether the expert that starts at s (from 0) is alive at t. A Gram matrix may be a function of s.
    """
    T = len(ends)
    kinds = [(K, lam) for K in Ks for lam in lams]
    begins = [0, *ends[:-1]]
    rows_of = [np.arange(lo, hi) for lo, hi in zip(begins, ends, strict=True)]
    estimates, weights, all_experts = np.zeros_like(Phi), [], []
    losses = np.zeros((T, len(kinds), T))  # tilde l_r(s, kind), with the mixture's own loss while s sleeps
    for t in range(T):
        now = rows_of[t]
        alive = [s for s in range(t + 1) if in_window(window, begins, s, t)]
        alive = [s for s in alive if lives is None or lives(s, t)]
        mixture, G = estimates if shifted else None, []
        for K, lam in kinds:
            if callable(K):
                G.append([experts(K(s), Phi, [begins[s]], begins[t], ends[t], lam, mixture)[0] for s in alive])
            else:
                G.append(experts(K, Phi, [begins[s] for s in alive], begins[t], ends[t], lam, mixture))
        G = [projected(g) if project else g for of_one in zip(*G) for g in of_one]  # by restart, then kind
        total = np.array([losses[s, i, :t].sum() for s in alive for i in range(len(kinds))])
        p = np.exp(-eta * (total - total.min()))
        p = p / p.sum()
        mixture = sum(weight * g for weight, g in zip(p, G, strict=True))
        estimates[now] = mixture
        weights.append(p)
        all_experts.append(np.array(G))
        losses[:, :, t] = mean_square(Phi[now], mixture)
        for (s, i), g in zip([(s, i) for s in alive for i in range(len(kinds))], G, strict=True):
            losses[s, i, t] = mean_square(Phi[now], mixture / 2 + g / 2) if shifted else mean_square(Phi[now], g)
    return estimates, weights, all_experts


# ------------------------------------------------------------------ default kernels, and the ensemble


def units_of(rows, Phi=None):
    """x in units of these rows, what is cut off at their edges, and the weights of features in the rough kernel."""
    d = len(rows[0])
    columns = [[row[j] for row in rows] for j in range(d)]
    means = [sum(c) / len(c) for c in columns]
    spreads = [(sum((v - m) ** 2 for v in c) / len(c)) ** 0.5 for c, m in zip(columns, means)]
    spreads = [max(s, 1e-9 * max(max(abs(v) for v in c), 2.0**-511)) for s, c in zip(spreads, columns)]

    @cache
    def units(x):
        return [min(5.0, max(-5.0, (v - m) / s)) for v, m, s in zip(x, means, spreads)]

    seen = [[units(tuple(row))[j] for row in rows] for j in range(d)]

    def cut(u):
        return [min(max(v, min(c)), max(c)) for v, c in zip(u, seen)]

    return units, cut, [1.5 / d] * d if Phi is None else relevance(np.array(seen).T, Phi)


def unit_kernels(rows, Phi=None):
    """On u = (x - mean) / deviation of these d features, each cut off at -5 and 5: smooth, linear, rough and ranks,

    exp(-sum_j a_j (u_j - u'_j)^2 / 3) + <u, u'> / 10d + 1, <u, u'> / d + 1, exp(-sum_j a_j |u_j - u'_j|) +
    <u, u'> / 10d + 1, and exp(-sum_j |r_j - r'_j| 3 / d) + <u, u'> / 10d + 1 with the ranks r of u.

    a_j is 3 / 2d, or, with Phi of these rows, that of `relevance`. A feature that has not moved has a billionth of
    its size for a deviation.
    """
    d, (units, cut, weights) = len(rows[0]), units_of(rows, Phi)
    columns = list(zip(*(units(tuple(row)) for row in rows)))

    @cache
    def ranked(u):
        return [ranks(x, column) for x, column in zip(u, columns)]

    def on_ranks(u, v):
        return math.exp(-3 / d * sum(abs(s - t) for s, t in zip(ranked(tuple(u)), ranked(tuple(v)))))

    def smooth(u, v):
        return math.exp(-sum(a * (s - t) ** 2 for a, s, t in zip(weights, u, v)) / 3)

    def rough(u, v):
        return math.exp(-sum(a * abs(s - t) for a, s, t in zip(weights, cut(u), cut(v))))

    def on_units(kernel):
        return lambda x, y: kernel(units(tuple(x)), units(tuple(y))) + 1

    return [
        on_units(lambda u, v: smooth(u, v) + linear(u, v) / (10 * d)),
        on_units(lambda u, v: linear(u, v) / d),
        on_units(lambda u, v: rough(u, v) + linear(u, v) / (10 * d)),
        on_units(lambda u, v: on_ranks(u, v) + linear(u, v) / (10 * d)),
    ]


def scales_taken(ends, first=4, last=256, at_once=8, exact=10**9, units=10**9, in_turn=True):
    """How many rows the scales in force are of, before each round and after the last.

    They are taken when there are n = 4, 8, ..., 256 rows or more, but not where units < n < exact, and are in force
    at once up to n = 8, and after that, and with n = exact, n / 4 rows later; with n >= 128 n / 8 rows later, or
    n / 2 where rows are learned again in turn.
    """
    of, due, waiting, found = 0, first, None, []
    for rows in [0, *ends]:
        if waiting and rows >= waiting[1]:
            of, waiting = waiting[0], None
        elif waiting is None and due <= min(rows, last):
            n = max(n for n in [2**i for i in range(12)] if n <= min(rows, last))
            soon = n <= at_once and n < exact
            wait = n // 4 if n < 128 else n // 2 if in_turn else n // 8
            of, waiting = (rows, None) if soon or rows >= n + wait else (of, (rows, n + wait))
            due = min(exact, last) if units < 2 * n < min(exact, last) else 2 * n
        found.append(of)
    return found


def unit_rows(rows, Phi):
    """The features that the rough kernel compares, a_j u_j cut off at the edges of these rows, as a function of x."""
    units, cut, weights = units_of(rows, Phi)
    return lambda x: [a * u for a, u in zip(weights, cut(units(tuple(x))))]


class Corrected:
    """Estimates g, each with corrections made of the rounds before it, which are weighted by what each has gained."""

    def __init__(self, prior):
        self.prior, self.rounds = prior, []

    def go_on(self, other, rounds):
        """From the first rounds of another."""
        self.rounds = other.rounds[:rounds]

    def __call__(self, g, phi, members):
        """members: what each expert says."""
        differences = [e - g for e in members]
        moved = self.corrections(g, differences)
        ages = [(511 / 512) ** (len(self.rounds) - s) for s in range(len(self.rounds) + 1)]
        mean = (ages[0] + sum(a * own for a, (own, *_) in zip(ages[1:], self.rounds))) / sum(ages)
        gains = [sum(a * gained[k] for a, (_, gained, *_) in zip(ages[1:], self.rounds)) for k in range(len(moved))]
        weights = [math.exp(self.prior + 0.5 * gain / mean) for gain in gains]
        own = mean_square(phi, g)
        self.rounds.append((own, [own - mean_square(phi, g + c) for c in moved], phi - g, differences))
        return g + sum(w / (1 + sum(weights)) * c for w, c in zip(weights, moved))


class Nearest(Corrected):
    """Corrections by the errors at the nearest rows."""

    def __init__(self, U, memory=4096):
        super().__init__(-5.0)
        self.U, self.memory = U, memory

    def corrections(self, g, differences):
        t = len(self.rounds)

        def apart(s):
            return sum(abs(a - b) for a, b in zip(self.U[t], self.U[s])), -s

        near = sorted(range(max(0, t - self.memory), t), key=apart)
        return [sum((self.rounds[s][2] for s in near[:k]), 0 * g) / (k + max(k, 3)) for k in (1, 3, 10, 30)]


class Stacked(Corrected):
    """Corrections by ridge regressions of errors on what each expert differs by from the estimate."""

    def __init__(self):
        super().__init__(0.0)

    def corrections(self, g, differences):
        found, t, K = [], len(self.rounds), len(differences)
        for kept, shrinkage in ((1.0, 3.0), (511 / 512, 10.0)):
            ages = [kept ** (t - s) for s in range(t + 1)]
            mean = (ages[0] + sum(a * own for a, (own, *_) in zip(ages[1:], self.rounds))) / sum(ages)
            A, b = np.zeros((K, K)), np.zeros(K)
            for age, (_, _, error, before) in zip(ages[1:], self.rounds):
                A += age * np.array([[np.sum(d * e) / len(d) for e in before] for d in before])
                b += age * np.array([np.sum(d * error) / len(d) for d in before])
            mu = shrinkage * mean + 1e-6 * np.trace(A) / K + 1e-12
            w = np.linalg.solve(A + mu * np.eye(K), b)
            found.append(sum(v * d for v, d in zip(w, differences)))
        return found


def kernels_in_force(X, taken, Phi=None):
    """One kernel before scales are taken, four after."""
    return (
        unit_kernels(X[:taken], None if Phi is None else Phi[:taken])
        if taken
        else [lambda x, y: gaussian(x, y, len(x) ** 0.5) + 1]
    )


def untuned_oskaar(X, Phi, ends, lam):
    """g_hat of every round (rows [ends[t - 1], ends[t])), all learned anew with the kernel of the moment."""
    X, estimates = [list(x) for x in X], np.zeros_like(Phi)
    for lo, hi, taken in zip([0, *ends], ends, scales_taken(ends)):
        estimates[lo:hi] = kaar(kernels_in_force(X, taken)[0], X[:lo], Phi[:lo], X[lo:hi], lam)
    return estimates


def ridge(K, Phi, past, now, lam):
    """argmin_g sum_past |phi - g(x)|^2 + lam |g|^2, at the rows now: no hedge."""
    rows, n = np.concatenate([past, now]), len(past)
    Z = coordinates(K[np.ix_(rows, rows)])
    return Z[n:] @ argmin(Z, *kaar_squares(len(rows), np.arange(n), [], Phi[past]), lam)


def by_column(X, Phi, lo, hi, lam):
    """Weights of columns with prior covariance I and noise lam, a row at a time; only variances are kept of each."""
    rows = [[1.0, *(v / max(sum(u * u for u in x) ** 0.5, 1e-300) for v in x)] for x in X[:hi]]
    W, P = np.zeros((len(rows[0]), Phi.shape[1])), np.eye(len(rows[0]))
    for x, phi in zip(np.array(rows[:lo]), Phi):
        K = P @ x / (x @ P @ x + lam)
        W += np.outer(K, phi - x @ W)
        P = np.diag(np.diag(P - np.outer(K, x @ P)))
    return np.array(rows[lo:]) @ W


def static_experts(Ks, Phi, lo, hi, lams, parts=False, columns=None, steps=True):
    """Experts that never restart, at the rows lo..hi-1: [(group, logarithm of the prior weight, estimate)].

    Where rounds are made of parts: ridge regressions with the kernels after the first, or with the only one. Else
    with each, the label before plus what a ridge regression with the rough kernel says of the differences, with four
    kernels ridge regressions with the linear one and on three times the three labels before, the label before, and
    the mean.
    lams: those of each kernel, or the same for all.
    columns: rows for regressions by column, where rounds are made of parts.
    steps: whether differences are regressed.
    """
    past, now = np.arange(lo), np.arange(lo, hi)
    pairs = [(k, K, lam) for k, K in enumerate(Ks) for lam in (lams[k] if isinstance(lams[0], tuple) else lams)]
    if parts:
        found = [(k, -1.0, ridge(K, Phi, past, now, lam)) for k, K, lam in pairs if k > 0 or len(Ks) == 1]
        more = () if columns is None else (0.01, 0.05, 0.3)
        return [*found, *(("columns", -1.0, by_column(columns, Phi, lo, hi, lam)) for lam in more)]
    before = np.vstack([np.zeros((1, Phi.shape[1])), Phi])[: len(Phi)]
    named = [(lam, "lam") if len(Ks) == 1 else k for k, _, lam in pairs]  # with one kernel each lam is a group
    found = [(k, name, ridge(K, Phi, past, now, lam)) for name, (k, K, lam) in zip(named, pairs)]
    stepped = min(2, len(Ks) - 1)  # the rough kernel, or the only one
    moves = [ridge(K, Phi - before, past, now, lam) for k, K, lam in pairs if k == stepped and steps]
    found = [
        *((name, -1.0, g) for k, name, g in found if k <= stepped),
        *(("differences", -3.0, before[now] + move) for move in moves),
        *((name, -1.0, g) for k, name, g in found if k > stepped),
    ]
    if len(Ks) == 4:
        padded = np.clip(np.vstack([np.zeros((3, Phi.shape[1])), Phi]), -30, 30)
        lags = np.hstack([padded[3 - i : len(padded) - i] for i in (1, 2, 3)])
        found += [("lags", -1.0, ridge(Ks[1] + 9 * lags @ lags.T, Phi, past, now, lam)) for lam in (0.1,)]
    mean = sum(Phi[:lo], np.zeros(Phi.shape[1])) / max(lo, 1)
    return [*found, ("last", -3.0, before[now]), ("mean", -3.0, mean[None])]


def borda(n):
    """Estimates of pairs i < j of n items as differences of scores: s_i is the mean over all j of what i leads by."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]

    def scored(g):
        s = [sum(v if i == a else -v for (a, b), v in zip(pairs, g) if i in (a, b)) / n for i in range(n)]
        return np.array([s[i] - s[j] for i, j in pairs])

    return scored


def mean_level(k):
    """Estimates of the k - 1 thresholds of k levels: the code of the mean level, between those of two levels."""

    def scored(g):
        mean = sum((1 + (k - 1) ** 0.5 * v) / 2 for v in g)
        signs = [max(-1.0, min(1.0, 2 * (mean - j) - 1)) for j in range(k - 1)]
        return np.array(signs) / (k - 1) ** 0.5

    return scored


def shares_of_groups(candidates, history):
    """The share of each candidate, the whole first, after rounds with losses history[t][candidate]."""
    weights, worst = [], max((max(losses) for losses in history), default=0.0)
    for q in range(candidates):
        gains = [losses[0] - losses[q] for losses in history]
        scale = (worst**2 + sum(d * d for d in gains)) ** 0.5
        z = sum(gains) / scale if scale else 0.0
        weights.append(np.exp(-3.0 + z * abs(z)) if q else 1.0)
    return [w / sum(weights) for w in weights]


def mixture_with_experts(
    Ks,
    Phi,
    ends,
    lams,
    judge=None,
    eta=0.5,
    scaled=True,
    project=True,
    window=None,
    lives=None,
    later=0.0,
    ridges=None,
    ridge_lams=None,
    known=0,
    scored=None,
    parts=False,
    by_columns=None,
    near=None,
    stack=True,
    record=None,
    before=None,
    begin=0,
    since=None,
    hopeless=(0.0, []),
    steps=True,
):
    """SALAMI's mixture with experts that never restart, and a selection among groups of experts.

    judge(t, g, known): Delta of the answer to the estimate g in round t, when the labels of so many rounds are known,
        which are at least `known`; None where there is no selection.
    parts: rounds are made of parts; by_columns: rows for regressions by column.
    ridges: the Gram matrices of the ridge regressions, or a function of the round that has those of the rows so far;
        None is restarts alone, [] the last label and the mean.
    ridge_lams: their lams; None is the same.
    later: the logarithm of the prior weight of restarts after the first.
    scored: g by scores, where the loss has some: the whole and, of three ridge kernels, the second stand so too.
    near: the features of all rows that are compared for corrections by errors at the nearest; None: no corrections.
    stack: whether estimates are corrected by a regression on what the experts say, where some never restart.
    record: where what was paid is written down; before: the record of another run, from whose first `begin` rounds
        this one goes on.
    since: (false alarms a round, [(Gram matrix, lam)]) of ridge regressions on the rows since the last change. They
        are born after a multiple of 24 rounds, with what the mixture has paid so far; before the first change they
        say what the mixture says.
    hopeless: (h, groups of experts by name) that say what the mixture says, if at the first round of this run each of
        them has less than e^-h of the weight of the best.
    steps: whether differences of labels are regressed.
    A scaled rate is eta over the mean of 1 and the losses of the mixture so far.
    Returns the estimates and, for each round, the weights (restarts, kinds) and those of the experts.
    """
    kinds = [(K, lam) for K in Ks for lam in lams]
    ridge_lams = lams if ridge_lams is None else ridge_lams
    begins, T = [0, *ends[:-1]], len(ends)
    estimates, weights, shares = np.zeros_like(Phi), [], []
    paid, paid_by, own, judged = np.zeros((T, len(kinds), T)), [], [1.0], []
    born, changes, alive_by, rate, since = None, 0, [], *(since or (None, []))
    corrected = [] if near is None else [Nearest(near)]
    corrected += [Stacked()] if stack and ridges is not None else []
    if before is not None:
        of_before, paid_by, own, judged = (
            before["paid"],
            before["paid_by"][:begin],
            before["own"][: begin + 1],
            before["judged"][:begin],
        )
        alive_by = before["alive"][:begin]
        paid[:begin, :, :begin] = of_before[:begin, :, :begin]
        paid[begin:, :, :begin] = own[1:]  # what is born later had the losses of the mixture
        weights, shares = [None] * begin, [None] * begin
        for mine, other in zip(corrected, before["corrected"]):
            mine.go_on(other, begin)
    if record is not None:
        record |= {
            "alive": alive_by,
            "paid": paid,
            "paid_by": paid_by,
            "own": own,
            "judged": judged,
            "corrected": corrected,
        }
    for t, (lo, hi) in list(enumerate(zip(begins, ends)))[begin:]:
        alive = [s for s in range(t + 1) if in_window(window, begins, s, t)]
        alive = [s for s in alive if lives is None or lives(s, t)]
        restarts = [(s, i) for s in alive for i in range(len(kinds))]
        of_round = ridges(t) if callable(ridges) else ridges
        static = [] if ridges is None else static_experts(of_round, Phi, lo, hi, ridge_lams, parts, by_columns, steps)
        alive_by.append(alive)
        if since and t and t % 24 == 0:
            of_restarts = [{s: paid[s, :, r].mean() for s in alive_by[r]} for r in range(t)]
            there_were, changes = changes, len(change_points(of_restarts, alive_by[:t], rate))
            if changes > there_were:
                born = t
                for r in range(t):
                    paid_by[r][-len(since) :] = [own[r + 1]] * len(since)
        for K, lam in since:
            rows = np.arange(lo if born is None else begins[born], lo)
            static.append(("since", -3.0, None if born is None else ridge(K, Phi, rows, np.arange(lo, hi), lam)))
        group = ["restarts" for _ in restarts] + [name for name, _, _ in static]
        by_kind = [experts(K, Phi, [begins[s] for s in alive], lo, hi, lam) for K, lam in kinds]
        found = [g for of_one in zip(*by_kind) for g in of_one]  # by restart, then kind
        found += [g for _, _, g in static]
        awake = np.array([g is not None for g in found])
        found = [projected(g) if project and g is not None else g for g in found]
        prior = [later if s else 0.0 for s, _ in restarts] + [w for _, w, _ in static]
        total = [paid[s, i, :t].sum() for s, i in restarts] + [sum(r[v] for r in paid_by) for v in range(len(static))]
        speed = eta / np.mean(own) if scaled else eta
        logs = np.where(awake, np.array(prior) - speed * np.array(total), -np.inf)
        if t == begin:
            best = {name: max(l for l, n in zip(logs, group) if n == name) for name in hopeless[1]}
            sleeping = [name for name, log in best.items() if log < max(logs) - hopeless[0]]
        found = [None if name in sleeping else g for name, g in zip(group, found)]
        logs = np.array([-np.inf if g is None else l for l, g in zip(logs, found)])
        p = np.exp(logs - max(logs)) / sum(np.exp(logs - max(logs)))
        weights.append(p[: len(restarts)].reshape(len(alive), len(kinds)))
        shares.append(p[len(restarts) :])
        whole = sum(w * g for w, g in zip(p, found) if g is not None)
        said, found = found, [whole if g is None else g for g in found]
        own.append(mean_square(Phi[lo:hi], whole))
        paid[:, :, t] = own[-1]
        for (s, i), g in zip(restarts, found):
            paid[s, i, t] = mean_square(Phi[lo:hi], g)
        paid_by.append([mean_square(Phi[lo:hi], g) for g in found[len(restarts) :]])
        v = np.exp(logs[: len(restarts)] - max(logs[: len(restarts)]))
        members = [sum(w * g for w, g in zip(v, found)) / sum(v), *said[len(restarts) :]]
        wholes = [whole]
        for correct in corrected:
            wholes.append(correct(wholes[-1], Phi[lo:hi], [wholes[-1] if g is None else g for g in members]))
        estimates[lo:hi] = wholes[-1]
        if judge is not None and static:
            candidates = wholes[::-1][:2]  # with the last correction, and without
            first = len(candidates)
            linear = [1] if len(of_round) > 1 else []
            for name in dict.fromkeys(group):
                of = [i for i in range(len(group)) if group[i] == name]
                if isinstance(name, tuple) or name in [*linear, "last"]:
                    v = np.exp(logs[of] - max(logs[of]))  # p may be nothing here
                    candidates.append(sum(w * found[i] for w, i in zip(v, of)) / sum(v))
            if scored is not None:
                candidates += [scored(candidates[0][0])[None]]
                candidates += [scored(candidates[first][0])[None]] if linear else []
            shares_now = shares_of_groups(len(candidates), judged)
            estimates[lo:hi] = sum(w * g for w, g in zip(shares_now, candidates))
            judged.append([judge(t, g[0], max(t, known)) for g in candidates])
    return estimates, weights, shares


def ensemble(
    X,
    Phi,
    ends,
    judge=None,
    kernel=None,
    exact=1024,
    units=256,
    budget=512,
    draws=None,
    columns=False,
    sparse=False,
    at_once=8,
    window=512,
    early=None,
    neighbours=True,
    piece=16,
    fitted=128,
    hopeless=20.0,
    cosine=False,
    **settings,
):
    """Estimates and weights of every round, from a mixture that has learned all with the kernels of the moment.

    kernel: one, in place of those in units of the rows; cosine: it is the default one of sparse rows. units: scales
    are taken up to so many rows, and then when there are `exact`. early: the window of restarts before. exact: with
    scales of so many rows it is on features: restarts on the last `window` rows, Nystrom dictionaries of `budget`
    inputs for all but the linear kernel, on which all rows so far are projected; weights, shares and errors go on
    from those before. Features are taken anew up to 4 exact rows. Autoregressions that are hopeless sleep then,
    but for the last time. Where rounds are parts there are geometric restarts on a dictionary of the first kernel,
    an eighth as large, which is not renewed, from the first round on; when there are `exact` all is learned again,
    once. columns: the kernel is that of the columns of sparse rows, and is kept. sparse: rows of parts are sparse,
    and there are regressions by column, as before there are scales. neighbours: with corrections.
    """
    parts = settings.get("parts")
    final = exact if parts else 4 * exact
    soonest = final + 1 if parts else exact
    in_turn = bool(parts) or settings.get("ridges", 0) is None
    taken = scales_taken(ends, 4 if kernel is None else exact, final, at_once, soonest, units, in_turn)
    X, estimates, weights, shares, record = [list(x) for x in X], np.zeros_like(Phi), [], [], {}
    while len(weights) < len(ends):
        begin = len(weights)
        last = max(t for t in range(len(ends)) if taken[t] == taken[begin])  # the same kernels until then
        seen, known = X[: ends[last]], len([e for e in ends if e <= taken[begin]])
        told = Phi if settings.get("ridges", 0) is not None else None  # labels tell what matters, but not to SALAMI
        kernels = kernels_in_force(X, taken[begin], told) if kernel is None else [kernel]
        Ks, alone = [gram(k, seen, seen) for k in kernels], len(kernels) == 1
        asked = {"lams": (0.1,), "later": -4.0, "ridges": Ks, "window": early, **settings}
        asked["steps"] = not alone or (kernel is not None and not cosine)
        lams_of_each = [(0.1,), (0.05,), (0.01, 0.5), (0.03,)]
        asked["ridge_lams"] = (0.05, 0.5, 1.0, 2.0) if alone else lams_of_each
        if not alone and not parts and settings.get("ridges", Ks) is not None:
            asked["since"] = 0.001, [(Ks[2], 0.05), (Ks[3], 0.03)]
        if parts:
            lams_of_each = [(), (0.01, 1.0), (0.5,), (0.05,)]
            asked |= {"lams": (0.5,), "ridge_lams": (0.05, 0.5) if alone else lams_of_each}
            asked |= {"window": None, "lives": lives("geometric")}
            asked["by_columns"] = seen if sparse or (alone and kernel is None) else None
        if taken[begin] >= exact:
            asked |= {} if parts else {"window": window}
            rough = max(1, budget // 2) if parts else budget
            sizes = [None if columns else budget] if alone else [budget, None, rough, budget]
            shown = 0 if parts else taken[begin]
            found = [
                [K] * (last + 1)
                if m is None
                else dictionary_grams(k, seen, ends[: last + 1], m, 2 * final + i, draws, shown, piece)
                for i, (k, K, m) in enumerate(zip(kernels, Ks, sizes))
            ]
            asked["ridges"] = lambda t, found=found: [Ks_of[t] for Ks_of in found]
        if not parts and taken[begin] >= min(exact, fitted):
            asked |= {"before": record, "begin": begin}
            if len(kernels) == 4 and taken[begin] < 4 * exact and settings.get("ridges", Ks) is not None:
                asked["hopeless"] = hopeless, ["lags"]
        if parts and not (columns and taken[begin] >= exact):
            few = max(1, budget // 8)
            Ks = [dictionary_grams(kernels[0], seen, ends[: last + 1], few, 10**9, draws)[-1], *Ks[1:]]
        if neighbours and kernel is None and taken[begin] and not parts:
            features = unit_rows(X[: taken[begin]], Phi[: taken[begin]])
            asked["near"] = [features(x) for x in seen]
        asked["record"] = record = {}
        G, p, q = mixture_with_experts(Ks[:1], Phi[: ends[last]], ends[: last + 1], judge=judge, known=known, **asked)
        lo = ends[begin - 1] if begin else 0
        estimates[lo : ends[last]] = G[lo:]
        weights += p[begin:]
        shares += q[begin:]
    return estimates, weights, shares


# ------------------------------------------------------------------ features


def kors(kernel, X, budget, ridge, beta, draws):
    """The rows that become atoms, by the formula of the leverage score, and how many there are after each row."""
    atoms, chances, sizes = [], [], []
    for t, x in enumerate(X):
        D = [X[i] for i in atoms]
        S = np.diag(1 / np.sqrt(np.array(chances)))
        k = gram(kernel, D, [x])[:, 0] if D else np.zeros(0)
        inner = S @ gram(kernel, D, D) @ S + ridge * np.eye(len(D)) if D else np.zeros((0, 0))
        left = kernel(x, x) - k @ S @ np.linalg.solve(inner, S @ k) if D else kernel(x, x)
        residual = kernel(x, x) - k @ np.linalg.solve(gram(kernel, D, D), k) if D else kernel(x, x)
        r = left / ridge
        chance = min(1.0, beta * r / (1 + r))
        if len(atoms) < budget and draws[t] < chance and residual > 1e-4 * kernel(x, x):
            atoms.append(t)
            chances.append(chance)
        sizes.append(len(atoms))
    return atoms, sizes


def dictionary_grams(kernel, X, ends, budget, renewal, draws, at_once=0, piece=16):
    """Gram matrices of the rows up to each round, each of them projected on the inputs taken up by its time.

    After the round that brings `renewal`, 2 renewal, ... rows a dictionary that is full is cut to its first half: all
    rows lose what they have in the direction of the others.
    at_once: so many rows are shown at once, those at 0, m, 2m, ..., then at 1, m + 1, ..., m their number over piece;
    then all of these are projected on the inputs that were taken up.
    """
    V, lo = coordinates(gram(kernel, X, X)), 0
    basis, atoms, chances, Z, found = [], [], [], [], []

    def features_of(t, draw):
        z = [b @ V[t] for b in basis]
        left = V[t] - sum((c * b for c, b in zip(z, basis)), np.zeros(V.shape[1]))
        k, S = V[atoms] @ V[t], np.diag(1 / np.sqrt(np.array(chances)))
        inner = S @ V[atoms] @ V[atoms].T @ S + 0.1 * np.eye(len(atoms))
        r = (V[t] @ V[t] - k @ S @ np.linalg.solve(inner, S @ k)) / 0.1
        chance = min(1.0, 10 * r / (1 + r))
        if len(atoms) < budget and draw < chance and left @ left > 1e-4 * (V[t] @ V[t]):
            atoms.append(t)
            chances.append(chance)
            basis.append(left / np.sqrt(left @ left))
            z.append(np.sqrt(left @ left))
        return z

    apart = -(-at_once // piece)
    for t, draw in zip([t for first in range(apart) for t in range(first, at_once, apart)], draws):
        features_of(t, draw)
    for hi in ends:
        Z += [[b @ V[t] for b in basis] if t < at_once else features_of(t, draws[t]) for t in range(lo, hi)]
        M = np.array([z + [0.0] * (len(basis) - len(z)) for z in Z]).reshape(hi, len(basis))
        found.append(M @ M.T)
        lo = hi
        if hi >= renewal:
            while renewal <= hi:
                renewal *= 2
            if len(atoms) == budget > 1:
                basis, atoms, chances, Z = (
                    *(x[: budget // 2] for x in (basis, atoms, chances)),
                    [z[: budget // 2] for z in Z],
                )
    return found


def projected_gram(kernel, X, atoms, sizes):
    """<P_i k(x_i, .), P_j k(x_j, .)>, where P_i projects on the span of the first sizes[i] atoms."""
    Z, rows = coordinates(gram(kernel, X, X)), []
    for z, m in zip(Z, sizes):
        D = Z[atoms[:m]].T
        rows.append(D @ np.linalg.lstsq(D, z, rcond=None)[0])  # the nearest point of the span
    return np.array(rows) @ np.array(rows).T


# ------------------------------------------------------------------ losses


def f_beta_loss(z, y, beta=1.0):
    if not z and not y:
        return 0.0
    hits = len(set(z) & set(y))
    if hits == 0:
        return 1.0
    precision, recall = hits / len(z), hits / len(y)
    return 1 - (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def subset_hamming(z, y, k):
    return sum((j in z) != (j in y) for j in range(k)) / k


def sequence_hamming(z, y):
    return sum(a != b for a, b in zip(z, y)) / len(y)


def subsets(k):
    return [frozenset(c) for c in chain.from_iterable(combinations(range(k), m) for m in range(k + 1))]


def sequences(length, symbols):
    return list(product(symbols, repeat=length))


def orders(n):
    return list(permutations(range(n)))


def least_risk(delta, outputs, weights, labels):
    """min_z sum_s beta_s Delta(z, y_s), by enumeration."""
    return min(risk(delta, z, weights, labels) for z in outputs)


def risk(delta, z, weights, labels):
    return sum(w * delta(z, y) for w, y in zip(weights, labels))


def one_minus_cos(z, y):
    return ((np.cos(z) - np.cos(y)) ** 2 + (np.sin(z) - np.sin(y)) ** 2) / 2


def arc(z, y):
    return min(abs(z - y + 2 * np.pi * turns) for turns in range(-3, 4))


def half_square(z, y):
    return sum((a - b) ** 2 for a, b in zip(z, y)) / 2


def hellinger(z, y):
    return 1 - sum((a * b) ** 0.5 for a, b in zip(z, y))


def pinball(z, y, quantile):
    return quantile * (y - z) if y >= z else (1 - quantile) * (z - y)


def huber(z, y, delta):
    return (z - y) ** 2 / 2 if abs(z - y) <= delta else delta * (abs(z - y) - delta / 2)


def total_variation(z, y):
    return sum(abs(a - b) for a, b in zip(z, y)) / 2


def jaccard(z, y):
    union = set(z) | set(y)
    return 1 - len(set(z) & set(y)) / len(union) if union else 0.0


def precision_at_k(z, y):
    return sum(j not in y for j in z) / len(z)


def levenshtein(z, y):
    """The fewest edits, by the recursion on the last symbols."""
    if not z or not y:
        return len(z) + len(y)
    swap = levenshtein(z[:-1], y[:-1]) + (z[-1] != y[-1])
    return min(swap, levenshtein(z[:-1], y) + 1, levenshtein(z, y[:-1]) + 1)


def warping(z, y):
    """Dynamic time warping, by the recursion on the last values."""
    cost = np.linalg.norm(np.atleast_1d(z[-1]) - np.atleast_1d(y[-1]))
    if len(z) == 1 and len(y) == 1:
        return cost
    ways = [(z[:-1], y), (z, y[:-1]), (z[:-1], y[:-1])]
    return cost + min(warping(a, b) for a, b in ways if len(a) and len(b))


# ------------------------------------------------------------------ rankings and matchings


def kendall(z, y):
    """Pairs that z and y order differently, over all pairs; y may hold sets of tied items, or be a set of pairs."""
    n = len(z)
    if isinstance(y, (set, frozenset)):
        pairs = set(y)
    else:
        groups = [item if isinstance(item, (set, frozenset)) else {item} for item in y]
        pairs = {(a, b) for first, second in combinations(groups, 2) for a in first for b in second}
    return sum(z.index(a) > z.index(b) for a, b in pairs) / (n * (n - 1) / 2) if n > 1 else 0.0


def mean_ranks(y):
    ranks, start = {}, 0
    for item in y:
        group = item if isinstance(item, (set, frozenset)) else {item}
        for member in group:
            ranks[member] = start + (len(group) - 1) / 2
        start += len(group)
    return ranks


def spearman(z, y):
    """Squared rank differences less the least that any z has, over the most that two rankings without ties have."""
    r = mean_ranks(y)

    def squares(order, ranks):
        return sum((place - ranks[item]) ** 2 for place, item in enumerate(order))

    worst = squares(z, {item: len(z) - 1 - place for place, item in enumerate(z)})
    return (squares(z, r) - min(squares(v, r) for v in permutations(z))) / worst if len(z) > 1 else 0.0


def footrule(z, y):
    def steps(a, b):
        return sum(abs(place - b.index(item)) for place, item in enumerate(a))

    return steps(z, y) / steps(z, z[::-1]) if len(z) > 1 else 0.0


def ndcg_loss(z, relevance, k=None, exponential=False):
    gains = [2**r - 1 if exponential else r for r in relevance]

    def dcg(order):
        return sum(gains[item] / np.log2(place + 2) for place, item in enumerate(order[:k]))

    best = max(dcg(order) for order in permutations(z))
    return 1 - dcg(z) / best if best > 0 else 0.0


def matching_loss(z, y, weights):
    return sum(w for a, b, w in zip(z, y, weights) if a != b) / sum(weights)


# ------------------------------------------------------------------ features


def taylor(x, exponents, lengthscale):
    """One feature of the Gaussian kernel's Taylor series."""
    value = np.exp(-sum(v * v for v in x) / (2 * lengthscale**2))
    for v, a in zip(x, exponents):
        value *= (v / lengthscale) ** a / np.sqrt(float(np.prod(np.arange(1, a + 1))))
    return value


def standardised(X):
    """Each row less the mean of the rows up to it, over their deviation; 0 in columns that have not varied."""
    rows = []
    for t in range(1, len(X) + 1):
        past = X[:t] - X[0]
        spread = np.where((X[:t] == X[0]).all(axis=0), np.inf, past.std(axis=0))
        rows.append((past[-1] - past.mean(axis=0)) / spread)
    return np.array(rows)


def divided_by_size(X):
    """Each row over the root mean square of the rows up to it."""
    sizes = [np.sqrt((X[:t] ** 2).mean(axis=0)) for t in range(1, len(X) + 1)]
    return np.array([x / np.where(s > 0, s, 1.0) for x, s in zip(X, sizes)])


def squared_arc(z, y):
    """The squared angle between two unit vectors, 1 for opposite ones."""
    return (np.arccos(min(1.0, max(-1.0, float(np.dot(z, y))))) / np.pi) ** 2


def transport(z, y, costs):
    """The linear programme over all plans, whole."""
    from scipy.optimize import linprog

    n = len(z)
    rows = [[float(i == a) for i in range(n) for j in range(n)] for a in range(n)]
    columns = [[float(j == b) for i in range(n) for j in range(n)] for b in range(n)]
    return linprog(np.ravel(costs), A_eq=rows + columns, b_eq=[*z, *y], bounds=(0, None)).fun


# ------------------------------------------------------------------ sequences


def path_score(path, scores, pair, start, end):
    """The score of a sequence, symbol by symbol and pair by pair."""
    total = start[path[0]] + end[path[-1]]
    total += sum(scores[i][s] for i, s in enumerate(path))
    return total + sum(pair[a][b] for a, b in pairwise(path))


def all_paths(n, k):
    return list(product(range(k), repeat=n))


def sequence_marginals(factors, pair, start, end):
    """P(s_i = s) for P(s) ~ start prod factors prod pair end, by listing all sequences."""
    n, k = len(factors), len(factors[0])
    P = np.zeros((n, k))
    for path in all_paths(n, k):
        weight = start[path[0]] * end[path[-1]]
        for i, s in enumerate(path):
            weight = weight * factors[i][s]
        for a, b in pairwise(path):
            weight = weight * pair[a][b]
        for i, s in enumerate(path):
            P[i, s] += weight
    return P / P.sum(axis=1, keepdims=True)


def transition_counts(labels, k):
    """From each symbol and the start (k) to each symbol and the end (k)."""
    counts = np.zeros((k + 1, k + 1))
    for y in labels:
        for a, b in zip([k, *y], [*y, k]):
            counts[a, b] += 1
    return counts


def nearest_distribution(v):
    """The point of the simplex nearest to v: the best of all faces, on each the nearest of its plane, if inside."""
    v = np.asarray(v, dtype=float)
    inside = []
    for face in subsets(len(v))[1:]:
        rows = sorted(face)
        q = np.zeros(len(v))
        q[rows] = v[rows] + (1 - v[rows].sum()) / len(rows)  # on the plane through the face
        if q.min() >= 0:
            inside.append(q)
    return min(inside, key=lambda q: ((q - v) ** 2).sum())


def learned_factors(one_hots, labels, k, weight=1.0):
    """P(s | x) / P(s)^weight, both with each symbol seen once more than it was; a row of None knows nothing."""
    letters = [s for y in labels for s in y]
    shares = np.array([(letters.count(s) + 1) / (len(letters) + k) for s in range(k)])
    rows = [shares if v is None else nearest_distribution(v) for v in one_hots]
    return np.array([(len(letters) * P + k * shares) / (len(letters) + k) / shares**weight for P in rows])


def learned_chain(labels, k):
    """The transitions (k, k), start (k,) and end (k,), each seen once more than it was."""
    chain = transition_counts(labels, k) + 1
    chain[k, k] = 0
    chain = chain / chain.sum(axis=1, keepdims=True)
    return chain[:k, :k], chain[k, :k], chain[:k, k]


def decoded_sequence(one_hots, labels, k, weight, whole=False, allowed=None):
    """The best of all (allowed) sequences with the chain of the labels to some power; last symbols decide ties."""
    factors = learned_factors(one_hots, labels, k, weight)
    chain = [part**weight for part in learned_chain(labels, k)]
    paths = all_paths(len(factors), k)
    if allowed is not None:
        paths = [path for path in paths if all(allowed[a, b] for a, b in zip([-1, *path], [*path, -1]))]
    if whole:
        logs = [np.log(part) for part in (factors, *chain)]
        values = [path_score(path, *logs) for path in paths]
    else:
        P = sequence_marginals(factors, *chain)
        values = [sum(P[i, s] for i, s in enumerate(path)) for path in paths]
    return min((path for path, v in zip(paths, values) if v > max(values) - 1e-9), key=lambda path: path[::-1])


def leader(history):
    """Of losses, a row for each round before: the place of the smallest sum, the first of equals."""
    sums = [sum(column) for column in zip(*history)] or [0.0]
    return next(i for i, total in enumerate(sums) if total < min(sums) + 1e-9)


def spans_are_well_formed(tags, closing):
    """Whether a tag sequence is made of O, and spans B-x I-x ..., which E-x must end and S-x is alone if closing."""
    i = 0
    while i < len(tags):
        if tags[i] == "O" or tags[i][0] == "S":
            i += 1
            continue
        if tags[i][0] != "B":
            return False
        kind, i = tags[i][2:], i + 1
        while i < len(tags) and tags[i] == "I-" + kind:
            i += 1
        if closing:
            if i == len(tags) or tags[i] != "E-" + kind:
                return False
            i += 1
        elif i < len(tags) and tags[i] == "E-" + kind:
            return False
    return True


def dcg_regret(z, relevance, k, top_grade, exponential=True):
    def dcg(grades):
        gains = [2**r - 1 if exponential else r for r in grades]
        return sum(gain / np.log2(place + 2) for place, gain in enumerate(gains[:k]))

    whole = dcg([top_grade] * (len(relevance) if k is None else k))
    best = max(dcg([relevance[i] for i in order]) for order in permutations(range(len(relevance))))
    return (best - dcg([relevance[i] for i in z])) / whole


def arcs(n):
    return [(head, token) for token in range(1, n + 1) for head in range(n + 1) if head != token]


def leads_to_root(token, heads):
    for _ in heads:
        token = heads[token - 1] if token else 0
    return token == 0


def trees(n):
    """Heads of tokens 1..n with one root from which all can be reached."""
    every = product(range(n + 1), repeat=n)
    return [z for z in every if z.count(0) == 1 and all(leads_to_root(token, z) for token in range(1, n + 1))]


def tree_score(z, scores):
    """scores: {(head, token): number}."""
    return sum(scores[head, token] for token, head in enumerate(z, start=1))


def best_tree(scores, n):
    return max(trees(n), key=lambda z: tree_score(z, scores))


# ------------------------------------------------------------------ reports


def block_sums(values, most):
    """The least power of 2 that makes at most so many blocks, and the sum of each block."""
    size = 1
    while len(values) > most * size:
        size *= 2
    return size, [sum(values[i : i + size]) for i in range(0, len(values), size)]


def mean_since(values, judged, first, last):
    """The mean of the judged values first..last-1; None where there are none."""
    kept = [v for v, j in zip(values[first:last], judged[first:last]) if j]
    return sum(kept) / len(kept) if kept else None


def binned(restarts, weights, width, bins):
    """The weights of restarts, counted from 1, in bins of so many."""
    return [sum(p for s, p in zip(restarts, weights) if (s - 1) // width == b) for b in range(bins)]


def worst_rounds(losses, surrogates, most):
    """The rounds, counted from 1, with the largest losses above 0; among equals the largest surrogate."""
    order = sorted(range(len(losses)), key=lambda i: (losses[i], surrogates[i]), reverse=True)
    return [i + 1 for i in order if losses[i] > 0][:most]


# ------------------------------------------------------------------ change points


def change_points(losses, alive, rate):
    """[(round, detected, p)] from losses[t][s] of restarts s in alive[t]; all is computed anew in every round."""
    found, start, since, used = [], 0, 0, 0
    for now in range(len(losses)):
        references = [min((s for s in alive[t] if s >= start), default=None) for t in range(now + 1)]
        gains = []
        for t in range(since, now + 1):
            a = references[t]
            if t - a >= 72:
                young = [max(s for s in alive[t] if s <= t - h) for h in (4, 8, 16, 32, 64)]
                gains.append(losses[t][a] - sum(losses[t][s] for s in young) / 5)
        K = len(gains) // 8
        if len(gains) % 8 or used == K:
            continue
        used = K
        blocks = [sum(gains[8 * k : 8 * k + 8]) / 8 for k in range(K)][-256:]
        if len(blocks) < 6 or 8 * len(blocks) * rate < 0.2:
            continue
        p, j = rise(blocks)
        if p <= 2 * rate:
            near = [s for s in alive[now] if s > max(start, now - 16 * j - 64)]
            gained = {
                s: sum(losses[t][references[t]] - losses[t][s] for t in range(max(s, since), now + 1)) for s in near
            }
            start = max(near, key=lambda s: (gained[s], -s))
            found.append((start + 1, now + 1, p))
            since, used = now + 1, 0
    return found


def rise(blocks):
    """(p, j): is the mean of the last j blocks larger than that of those before? The largest p over scales."""
    tried = [j for j in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if j <= len(blocks) // 3]
    ps = []
    for j in tried:
        first, last = np.array(blocks[:-j]), np.array(blocks[-j:])
        p, q = 0.0, 1
        while q == 1 or len(first) // q >= 16:
            m = len(first) // q
            c = np.array([first[i * q : (i + 1) * q].mean() for i in range(m)])
            e = c - c.mean()
            r = (e[1:] @ e[:-1]) / (e @ e)
            r = min(max(r + (1 + 3 * max(r, 0.0)) / m, 0.0), 0.98)
            f = (1 + r) / (1 - r)
            t = (last.mean() - first.mean()) / np.sqrt(e @ e / (m - 1) * f * (q / j + 1 / m))
            p = max(p, student.sf(t, max((m - 1) / f, 1.0)))
            q *= 2
        ps.append(p)
    best = int(np.argmin(ps))
    return min(1.0, len(tried) * ps[best]), tried[best]


# ---------------------------------------------------------------- kernels whose parameters are estimated


def relevance(U, Phi, lam=0.5, passes=3):
    """The weights a_j of exp(-sum_j a_j |u_j - u'_j|): derivatives of a ridge regression, row by row."""
    n, d = U.shape
    weights = [1.5 / d] * d
    for _ in range(passes):
        K = np.array([[math.exp(-sum(a * abs(s - t) for a, s, t in zip(weights, u, v))) for v in U] for u in U])
        alpha = np.linalg.solve(K + 1.0 + lam * np.eye(n), Phi)
        steep = np.zeros(d)
        for j in range(d):
            for i in range(n):
                slope = sum(-weights[j] * np.sign(U[i, j] - U[s, j]) * K[i, s] * alpha[s] for s in range(n))
                steep[j] += slope @ slope / n
        if np.sqrt(steep).sum() <= 1e-9 * np.sqrt(np.sum(Phi**2) / n):
            break
        sizes = np.sqrt(steep)
        weights = [1.5 * (0.9 * size / sizes.sum() + 0.1 / d) for size in sizes]
    return np.array(weights)


def ranks(x, column):
    """sqrt(12) (F(x) - 1/2), F the distribution function of a column, ties in the middle, linear in between."""

    def height(value):
        return (sum(v < value for v in column) + sum(v <= value for v in column)) / (2 * len(column))

    below = max([v for v in column if v <= x], default=min(column))
    above = min([v for v in column if v >= x], default=max(column))
    share = 0.0 if above == below else (x - below) / (above - below)
    return math.sqrt(12) * (height(below) + share * (height(above) - height(below)) - 0.5)


def learned_range(labels):
    """The labels so far and as much again on either side, taken anew when a label is outside."""
    first = last = low = high = labels[0]
    for y in labels:
        if not low <= y <= high:
            first, last = min(first, y), max(last, y)
            low, high = first - (last - first), last + (last - first)
    return low, high


# ------------------------------------------------------------------ rows of named cells as numbers


def splitmix64(value):
    """The finaliser of splitmix64 after one step, in whole numbers."""
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def hashed_words(name, text, texts):
    """A text as {bucket: weight}, of norm 1: words with signs, by idf over `texts` and 1 + log of their count."""
    words = {w: text.lower().split().count(w) for w in text.lower().split()}
    places = {w: token_place(name, w) for w in words}
    row = {}
    for word, count in words.items():
        bucket, sign = places[word]
        having = sum(any(token_place(name, w)[0] == bucket for w in other.lower().split()) for other in texts)
        idf = math.log((1 + len(texts)) / (1 + having)) + 1
        row[bucket] = row.get(bucket, 0.0) + sign * idf * (1 + math.log(count))
    norm = math.sqrt(sum(v * v for v in row.values()))
    return {bucket: v / norm for bucket, v in row.items()} if norm else {}


def token_place(name, token):
    salt = zlib.crc32(repr(name).encode())
    bits = splitmix64(zlib.crc32(token.encode(), salt) ^ (salt << 32))
    return bits % 2**16, -1.0 if bits >> 63 else 1.0


def encoded_rows(rows, kinds):
    """Dense numbers (n, D) of dict rows whose columns have these kinds, from all of the rows; None is missing.

    number: x or the mean; category: 1/sqrt(2) in the place of its value, by first appearance; time: days since the
    first, then cos and sin of hour, weekday, month. Each column with gaps has one more number, 1 where it is missing.
    """
    columns = []
    for name, kind in kinds.items():
        cells = [row.get(name) for row in rows]
        there = [cell for cell in cells if cell is not None]
        if kind == "number":
            mean = sum(there) / len(there)
            columns.append([mean if cell is None else cell for cell in cells])
        elif kind == "category":
            values = dict.fromkeys(there)
            columns += [[math.sqrt(0.5) if cell == value else 0.0 for cell in cells] for value in values]
        elif kind == "time":
            days = [(cell - there[0]).total_seconds() / 86400 for cell in there]
            mean = sum(days) / len(days)
            columns.append([mean if c is None else (c - there[0]).total_seconds() / 86400 for c in cells])
            turns = [
                lambda c: (c.hour * 3600 + c.minute * 60 + c.second) / 86400,
                lambda c: c.weekday() / 7,
                lambda c: (c.month - 1) / 12,
            ]
            turns = [turn for turn in turns if len({turn(cell) for cell in there}) > 1]
            for f in (math.cos, math.sin):
                columns += [[0.0 if c is None else f(2 * math.pi * turn(c)) for c in cells] for turn in turns]
        if len(there) < len(cells):
            columns.append([float(cell is None) for cell in cells])
    return np.array(columns).T.reshape(len(rows), -1)


# ------------------------------------------------------------------ calibration


def calibrated(rounds, exclusive, first=512, every=32):
    """Probabilities of each round, raised to powers that the rounds before it chose.

    rounds: (places, truths) of each: a dict of probabilities and a set of names that held, for each place.
    """
    powers = [2.0 ** (i / 2) for i in range(-2, 5)]
    gains, answers = [0.0] * len(powers), []

    def powered(p, a):
        if exclusive:
            total = sum(value**a for value in p.values())
            return {name: value**a / total for name, value in p.items()}
        return {name: value**a / (value**a + (1 - value) ** a) for name, value in p.items()}

    def score(q, truth):
        if exclusive:
            return math.log(sum(q[name] for name in truth))
        return sum(math.log(v if name in truth else 1 - v) for name, v in q.items()) / len(q)

    for t, (places, truths) in enumerate(rounds):
        weights = [min(a, 1 / a) * math.exp(g - max(gains)) for a, g in zip(powers, gains)]
        mixed = []
        for p in places:
            found, prior = [powered(p, a) for a in powers], 1 / max(len(p), 1) if exclusive else 0.5
            q = {name: sum(w * q[name] for w, q in zip(weights, found)) / sum(weights) for name in p}
            mixed.append({name: (t * value + prior) / (t + 1) for name, value in q.items()})
        answers.append(mixed)
        scored = [(p, truth & set(p)) for p, truth in zip(places, truths) if p and (not exclusive or truth & set(p))]
        if scored and (t < first or t % every == 0):
            for i, a in enumerate(powers):
                mean = sum(score(powered(p, a), truth) for p, truth in scored) / len(scored)
                gains[i] = 0.99 * gains[i] + mean
    return answers
