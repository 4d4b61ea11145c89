"""Frequencies beside the dense matrices of MuJoCo and of Exudyn."""

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

import sparsebody as sb


def stewart_on_springs():
    """MJCF: a plate on six legs, each a ball, a slide with a spring, and a ball that is cut."""
    legs, ends = [], []
    for k in range(6):
        angle, turned = np.deg2rad([60.0 * k + 5, 60.0 * k + 25 * (-1) ** k])
        foot = np.array([np.cos(angle), np.sin(angle), 0.0])
        top = np.array([0.5 * np.cos(turned), 0.5 * np.sin(turned), 0.8])
        z = (top - foot) / np.linalg.norm(top - foot)
        length = np.linalg.norm(top - foot)
        legs.append(
            f'<body name="lower{k}" pos="{_text(foot)}" zaxis="{_text(z)}">'
            '<joint type="ball"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .4" mass=".5"/>'
            f'<body name="upper{k}" pos="0 0 {length}"><joint type="slide" axis="0 0 1" '
            f'stiffness="{500 + 50 * k}"/>'
            '<geom type="capsule" size=".015" fromto="0 0 -.4 0 0 0" mass=".3"/></body></body>'
        )
        ends.append(f'<connect body1="upper{k}" body2="plate" anchor="0 0 0"/>')
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>'
        '<default><geom contype="0" conaffinity="0"/></default><worldbody>'
        '<body name="plate" pos="0 0 .8"><freejoint/><geom type="cylinder" size=".5 .02" mass="4"/>'
        f"</body>{''.join(legs)}</worldbody><equality>{''.join(ends)}</equality></mujoco>"
    )


def _text(vector):
    return " ".join(f"{x:.17g}" for x in vector)


def test_stewart_platform_on_springs_has_the_frequencies_of_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "stewart.xml"
    path.write_text(stewart_on_springs())
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M) if mujoco.__version__ >= "4" else mujoco.mj_fullM(
        model, M, data.qM
    )
    stiffness = np.zeros(model.nv)
    stiffness[model.jnt_dofadr] = (
        model.jnt_stiffness if model.jnt_stiffness.ndim == 1 else (model.jnt_stiffness[:, 0])
    )
    N = null_space(data.efc_J.reshape(-1, model.nv), rcond=1e-9)
    square = eigh(N.T @ np.diag(stiffness) @ N, N.T @ M @ N, eigvals_only=True)
    result = sb.modes(sb.load_mechanism(path).compile(), n=12)
    n_free = result.n_mechanisms
    assert n_free == int((np.abs(square) < 1e-9 * square.max()).sum())
    expected = np.sqrt(square[n_free:][: len(result.frequency) - n_free]) / (2 * np.pi)
    np.testing.assert_allclose(result.frequency[n_free:], expected, rtol=1e-6)
