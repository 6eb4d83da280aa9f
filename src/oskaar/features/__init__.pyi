from oskaar.features.base import FeatureMap as FeatureMap
from oskaar.features.base import Frozen as Frozen
from oskaar.features.fourier import Orthogonal as Orthogonal
from oskaar.features.fourier import RandomFourier as RandomFourier
from oskaar.features.linear import Hashing as Hashing
from oskaar.features.linear import Identity as Identity
from oskaar.features.linear import LinearMap as LinearMap
from oskaar.features.nystrom import Nystrom as Nystrom
from oskaar.features.scaling import Standardised as Standardised
from oskaar.features.taylor import Taylor as Taylor

__all__: list[str]
