from oskaar.spark.batches import Batches as Batches
from oskaar.spark.keyed import keyed as keyed
from oskaar.spark.model import fit as fit
from oskaar.spark.model import predict as predict
from oskaar.spark.session import session as session

__all__: list[str]
