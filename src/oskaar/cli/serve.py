"""`oskaar serve`: see `oskaar.serve.command`."""

from oskaar.serve.command import run

__all__ = ["run"]
