"""``python -m yardarm_serve``."""

import sys

from yardarm_serve.cli import main

sys.exit(main())
