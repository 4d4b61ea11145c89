"""A motion recorded and drawn
===========================

A simulation recorded in a file, and figures drawn from the file.

A ring of hinged bars falls from its support; the motion is recorded and drawn.
"""

import tempfile
from pathlib import Path

import sparsebody as sb
from sparsebody.plots import Options, save_figure, trajectory_subject


def main(folder: Path | None = None) -> float:
    """Return the energy error of the recorded motion."""
    folder = Path(tempfile.mkdtemp()) if folder is None else folder
    ring = sb.build("ring", bodies=8, joint="revolute")
    sb.write_mechanism(ring, folder / "ring.json")
    source = (folder / "ring.json").read_text(encoding="utf-8")
    trajectory = sb.simulate(
        sb.load_mechanism(folder / "ring.json").compile(),
        duration=1.0,
        step=0.005,
        record=sb.Recording(step=0.01),
        output=sb.Output(folder / "ring.h5", source=source),
    )
    picture = trajectory_subject(folder / "ring.h5", Options(instants=5)).figure("motion")
    print(save_figure(picture, folder / "ring.png"))
    trajectory.show(output=folder / "ring.html")
    print(f"{len(trajectory)} records, joints closed to {trajectory.position_error.max():.1e}")
    print(f"energy kept to {trajectory.energy_error:.1e}")
    assert trajectory.energy_error is not None
    return trajectory.energy_error


if __name__ == "__main__":
    main()
