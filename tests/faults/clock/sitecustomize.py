"""Shifts the wall clock of a Python process by the seconds that a small file holds (a double).

Python imports a module of this name at its start where it finds one (PYTHONPATH). The clock that
only runs forward stays as it is, as it does when somebody sets the time of a real machine.
"""

import mmap
import os
import struct
import time

_real = time.time

with open(os.environ["RIDGELINE_CLOCK_SHIFT"], "rb") as _file:
    _shift = mmap.mmap(_file.fileno(), 8, prot=mmap.PROT_READ)


def _shifted() -> float:
    return _real() + float(struct.unpack("d", _shift[:8])[0])


time.time = _shifted
