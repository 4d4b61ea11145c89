"""A robot of an MJCF file, beside MuJoCo
======================================

An arm with a shoulder of two axes, an elbow and a slide is read from MJCF, and falls. MuJoCo's own
Runge-Kutta steps of the same file are the reference.
"""

import tempfile
from pathlib import Path

import mujoco
import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.model import read_robot
from sparsebody.plots import save_figure

DURATION, STEP = 0.5, 1e-3
MODEL = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option integrator="RK4" timestep="0.001"><flag contact="disable"/></option>
  <worldbody>
    <body name="upper arm" pos="0 0 2">
      <joint name="yaw" axis="0 0 1" damping="0.1"/>
      <joint name="pitch" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.6 0 0" size="0.05"/>
      <body name="forearm" pos="0.6 0 0">
        <joint name="elbow" axis="0 1 0.5"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.04"/>
        <body name="hand" pos="0.5 0 0">
          <joint name="slide" type="slide" axis="1 0 0" stiffness="200" damping="2"/>
          <geom type="box" size="0.06 0.04 0.03"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def main() -> float:
    """Return the largest distance between the two hands [m]."""
    folder = Path(tempfile.mkdtemp())
    (folder / "arm.xml").write_text(MODEL)
    system = read_robot(folder / "arm.xml").compile()
    run = sb.simulate(system, duration=DURATION, step=STEP, method="rk4")
    hand = run.position[:, run.body("hand")]

    model = mujoco.MjModel.from_xml_string(MODEL)
    data, path = mujoco.MjData(model), []
    for _ in run.time:
        mujoco.mj_kinematics(model, data)
        path.append(data.xpos[model.body("hand").id].copy())
        mujoco.mj_step(model, data)
    distance = np.linalg.norm(hand - path, axis=1)
    print(f"{system}: hands at most {distance.max():.1e} m apart")
    figure = Figure(figsize=(6, 3), layout="constrained")
    path_axes, gap_axes = figure.subplots(1, 2)
    path_axes.plot(hand[:, 0], hand[:, 2], label="sparsebody")
    path_axes.plot(*np.array(path)[:, [0, 2]].T, "--", label="MuJoCo")
    path_axes.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    path_axes.legend()
    gap_axes.semilogy(run.time[1:], distance[1:])
    gap_axes.set(xlabel="time [s]", ylabel="distance [m]")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "hand.png"))
    run.show(output=folder / "arm.html")
    return float(distance.max())


if __name__ == "__main__":
    main()
