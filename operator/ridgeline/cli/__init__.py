"""Commands: `ridgeline …` and `kubectl ridgeline …`."""
