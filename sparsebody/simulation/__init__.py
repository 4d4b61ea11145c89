"""Motion in time: integrators, stabilization, recording; in `implicit/` implicit steps, statics."""

import lazy_loader

# Not lazy: the module of the same name would take its place.
from sparsebody.simulation.simulate import simulate as simulate

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
