"""`oskaar serve`: many streams over HTTP, with delayed labels and a durable log (docs/serve.md).

>>> from oskaar.serve import Client
>>> learner = Client("http://127.0.0.1:8000", stream="tags")        # nothing is sent yet
>>> learner
Client('http://127.0.0.1:8000', stream='tags')

The service needs the extra `serve`; the client needs nothing.
"""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
