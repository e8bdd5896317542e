"""Pure: from what is known of hardware and model to the cut-off table."""
