"""API objects and data files → the pure packages' values."""
