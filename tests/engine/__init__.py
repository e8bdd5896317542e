"""The real engine: what it accepts, refuses and exports, beside what ridgeline believes of it."""
