"""Names of `sparsebody.model.subgroups` for other folders, loaded at first use."""

from .classes import (
    Classes as Classes,
)
from .classes import (
    Subgroup as Subgroup,
)
from .classes import (
    describe as describe,
)
from .classes import (
    displacement_classes as displacement_classes,
)
from .classes import (
    loop_classes as loop_classes,
)
from .classes import (
    redundant_subgroups as redundant_subgroups,
)
from .links import Kind as Kind
