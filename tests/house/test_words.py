"""Constants are named by quantity and unit, and have their reasons; each word means one thing."""

import ast

import pytest

#: adjectives, adverbs and verbs that name no quantity
VAGUE = {
    "ABRUPT", "ACCURATE", "AGE", "ALIKE", "APART", "AT_ONCE", "AWAY", "BESIDE", "BEYOND", "CALM", "CANCELLED",
    "CAUTION", "CLOSE", "CLOSER", "DEEPEST", "DUST", "EARLY", "END", "ENDS", "EVERY", "FAINT", "FAR", "FARTHEST",
    "FAST", "FASTER", "FASTEST", "FEW", "FEWER", "FEWEST", "FINE", "FINER", "FIRST", "FLAT", "FOLDED", "FORGIVEN",
    "FULL", "GAIN", "GROWN", "HEAVIEST", "HEAVY", "KEPT", "KNOWN", "LARGE", "LARGEST", "LEAST", "LIGHT", "LONG",
    "LONGEST", "LOOKS", "MANY", "MOST", "MOVING", "NARROWER", "NEAR", "NEAREST", "NEGLIGIBLE", "NOTHING", "NOWHERE",
    "NUDGE", "PATIENCE", "REACH", "RESTING", "SEEN", "SEVERAL", "SHARP", "SLOW", "SLOWEST", "SMALL", "SMALLEST",
    "SMOOTH", "SOLVED", "STEEP", "STEEPEST", "STILL", "THERE", "THIN", "THINNEST", "TINY", "TOGETHER", "TRY_AGAIN",
    "UNNATURAL", "WATCHED", "WIDE", "WIDEST", "WORSE",
}  # fmt: skip
#: modules that are being rewritten: the list only becomes shorter
UNFINISHED = {
    *("mfpde/attention/circle_modes.py", "mfpde/run.py", "mfpde/run_loop.py"),
    *(f"mfpde/measure/{name}.py" for name in ("axisymmetric", "bessel", "circle_density", "circle_expression")),
    *(f"mfpde/measure/{name}.py" for name in ("circle_grid", "sphere_density")),
    *("mfpde/observe/progress.py", "mfpde/store/checkpoint.py", "mfpde/store/lazy_array.py", "mfpde/store/schema.py"),
    *("mfpde/store/status.py", "mfpde/store/writer.py", "solvers/kernels/circle.py"),
    *(f"solvers/finite_volume/{name}.py" for name in ("control", "diagnostics", "integration")),
    *("solvers/kernels/exponential_step.py", "solvers/spectral/circle.py", "solvers/spectral/cut_data.py"),
    *(f"solvers/steppers/{name}.py" for name in ("dop853", "gif853", "radau9", "rkc2")),
    *(f"solvers/stepping/{name}.py" for name in ("adaptive_ode", "pole", "steady_state")),
}


def constants(tree: ast.Module) -> list[tuple[str, ast.stmt]]:
    """Names in capitals that a module assigns."""
    found = []
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets if isinstance(statement, ast.Assign | ast.AnnAssign) else []:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            found += [(name.id, statement) for name in names if isinstance(name, ast.Name) and name.id.isupper()]
    return found


def numeric(value: ast.expr | None) -> bool:
    """Numbers, arithmetic with them, and tuples or dictionaries of them."""
    if isinstance(value, ast.Dict):
        return bool(value.values) and all(map(numeric, value.values))
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(numeric, value.elts))
    if isinstance(value, ast.BinOp):
        return numeric(value.left) and numeric(value.right)
    if isinstance(value, ast.UnaryOp):
        return numeric(value.operand)
    if isinstance(value, ast.Call):
        return bool(value.args) and all(map(numeric, value.args))
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def uncommented(source: str) -> list[str]:
    """Numeric constants without a reason: a comment on a line of theirs, or above."""
    lines, found = source.splitlines(), []
    for name, statement in constants(ast.parse(source)):
        own = lines[statement.lineno - 1 : statement.end_lineno]
        above = lines[statement.lineno - 2].strip() if statement.lineno > 1 else ""
        if numeric(statement.value) and not above.startswith("#") and not any("#" in line for line in own):
            found.append(name)
    return found


def in_modules(house, found) -> dict[str, list[str]]:
    """What is found in the source of each module that is not unfinished."""
    paths = {path.relative_to(house.root).as_posix(): path for path in house.files("*.py")}
    sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items() if name not in UNFINISHED}
    return {name: names for name, source in sources.items() if (names := found(source))}


def vague(source: str) -> list[str]:
    """Constants whose names say neither quantity nor unit."""
    return [name for name, _ in constants(ast.parse(source)) if name.strip("_") in VAGUE]


def test_constants_are_named_by_a_quantity(house):
    assert in_modules(house, vague) == {}


def test_numbers_have_reasons(house):
    assert in_modules(house, uncommented) == {}


@pytest.mark.parametrize(
    ("source", "unnamed", "unreasoned"),
    [
        ("_NOTHING = 1e-3\n", ["_NOTHING"], ["_NOTHING"]),
        ("_FAR, MAX_TILT = {1: 2.0}, (1, -2)\n", ["_FAR"], ["_FAR", "MAX_TILT"]),
        ("ROUNDING = 2 * float(3)\n", [], ["ROUNDING"]),
        ("_FAR = 'a', 1\n", ["_FAR"], []),
        ("SECONDS = 1e-3  # of a step\n#: of a box\nMETRES: float = -2\nsmall = 3\nTEXTS = ('a', 'b')\n", [], []),
    ],
)
def test_constants_that_say_nothing_are_found(source, unnamed, unreasoned):
    assert vague(source) == unnamed
    assert uncommented(source) == unreasoned
