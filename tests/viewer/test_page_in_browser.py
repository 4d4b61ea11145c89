"""The page in a real browser: it plays, is picked from, and shows what Python says."""

import io
import time

import numpy as np
import pytest
from PIL import Image

import sparsebody as sb
from sparsebody.viewer import find_browser, motion_page, order_page
from sparsebody.viewer.browser import FLAGS

pytestmark = pytest.mark.browser
WIDTH, HEIGHT = 1000, 640
CUBE = np.array(list(np.ndindex(2, 2, 2))) - 0.5
CUBE_TRIANGLES = [
    *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
    *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    import shutil

    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = find_browser()
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=service) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def trajectory():
    system = sb.build("four-bar", speed=3.0).compile()
    return sb.simulate(
        system, duration=1.0, step=0.01, record=sb.Recording(reactions=True), method="rk4"
    )


@pytest.fixture(scope="module")
def opened(driver, trajectory, tmp_path_factory):
    """The page of the four-bar, paused at its first frame."""
    page = motion_page(trajectory.system, trajectory)
    path = page.save(tmp_path_factory.mktemp("page") / "page.html")
    driver.get(f"{path.as_uri()}#theme=light&t=0")
    yield driver
    assert driver.get_log("browser") == []  # no error, no warning


def value(driver, expression):
    return driver.execute_script(f"const page = window.sparsebody; return {expression};")


def click(driver, x, y):
    from selenium.webdriver import ActionChains

    mouse = ActionChains(driver, duration=20).w3c_actions
    mouse.pointer_action.move_to_location(round(x), round(y)).click()
    mouse.perform()


