r"""Quantities and bounds of the paper, named by their theorems.

*Structured Prediction in Online Learning*, Boudart, Rudi, Gaillard (2024). A file for each concept: the effective
dimension, its sketch, the capacity condition, what to choose, OSKAAR on any data and in expectation, OSKAAR in high
probability, the regret of mixtures, SALAMI, batch results that the paper cites. Beyond the paper: high probability
with no bound on the estimates, and geometric restarts. docs/notation.md maps the symbols, docs/errata.md lists what
is not as printed.
"""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.theory.batch import batch_comparison_bound, batch_rate, nystrom_cost
    from oskaar.theory.capacity import Capacity, fit_capacity, gaussian_dimension_bound, polynomial_capacity
    from oskaar.theory.data_dependent import (
        data_dependent_cumulative_risk_bound,
        data_dependent_excess_risk_bound,
        feature_risk_bound,
        shifted_kaar_regret,
    )
    from oskaar.theory.dimension import (
        dimension_bound,
        effective_dimension,
        interval_effective_dimension,
        log_determinant,
        log_factor,
        online_leverages,
    )
    from oskaar.theory.dynamic import (
        abrupt_regret,
        dynamic_regret,
        interval_means,
        mixture_regret,
        pieces,
        shifted_abrupt_regret,
        shifted_dynamic_regret,
        variations,
    )
    from oskaar.theory.geometric import (
        geometric_abrupt_bound,
        geometric_cover,
        geometric_drift_bound,
        geometric_pieces,
    )
    from oskaar.theory.high_probability import (
        average_cumulative_risk_bound,
        cumulative_risk_bound,
        excess_risk_bound,
        shifted_kaar_bound,
    )
    from oskaar.theory.prescriptions import (
        abrupt_lam,
        drift_lam,
        drift_pieces,
        gamma,
        gaussian_pieces,
        loss_range,
        realisable_lam,
        salami_eta,
        stationary_lam,
        target_bound,
        unknown_drift_lam,
    )
    from oskaar.theory.salami import (
        salami_abrupt_bound,
        salami_drift_bound,
        salami_gaussian_bound,
        salami_unknown_drift_bound,
        shifted_salami_abrupt_bound,
        shifted_salami_drift_bound,
    )
    from oskaar.theory.sketches import DimensionSketch, Estimate, Mark
    from oskaar.theory.stationary import (
        comparison_bound,
        expected_oskaar_bound,
        expected_oskaar_corollary,
        kaar_bound,
        oskaar_bound,
        realisable_oskaar_bound,
    )

_HOMES = {
    "batch": "batch_comparison_bound batch_rate nystrom_cost",
    "capacity": "Capacity fit_capacity gaussian_dimension_bound polynomial_capacity",
    "data_dependent": (
        "data_dependent_cumulative_risk_bound data_dependent_excess_risk_bound feature_risk_bound shifted_kaar_regret"
    ),
    "dimension": (
        "dimension_bound effective_dimension interval_effective_dimension log_determinant log_factor online_leverages"
    ),
    "dynamic": (
        "abrupt_regret dynamic_regret interval_means mixture_regret pieces shifted_abrupt_regret "
        "shifted_dynamic_regret variations"
    ),
    "geometric": "geometric_abrupt_bound geometric_cover geometric_drift_bound geometric_pieces",
    "high_probability": "average_cumulative_risk_bound cumulative_risk_bound excess_risk_bound shifted_kaar_bound",
    "prescriptions": (
        "abrupt_lam drift_lam drift_pieces gamma gaussian_pieces loss_range realisable_lam salami_eta "
        "stationary_lam target_bound unknown_drift_lam"
    ),
    "salami": (
        "salami_abrupt_bound salami_drift_bound salami_gaussian_bound salami_unknown_drift_bound "
        "shifted_salami_abrupt_bound shifted_salami_drift_bound"
    ),
    "sketches": "DimensionSketch Estimate Mark",
    "stationary": (
        "comparison_bound expected_oskaar_bound expected_oskaar_corollary kaar_bound oskaar_bound "
        "realisable_oskaar_bound"
    ),
}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Capacity",
    "DimensionSketch",
    "Estimate",
    "Mark",
    "abrupt_lam",
    "abrupt_regret",
    "average_cumulative_risk_bound",
    "batch_comparison_bound",
    "batch_rate",
    "comparison_bound",
    "cumulative_risk_bound",
    "data_dependent_cumulative_risk_bound",
    "data_dependent_excess_risk_bound",
    "dimension_bound",
    "drift_lam",
    "drift_pieces",
    "dynamic_regret",
    "effective_dimension",
    "excess_risk_bound",
    "expected_oskaar_bound",
    "expected_oskaar_corollary",
    "feature_risk_bound",
    "fit_capacity",
    "gamma",
    "gaussian_dimension_bound",
    "gaussian_pieces",
    "geometric_abrupt_bound",
    "geometric_cover",
    "geometric_drift_bound",
    "geometric_pieces",
    "interval_effective_dimension",
    "interval_means",
    "kaar_bound",
    "log_determinant",
    "log_factor",
    "loss_range",
    "mixture_regret",
    "nystrom_cost",
    "online_leverages",
    "oskaar_bound",
    "pieces",
    "polynomial_capacity",
    "realisable_lam",
    "realisable_oskaar_bound",
    "salami_abrupt_bound",
    "salami_drift_bound",
    "salami_eta",
    "salami_gaussian_bound",
    "salami_unknown_drift_bound",
    "shifted_abrupt_regret",
    "shifted_dynamic_regret",
    "shifted_kaar_bound",
    "shifted_kaar_regret",
    "shifted_salami_abrupt_bound",
    "shifted_salami_drift_bound",
    "stationary_lam",
    "target_bound",
    "unknown_drift_lam",
    "variations",
]
