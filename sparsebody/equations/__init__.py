"""What both schools of dynamics need and return.

Consistent initial states, the motion of a system at a state, actuators as rows on the bodies,
desired motions, and what every inverse method is asked and returns, checked body by body.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
