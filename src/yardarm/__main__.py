"""``python -m yardarm``."""

import sys

from yardarm.cli import main

sys.exit(main())
