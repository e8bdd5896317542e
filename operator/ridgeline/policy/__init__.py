"""Pure: from facts to a decision. No I/O, no clock: time is a parameter."""
