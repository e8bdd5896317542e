"""``python -m ridgeline.sim.stand_in``."""

import sys

from ridgeline.sim.stand_in import main

sys.exit(main(sys.argv[1:]))
