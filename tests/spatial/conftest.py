"""Hypothesis without a deadline, as in all tests: first calls may compile or wait for a core."""

from hypothesis import settings

settings.register_profile("spatial", deadline=None, max_examples=60)
settings.load_profile("spatial")
