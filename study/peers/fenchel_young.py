r"""Online gradient descent on Fenchel-Young losses with randomised decoding (Sakaue, Bao, Tsuchiya and Oki, 2024).

    theta_t = W_t x_t,   mu_t = mu(theta_t),   W_{t+1} = W_t - eta (mu_t - y_t) x_t^T                              (1)

Randomised decoding: v the vertex nearest to mu, D its distance, nu the least distance of two vertices,

    answer a random vertex with mean mu with probability min(1, 2 D / nu), else v                                (2)

Step "theory": with |x| <= C and Omega lam-strongly convex, |gradient|^2 <= b S for b = 2 C^2 / lam. For classes and
the logistic loss in bits, (2) costs at most (1 - a) S on average, a = 1 - ln 2, and eta = 2 a / b makes the surrogate
regret finite; in nats that is eta = a lam / C^2. For the other polytopes the same eta is used, without such a claim.
C is not known here: it is the largest norm seen so far. Steps "adaptive" and "diagonal" are AdaGrad's, by the norm
and by coordinate. Rows have a constant 1, are standardised with what was seen, and csr rows pass as they are.
Which polytope serves which kind is in POLYTOPES.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from oskaar.arrays import Array
from study.peers.polytopes import Cube, Permutahedron, Polytope
from study.peers.polytopes_parts import Chain, Heads
from study.peers.rows import Scaler, block_of
from study.peers.targets import target_of
from study.protocol import Peer, Stream

GAP = 1 - float(np.log(2))

POLYTOPES: dict[str, type[Polytope]] = {
    "class": Polytope,
    "ordinal": Polytope,
    "subset": Cube,
    "ranking": Permutahedron,
    "sequence": Chain,
    "tree": Heads,
}


class FenchelYoung:
    """W (d + 1, k) and the polytope's shared parameters, by gradient descent."""

    def __init__(self, stream: Stream, setting: Mapping[str, Any], seed: int) -> None:
        self.step = setting.get("step", "theory")
        if self.step not in ("theory", "adaptive", "diagonal"):
            raise ValueError(f"step must be 'theory', 'adaptive' or 'diagonal', got {self.step!r}.")
        self.scale, self.randomised = setting.get("scale", 1.0), setting.get("randomised", True)
        target = target_of(stream, as_classes=True)
        self.polytope = POLYTOPES[stream.kind](target)
        self.scaler = Scaler(stream.n_columns)
        self.W = np.zeros((stream.n_columns + 1, target.p))
        self.shared = self.polytope.shared.copy()
        self.largest = 0.0
        self.squares: list[Any] = [0.0, 0.0]
        self.seed, self.rounds = seed, 0

    def predict_one(self, x: Any) -> Any:
        """(2), None before the first label; the same answer however often it is asked."""
        if not self.rounds:
            return None
        theta = self._scores(self.scaler.scaled(block_of(x)))
        mu, _ = self.polytope.mean(theta, self.shared)
        v = self.polytope.nearest(mu)
        if self.randomised:
            rng = np.random.default_rng((self.seed, self.rounds))
            if rng.random() < 2 * self.polytope.distance(v, mu) / self.polytope.nu:
                v = self.polytope.sample(theta, self.shared, mu, rng)
        return self.polytope.answer(v, mu)

    def learn_one(self, x: Any, y: Any) -> None:
        """(1)."""
        block = block_of(x)
        self.scaler.learn(block)
        block = self.scaler.scaled(block)
        for parameters, gradient, eta in self._steps(block, self.polytope.vertex(y)):
            parameters -= eta * gradient
        self.rounds += 1

    def _scores(self, block: Any) -> Array:
        return np.asarray(block @ self.W[:-1] + self.W[-1])

    def gradients(self, block: Any, v: Array) -> list[Array]:
        """Of S in W and in the shared parameters."""
        mu, counts = self.polytope.mean(self._scores(block), self.shared)
        D = mu - v
        return [np.vstack([np.asarray(block.T @ D), D.sum(axis=0)]), counts - self.polytope.counts(v)]

    def _steps(self, block: Any, v: Array) -> list[tuple[Array, Array, Any]]:
        """Parameters, their gradients, and eta for each."""
        gradients = self.gradients(block, v)
        pairs = list(zip([self.W, self.shared], gradients, strict=True))
        if self.step == "theory":
            n = v.shape[0]
            norm = float(block.multiply(block).sum() if issparse(block) else (block**2).sum()) + n
            self.largest = max(self.largest, norm + (n - 1 if self.shared.size else 0))
            eta = self.scale * GAP * self.polytope.lam / self.largest
            return [(P, G, eta) for P, G in pairs]
        if self.step == "diagonal":
            self.squares = [s + G**2 for s, G in zip(self.squares, gradients, strict=True)]
            return [(P, G, self.scale / np.sqrt(s + 1e-12)) for (P, G), s in zip(pairs, self.squares, strict=True)]
        self.largest += float(sum((G**2).sum() for G in gradients))
        return [(P, G, self.scale / np.sqrt(self.largest + 1e-12)) for P, G in pairs]


PEERS = (
    Peer(
        "Fenchel-Young OGD",
        "numpy",
        tuple(POLYTOPES),
        (
            {},
            {"step": "adaptive"},
            {"step": "adaptive", "randomised": False},
            {"step": "diagonal", "scale": 0.1, "randomised": False},
            {"step": "theory", "scale": 10.0, "randomised": False},
            {"step": "theory", "randomised": False},
        ),
        FenchelYoung,
    ),
)