def screenshot(driver):
    return np.asarray(Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB"), float)


def test_bodies_are_where_the_trajectory_says(opened, trajectory):
    for index in (0, 37, 100):
        positions = value(opened, f"(page.setTime({trajectory.time[index]}), page.positions())")
        error = np.abs(np.array(positions) - trajectory.position[index]).max()
        assert error < 3e-5 * np.ptp(trajectory.position)


def test_the_space_bar_plays_and_pauses(opened, trajectory):
    from selenium.webdriver import ActionChains, Keys

    before = value(opened, "(page.setTime(0), page.render(), page.frames)")
    ActionChains(opened).send_keys(Keys.SPACE).perform()
    deadline = time.monotonic() + 20.0
    while value(opened, "page.frames") < before + 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    ActionChains(opened).send_keys(Keys.SPACE).perform()
    now, positions = value(opened, "[page.playback.time, page.positions()]")
    assert value(opened, "page.frames") >= before + 3
    assert 0.0 < now <= 1.0
    body = trajectory.position[:, 0, 1]  # between records motions are interpolated linearly
    assert positions[0][1] == pytest.approx(np.interp(now, trajectory.time, body), abs=1e-4)
    shown = opened.find_element("id", "clock").text
    assert shown.startswith(f"{now:.3f}")


@pytest.mark.parametrize("body", range(3))
def test_a_click_on_a_body_tells_its_name_and_mass(opened, trajectory, body):
    x, y = value(opened, f"(page.setTime(0.2), page.onScreen({body}))")
    click(opened, x, y)
    panel = opened.find_element("class name", "panel")
    assert panel.find_element("tag name", "h2").text == trajectory.body_names[body]
    assert f"{trajectory.system.mass[body]:g} kg" in panel.text


def test_a_picked_joint_tells_its_type_and_reaction(opened, trajectory):
    value(opened, "(page.setTime(0.5), page.select({role: 1, index: 1}))")
    text = opened.find_element("class name", "panel").text
    force = np.linalg.norm(trajectory.joint_wrench[50, 1, 3:])
    shown = float(text.split("force\n")[1].split(" N")[0])
    assert shown == pytest.approx(force, rel=0.01)
    assert "revolute" in text
    value(opened, "page.select(null)")


def test_a_body_is_drawn_in_its_color_where_it_is(opened):
    x, y = value(
        opened,
        "(page.setColor('plain'), page.setTime(0), page.look('front'), page.onScreen(1))",
    )
    value(opened, "page.render()")
    picture = screenshot(opened)
    body = picture[round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3].mean(axis=(0, 1))
    assert body[2] > body[0] + 25  # blue on nearly white
    background = picture[HEIGHT // 2, 30]
    assert (background > 230).all()
    # The mechanism, its controls and the grid fill some of the window, not all of it.
    differs = np.abs(picture - background).max(axis=2) > 40
    assert 0.02 < differs.mean() < 0.5


def test_colors_follow_the_speed(opened, trajectory):
    value(opened, "page.setColor('speed')")
    speed = np.linalg.norm(trajectory.velocity[:, :, 3:], axis=2)
    index = int(speed[:, 1].argmax())
    x, y = value(
        opened, f"(page.setTime({trajectory.time[index]}), page.look('front'), page.onScreen(1))"
    )
    value(opened, "page.render()")
    red, green, blue = screenshot(opened)[round(y), round(x)]
    assert min(red, green) > blue + 40  # the fastest is yellow


def test_arrows_appear_with_reactions(opened):
    value(opened, "(page.setTime(0.5), page.render())")
    without = screenshot(opened)
    value(opened, "(page.toggleArrows(), page.render())")
    red = screenshot(opened) - without
    assert ((red[..., 0] > red[..., 1] + 40) & (np.abs(red).max(axis=2) > 40)).sum() > 100
    value(opened, "page.toggleArrows()")


def test_a_mesh_has_the_color_of_its_body_and_is_picked(driver, tmp_path):
    corners = np.array([[0.0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]]) - 0.75
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    mesh = sb.Mesh(corners, faces, color=(0.1, 0.4, 0.9))
    mechanism = sb.Mechanism("tetrahedron")
    mechanism.add_body("tip", mass=1.0, inertia=(1, 1, 1), shape=sb.CompoundShape([mesh]))
    system = mechanism.compile()
    page = motion_page(system, system.initial_state, color="plain")
    driver.get(page.save(tmp_path / "mesh.html").as_uri() + "#theme=light")
    assert value(driver, "page.renderer.info.render.triangles") >= 4
    x, y = value(driver, "(page.look('front'), page.render(), page.onScreen(0))")
    picture = screenshot(driver)
    red, _, blue = picture[round(y), round(x)]
    assert blue > red + 25
    assert (picture[HEIGHT // 2, 30] > 230).all()
    value(driver, "page.scene.document.arrays.part_color.fill(0xd02010)")
    value(driver, "(page.render(), page.setColor('plain'))")
    red, _, blue = screenshot(driver)[round(y), round(x)]
    assert red > blue + 60  # of its own
    click(driver, x, y)
    assert driver.find_element("class name", "panel").find_element("tag name", "h2").text == "tip"
    assert driver.get_log("browser") == []


def test_the_page_of_an_order_marks_what_is_hovered_in_all_plots(driver, tmp_path):
    page = order_page(sb.build("lattice", rows=3, columns=3))
    driver.get(page.save(tmp_path / "order.html").as_uri())
    from selenium.webdriver import ActionChains

    graph = "page.plots.graph"
    x, y = value(
        driver,
        f"(() => {{ const box = {graph}.marks.getBoundingClientRect(), at = {graph}.points;"
        " return [box.left + at[10], box.top + at[11]]; })()",
    )
    mouse = ActionChains(driver, duration=20).w3c_actions
    mouse.pointer_action.move_to_location(round(x), round(y))
    mouse.perform()
    assert value(driver, "page.hovered") == 5
    assert "number 6 of" in driver.find_element("id", "hovered").text
    for name in ("graph", "tree", "matrix"):
        pixels = f"page.plots.{name}.marks.getContext('2d')"
        size = f"page.plots.{name}.marks"
        marked = value(
            driver, f"{pixels}.getImageData(0, 0, {size}.width, {size}.height).data.some(x => x)"
        )
        assert marked
    assert driver.get_log("browser") == []


FIXED = "page.resolution.choose = () => false; page.renderer.setPixelRatio(1);"
DRAWN = """
  page.render();
  const {batches, body, role} = page.scene.parts;
  const drawn = batches.flatMap((batch) => [...batch.part.subarray(0, batch.count)]);
  return [new Set(drawn.filter((p) => role[p] === 0).map((p) => body[p])).size, drawn.length];
"""


def drawn(driver, before=""):
    """How many bodies the last picture shows, and how many parts or faces."""
    return driver.execute_script(f"const page = window.sparsebody; {FIXED} {before} {DRAWN}")


def test_ten_thousand_bodies_reach_their_first_frame(driver, tmp_path):
    system = sb.build("ladder", rungs=5000).compile()
    page = motion_page(system, system.initial_state)
    driver.get(page.save(tmp_path / "ladder.html").as_uri())
    assert value(driver, "page.motion.nBodies") == system.n_bodies
    assert system.n_bodies == 10_000
    # A software renderer takes 1 us or more for a triangle, and there are 55,000 solids.
    assert 5_000 < value(driver, "page.renderer.info.render.triangles") < 100_000
    assert driver.get_log("browser") == []


def test_what_the_camera_sees_is_drawn_and_no_more(driver, tmp_path):
    system = sb.build("lattice", rows=20, columns=20).compile()
    page = motion_page(system, system.initial_state)
    driver.get(page.save(tmp_path / "lattice.html").as_uri())
    bodies, all_faces = drawn(driver, "page.look('top');")
    assert bodies == system.n_bodies
    near = "page.cameras.camera.position.lerp(page.cameras.controls.target, 0.8);"
    bodies, _ = drawn(driver, near)
    assert 0 < bodies < system.n_bodies / 4
    away = "page.look('top'); page.cameras.camera.position.lerp(page.cameras.controls.target, -9);"
    bodies, few_faces = drawn(driver, away)
    assert bodies == system.n_bodies
    assert few_faces < all_faces / 2  # no joints, and of each body one face
    bodies, faces_of_bodies = drawn(driver, "page.look('top'); page.toggleJoints();")
    assert bodies == system.n_bodies
    assert faces_of_bodies <= all_faces
    assert driver.get_log("browser") == []


def test_faces_of_boxes_have_the_light_that_other_solids_have(driver, tmp_path):
    shapes = [sb.Box((1, 1, 1)), sb.Mesh(CUBE, CUBE_TRIANGLES)]
    for name, shape in zip("ab", shapes, strict=True):
        mechanism = sb.Mechanism("cube", gravity=(0, 0, -1))
        compound = sb.CompoundShape([shape])
        mechanism.add_body("cube", mass=1.0, inertia=(1, 1, 1), shape=compound)
        page = motion_page(system := mechanism.compile(), system.initial_state, color="plain")
        driver.get(page.save(tmp_path / f"{name}.html").as_uri() + "#theme=light&view=iso")
        driver.execute_script(
            f"const page = window.sparsebody; {FIXED} page.toggleGrid(); page.render()"
        )
        if name == "a":
            box = screenshot(driver)
    mesh = screenshot(driver)
    assert (np.abs(box - box[HEIGHT // 2, 30]).max(axis=2) > 40).mean() > 0.06
    assert (np.abs(box - mesh).max(axis=2) > 6).mean() < 0.01  # along edges
