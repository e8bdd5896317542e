"""Fixtures for all tests."""

import signal

pytest_plugins = ["tests.cluster.fixtures"]

# A shell that starts this run in the background has it ignore SIGINT, and every process that a test
# starts would inherit that; the tests are about processes that are interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
