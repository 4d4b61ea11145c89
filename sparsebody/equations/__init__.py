"""Equations shared by both schools of dynamics.

Consistent initial states, the motion of a system at a state, actuators as rows on the bodies,
desired motions and their residuals on every body, accelerations and multipliers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
