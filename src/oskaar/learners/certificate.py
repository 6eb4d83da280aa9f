r"""What a learner's regret cannot exceed, from what it has seen so far.

    R_T  <=  2 c_delta sqrt(T) sqrt(sum_t |phi_t - g_t(x_t)|^2) + gap         Lemma (online CI), on any data     (1)
    sum_t |phi_t - g_t(x_t)|^2  <=  surrogate_bound                          the learner's own theorem          (2)

(1) is summed over rounds from Delta(z_t, y_t) - min_z Delta(z, y_t) <= |psi(z_t) - psi(z*_t)| |phi_t - g_t|, where
the difference of psi is at most 2 c_delta. In spaces that grow, c_delta is the present one, and it serves for earlier
rounds: phi_t - g_t has no coordinate that was added later, and more coordinates or candidates never bring two psi
closer. A round of n rows has the mean over its rows as inner product. `gap` is 0 where decoding is exact; else it is
what the best answer to y_t would have been better by, for the estimate g_t (`Space.gap`). A Kendall decoder that ran
out of time says so by a warning, KemenyGap, and is not in `gap`.
"""

from __future__ import annotations

from dataclasses import dataclass

from oskaar import theory


@dataclass(frozen=True)
class Hindsight:
    """What a learner's theorem says of its surrogate loss, with the best g in hindsight."""

    surrogate_bound: float
    effective_dimension: float | None
    best_fit: float


@dataclass(frozen=True, repr=False)
class Certificate:
    """The state of a learner's regret after some rounds. A value: it does not follow the learner.

    >>> Certificate(rounds=4, regret=1.0, surrogate_loss=1.0, c_delta=0.5)
    Certificate(4 rounds: regret 1 <= 2, surrogate loss 1)
    """

    rounds: int
    """T."""
    regret: float
    """sum_t Delta(z_t, y_t) - min_z Delta(z, y_t)."""
    surrogate_loss: float
    """sum_t |phi_t - g_t(x_t)|^2, a mean over the rows of each round."""
    c_delta: float
    """The radius of a ball that holds every psi(z)."""
    gap: float = 0.0
    """What decoding that is not exact may have cost; 0 for most losses."""
    hindsight: Hindsight | None = None
    """None where no theorem is known: windows, a large or scaled eta, rounds of several rows, SALAMI shifted or in
    company, whose jury moves the estimate.
    """

    @property
    def bound(self) -> float:
        """(1): what the regret cannot exceed, on any data."""
        return theory.comparison_bound(self.rounds, self.c_delta, self.surrogate_loss) + self.gap

    @property
    def surrogate_bound(self) -> float | None:
        """(2): what the surrogate loss cannot exceed, from the present kernel matrix and the best g in hindsight."""
        return None if self.hindsight is None else self.hindsight.surrogate_bound

    @property
    def surrogate_regret(self) -> float | None:
        """The surrogate loss less min_g sum_t |phi_t - g(x_t)|^2 + lam |g|^2."""
        return None if self.hindsight is None else self.surrogate_loss - self.hindsight.best_fit

    @property
    def effective_dimension(self) -> float | None:
        """d_eff(lam) of the rows seen, or d_eff(4 lam) when shifted; None where no one lam is meant."""
        return None if self.hindsight is None else self.hindsight.effective_dimension

    @property
    def prior_bound(self) -> float | None:
        """(1) with (2) in place of the surrogate loss: Theorem 1 for OSKAAR, at the present d_eff."""
        if self.hindsight is None:
            return None
        return theory.comparison_bound(self.rounds, self.c_delta, self.hindsight.surrogate_bound) + self.gap

    def __repr__(self) -> str:
        text = f"{self.rounds} rounds: regret {self.regret:.5g} <= {self.bound:.5g}"
        text += f", surrogate loss {self.surrogate_loss:.5g}"
        if self.hindsight is not None:
            text += f" <= {self.hindsight.surrogate_bound:.5g}, prior bound {self.prior_bound:.5g}"
        return f"Certificate({text})"
