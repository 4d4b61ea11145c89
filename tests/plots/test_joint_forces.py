import numpy as np

from sparsebody.plots.time_series import plot_joint_forces


def test_every_joint_has_a_curve_and_its_name():
    times = np.linspace(0.0, 1.0, 5)
    figure = plot_joint_forces(times, np.outer(times, [1.0, -2.0]), ["hip", "knee"], "leg")
    (axes,) = figure.axes
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), -2.0 * times)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["hip", "knee"]
    assert axes.get_xlabel() == "time [s]"
    assert axes.get_ylabel() == "joint torque [N m]"
