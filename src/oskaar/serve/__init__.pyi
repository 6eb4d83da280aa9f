from oskaar.serve.client import Client as Client
from oskaar.serve.errors import Conflict as Conflict
from oskaar.serve.errors import NotFound as NotFound
from oskaar.serve.errors import Refused as Refused
from oskaar.serve.errors import ServeError as ServeError
from oskaar.serve.errors import TooBusy as TooBusy
from oskaar.serve.errors import TooLarge as TooLarge
from oskaar.serve.errors import Unauthorised as Unauthorised
from oskaar.serve.errors import Unavailable as Unavailable

__all__: list[str]
