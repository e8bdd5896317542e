"""Makes the operator that finds this on its path one of another version."""

import ridgeline

ridgeline.__version__ = "99.0.0"
