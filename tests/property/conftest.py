"""Hypothesis profiles: the same examples on every run, unless a person asks to search.

RIDGELINE_HYPOTHESIS_PROFILE=search looks at many more, different each time.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ridgeline",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("RIDGELINE_HYPOTHESIS_PROFILE", "ridgeline"))
