"""Strategies side by side on one traffic: what `ridgeline simulate` plays.

It needs the extra `simulate`, as the simulator beneath it does.
"""
