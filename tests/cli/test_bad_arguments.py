"""Bad input ends every command with code 2 and one line that says what is wrong."""

import shlex

import pytest
from command_line import printed, refusal

TABLE = {
    "algorithms scisor": "no mechanism 'scisor' in the gallery",
    "algorithms chain --algorithm aba": "no algorithm 'aba'; there are",
    "algorithms chain --eps -1": "eps is [-1.0]; give",
    "algorithms chain --growth x.png": "--growth needs --sizes",
    "algorithms chain --sizes 8,x": "'8,x' is no list of numbers of bodies",
    "algorithms stewart --sizes 8,16": "no size parameter of stewart",
    "algorithms robot.json --sizes 8,16": "--sizes is for gallery mechanisms",
    "algorithms chain --spy matrix.bmp": "no picture format '.bmp'",
    "certify ladder -p rungs=4": "no size parameter of ladder is left open",
    "certify ladder --ordering best": "no ordering 'best'; there are",
    "certify ladder --method crba --ordering natural": "--ordering is for method sparse",
    "certify ladder --tree depth-first": "--tree is for method loops-aba",
    "certify ladder --method crba --time": "--time is for methods sparse and loops-aba",
    "certify ladder --largest 100": "give 256 or more",
    "certify robot.xml": "robot.xml is one mechanism; give a family",
    "certify oak": "no mechanism 'oak' in the gallery",
    "certify ladder -p joint=glue": "joint is 'glue'",
    "classical --algorithms newton": "algorithm is 'newton'; give one of uicker-kahn",
    "classical --algorithms ''": "algorithm is ''",
    "classical --sizes 4,x": "'4,x' is no list of numbers of joints",
    "classical --sizes 0": "'0' is no list of numbers of joints",
    "classical --geometry round": "geometry is 'round'; give one of general",
    "classical --figure costs.gif": "no picture format '.gif'",
    "corpus new --sizes 8,many": "'8,many' is no list of numbers of bodies, such as 8,32,128",
    "corpus new --families laddr": "the family is 'laddr'; give one of chain, tree",
    "corpus new --forms kkt,lu": "the form is 'lu'; give one of kkt",
    "corpus new --sizes 200000": "200000 bodies; give sizes of 1 to",
    "gallery chian": "no mechanism 'chian'",
    "gallery --output chain.json": "give the NAME",
    "gallery chain --output chain.xml": "written as .json",
    "gallery chain -p length=1e300": "length",
    "gallery chain -p bodies=1e12": "bodies",
    "gallery chain -p bodies=true": "bodies",
    "inspect scisor": "no mechanism 'scisor' in the gallery; it has chain, ",
    "inspect scissor -p pairs": "'pairs' is not of the form key=value",
    "inspect scissor -p pairs=": "'pairs=' is not of the form key=value",
    "inspect scissor -p pears=3": "scissor has no parameter 'pears'; it has pairs, ",
    "inspect scissor -p pairs=two": "pairs is 'two'",
    "inspect scissor -p pairs=0": "pairs is 0; give 1 or more",
    "inspect scissor -p pairs=2 -p pairs=3": "'pairs' is given twice",
    "inspect nowhere/robot.json": "nowhere/robot.json",
    "inspect nowhere/robot.json -p pairs=2": "-p is for gallery mechanisms",
    "inspect nowhere/robot.xyz": "unknown suffix '.xyz'",
    "inspect ./chain": "./chain: unknown suffix",
    "inspect chain --ordering best": "best",
    "inspect chain --factorization best": "best",
    "inspect chain --reduction best": "reduction is 'best'; give one of auto, none",
    "inspect mine.json": "sparsebody: error: mine.json",
    "plot mine.h5": "mine.h5",
    "inspect": "Missing argument 'MECHANISM'",
    "inspect chain --jason": "No such option",
    "loop-bases scisor": "no mechanism 'scisor' in the gallery",
    "loop-bases ladder --basis mcb": "loop basis is 'mcb'; give one of minimum, short",
    "loop-bases ladder --seed -1": "-1 is not in the range",
    "order scisor": "no mechanism 'scisor' in the gallery",
    "order chain --ordering best": "no ordering 'best'; there are",
    "order chain --factorization best": "factorization is 'best'",
    "order chain --spy matrix.bmp": "no picture format '.bmp'",
    "order a.mtx -p rungs=3": "-p is for mechanisms, but a.mtx is a matrix",
    "order a.mtx --factorization dense": "--factorization is for mechanisms",
    "order ladder --blocks b.json": "--blocks is for a matrix (.mtx), but ladder is",
    "order a.mtx": "a.mtx: cannot be read",
    "order ladder --order-file none": "none: cannot be read",
    "plot ladder --kind film": "kind is 'film'; this can be drawn as mechanism, spy",
    "plot ladder --output motion.jpeg": "no picture format '.jpeg'",
    "plot ladder --output both.png": "is one file, but there are 2 kinds",
    "plot ladder --instants 0": "'--instants'",
    "plot run.h5 -p pairs=3": "-p is for gallery mechanisms",
    "plot nowhere.h5": "there is no trajectory file 'nowhere.h5'",
    "report none": "cannot be read",
    "simulate pendulum --step -0.01": "'-0.01' is not a positive number of seconds",
    "simulate pendulum --step nan": "'nan' is not a positive number of seconds",
    "simulate pendulum --duration 0": "'0' is not a positive number of seconds",
    "simulate pendulum --record-step later": "'later' is not a positive number of seconds",
    "simulate pendulum --method rk5": "rk4",
    "simulate pendulum --stabilization hope": "projection",
    "simulate pendulum --ordering best": "best",
    "simulate pendulum --factorization best": "best",
    "simulate pendulum --resume": "--resume needs the --output",
    "simulate pendulum --resume --overwrite --output x.h5": "not both",
    "study mine.toml": "mine.toml: families: ",
    "study mine.toml --jobs 0": "0 is not in the range x>=1",
    "study mine.toml --time-limit -1": "'-1' is not a positive number of seconds",
    "study mine.toml --memory-limit 0": "0.0 is not in the range x>0",
    "study mine.toml --format xlsx": "'xlsx' is not one of 'csv', 'parquet'",
    "animate": "No such command 'animate'",
    "": "Missing command",
    "--import nowhere.py gallery": "nowhere.py",
    "--import no_such_module gallery": "no_such_module'; give a module or a .py file",
}


@pytest.mark.parametrize("command", TABLE)
def test_bad_input_is_named_and_leaves_nothing_behind(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("families = 3\nruns = []\n")
    (tmp_path / "mine.json").write_text('{"directed": true,')
    (tmp_path / "mine.h5").write_text("no trajectory")
    before = sorted(tmp_path.iterdir())
    message = refusal(*shlex.split(command))
    assert TABLE[command] in message
    assert len([line for line in message.splitlines() if not line.startswith("Try")]) == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("gallery chain", "chain.json"),
        ("simulate pendulum --duration 0.01", "mine.h5"),
        ("plot ladder --kind spy", "mine.png"),
    ],
)
def test_a_file_is_replaced_only_when_asked(command, file, tmp_path):
    path = tmp_path / file
    path.write_text("mine")
    words = [*command.split(), "--output", path]
    assert "exists; give another --output, " in refusal(*words)
    assert path.read_text() == "mine"
    printed(*words, "--overwrite")
    assert path.read_bytes() != b"mine"
