"""Tables and plots for people."""
