"""`python -m oskaar` is `oskaar`."""

import sys

from oskaar.cli import main

if __name__ == "__main__":
    sys.exit(main())
