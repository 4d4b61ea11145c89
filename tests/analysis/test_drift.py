import numpy as np
import pytest

import sparsebody as sb
from sparsebody.analysis.drift import joint_errors
from sparsebody.errors import ShapeError
from sparsebody.model.gallery.n_four_bar import n_four_bar
from sparsebody.model.gallery.pendulum import pendulum


def test_largest_joint_error_is_the_recorded_one():
    system = n_four_bar(2, speed=2.0).compile()
    run = sb.simulate(
        system,
        duration=0.3,
        step=0.01,
        method="semi-implicit-euler",
        stabilization="none",
    )
    errors = joint_errors(system, run)
    np.testing.assert_array_equal(errors.position.max(axis=1), run.position_error)
    np.testing.assert_array_equal(errors.velocity.max(axis=1), run.velocity_error)
    name, size = errors.worst(1)[0]
    assert size == run.position_error.max()
    assert name in system.joint_names


def test_trajectory_of_another_system_is_refused():
    run = sb.simulate(pendulum().compile(), duration=0.1, step=0.01)
    with pytest.raises(ShapeError, match="does not have the joints"):
        joint_errors(n_four_bar(2).compile(), run)
