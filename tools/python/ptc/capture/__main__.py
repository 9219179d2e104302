"""`python -m ptc.capture`."""

import sys

from .command import main

sys.exit(main())
