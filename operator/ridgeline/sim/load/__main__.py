"""``python -m ridgeline.sim.load``."""

import sys

from ridgeline.sim.load import main

sys.exit(main(sys.argv[1:]))
