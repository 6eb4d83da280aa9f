r"""Bounds on a learner's regret, from its rounds so far.

    R_T  <=  diam(psi) sqrt(T) sqrt(sum_t |phi_t - g_t|^2) + gap             Lemma (online CI), on any data     (1)
    sum_t |phi_t - g_t|^2  <=  surrogate_bound                               the learner's own theorem          (2)

Here g_t is the estimate behind the answer z_t, made when x_t was asked, and t counts the labels in the order in which
they were told.

(1) is summed over rounds, by Cauchy and Schwarz. With z* the best answer to y_t,

    Delta(z_t, y_t) - Delta(z*, y_t) = <psi(z_t) - psi(z*), phi_t - g_t> + <psi(z_t) - psi(z*), g_t>
                                    <= diam(psi) |phi_t - g_t| + gap_t

diam(psi) <= 2 c_delta takes the place of the paper's 2 c_delta (docs/how-it-works.md). gap_t is 0 where decoding is
exact, as <psi(z_t), g_t> is then the least; else it is <psi(z_t) - psi(z*), g_t> itself (`Space.gap`). It is taken
when y_t is told, in the space that knows z*, for the g_t and the z_t of asking, so that it counts answers that became
known while the label was under way. In spaces that grow the last diameter serves all rounds: phi_t - g_t has no
coordinate that was added later, and more coordinates or answers never bring two psi closer. A round of n rows has the
mean over its rows as inner product.

(2) is about the estimates h_t that the learner would have answered with when the labels came: to its theorem, a round
is where it is learned. The surrogate loss is that of the g_t, and both are known, so that the difference is booked:

    sum_t |phi_t - g_t|^2  =  sum_t |phi_t - h_t|^2 + delay_drift

The theorem bounds the first term and delay_drift is added to it: the price of delay is what the estimate would have
gained from the labels that were under way (Joulani, Gyorgy, Szepesvari 2013). It is 0 where labels come at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from oskaar import theory
from oskaar.display import html_table


@dataclass(frozen=True)
class Hindsight:
    """A theorem's bound on the surrogate loss, with the best g in hindsight."""

    surrogate_bound: float
    effective_dimension: float | None
    best_fit: float


@dataclass(frozen=True, repr=False)
class Certificate:
    """The state of a learner's regret after some rounds. A value: it does not follow the learner.

    >>> Certificate(rounds=4, regret=1.0, surrogate_loss=1.0, diameter=1.0)
    Certificate(4 rounds: regret 1 <= 2, surrogate loss 1)
    """

    rounds: int
    """T."""
    regret: float
    """sum_t Delta(z_t, y_t) - min_z Delta(z, y_t)."""
    surrogate_loss: float
    """sum_t |phi_t - g_t|^2, a mean over the rows of each round."""
    diameter: float
    """A bound on |psi(z) - psi(z')|, at most 2 c_delta."""
    gap: float = 0.0
    """What decoding that is not exact may have cost; 0 for most losses."""
    hindsight: Hindsight | None = None
    """None where no theorem is known: features and budgets, windows, a large or scaled eta, rounds of several rows,
    SALAMI shifted or not projected, an ensemble with selection.
    """
    delay_drift: float = 0.0
    """What the surrogate loss has more than that of the estimates when the labels came; 0 where none was late."""

    @property
    def bound(self) -> float:
        """(1): a bound on the regret, on any data."""
        return theory.comparison_bound(self.rounds, self.diameter / 2, self.surrogate_loss) + self.gap

    @property
    def surrogate_bound(self) -> float | None:
        """(2): a bound on the surrogate loss, from the present kernel matrix and the best g in hindsight.

        `delay_drift` included.
        """
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
        return theory.comparison_bound(self.rounds, self.diameter / 2, self.hindsight.surrogate_bound) + self.gap

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("rounds", self.rounds), ("regret", self.regret)]
        rows += [("cannot exceed", self.bound), ("surrogate loss", self.surrogate_loss)]
        if self.surrogate_bound is not None:
            rows.append(("cannot exceed", self.surrogate_bound))
        return html_table("Certificate", rows)

    def __repr__(self) -> str:
        text = f"{self.rounds} rounds: regret {self.regret:.5g} <= {self.bound:.5g}"
        text += f", surrogate loss {self.surrogate_loss:.5g}"
        if self.hindsight is not None:
            text += f" <= {self.hindsight.surrogate_bound:.5g}, prior bound {self.prior_bound:.5g}"
        if self.delay_drift:
            text += f", delay drift {self.delay_drift:.5g}"
        return f"Certificate({text})"
