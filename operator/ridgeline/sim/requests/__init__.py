"""A request-level simulator of one serving: replicas, queues, rolls, telemetry, traffic.

Its truth is tables of published step times, never the operator's own cost model, so that a control
law tried here cannot be right by construction. It needs the extra `simulate`.
"""

try:
    import numba as _numba
    import numpy as _numpy
except ImportError as missing:
    raise ImportError(
        f"the request-level simulator needs {missing.name}: "
        "pip install '.[simulate]' in a checkout of ridgeline"
    ) from missing

del _numba, _numpy
