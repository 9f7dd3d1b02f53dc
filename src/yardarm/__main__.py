"""``python -m yardarm``."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # Python has put the current folder there, and what lies in it must not stand in for a package

from yardarm.cli import main

sys.exit(main())
