"""Imports point downwards, and importing mfpde is quick and loads nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Set

import pytest

import mfpde

# From top to bottom. A module imports from its own layer or from one below it, never from above.
LAYERS = {
    "edge": {"mfpde.__main__", "mfpde.cli", "mfpde.plotting", "mfpde.reporting", "mfpde.spec"},
    "studies": {"mfpde.bifurcation", "mfpde.sweeping", "mfpde.validation"},
    "run": {
        "mfpde.comparing",
        "mfpde.observe",
        "mfpde.run_rows",
        "mfpde.prepare",
        "mfpde.run",
        "mfpde.run_loop",
        "mfpde.store",
        "mfpde.watching",
        "mfpde.workers",
    },
    "solve": {"mfpde.solvers"},
    "describe": {
        "mfpde.collect_block",
        "mfpde.contracts",
        "mfpde.equation",
        "mfpde.normalization",
        "mfpde.problem",
        "mfpde.sweep_block",
    },
    "nouns": {"mfpde.attention", "mfpde.distances", "mfpde.geometry", "mfpde.measure"},
    "engine": {"mfpde.streams", "mfpde.transform"},
    "ground": {
        "mfpde._version",
        "mfpde.activity",
        "mfpde.arguments",
        "mfpde.bibliography",
        "mfpde.blas",
        "mfpde.compilation",
        "mfpde.errors",
        "mfpde.page",
        "mfpde.ranks",
        "mfpde.registry",
        "mfpde.coefficients",
        "mfpde.specification",
        "mfpde.typing",
    },
}
HEIGHT = {top: height for height, layer in enumerate(reversed(LAYERS.values())) for top in layer}
# Inside `mfpde.solvers`, from bottom to top; what is not named is a family of solvers.
FAMILIES = "a family"
SOLVERS = [{"steppers"}, {"stepping", "amplification"}, {"kernels"}, {"forms"}, {FAMILIES}, {"auto"}]
HEIGHT_IN_SOLVERS = {room: height for height, layer in enumerate(SOLVERS) for room in layer}
HEAVY = {"h5py", "matplotlib", "numba"}


def top_of(module: str) -> str:
    """`mfpde.solvers.spectral.circle` belongs to `mfpde.solvers`."""
    return ".".join(module.split(".")[:2])


def room_of(module: str) -> str:
    """Below `mfpde.solvers` every package is one of its own."""
    return ".".join(module.split(".")[: 3 if module.startswith("mfpde.solvers.") else 2])


def height_in_solvers(module: str) -> int:
    """How high a module of `mfpde.solvers` is there."""
    name = room_of(module).split(".")[-1]
    return HEIGHT_IN_SOLVERS.get(name, HEIGHT_IN_SOLVERS[FAMILIES])


@pytest.fixture(scope="module")
def all_imports(house) -> list[tuple[str, str, str]]:
    """Module, place and target of every import between modules of mfpde; those of `mfpde/__init__.py` are lazy."""
    modules, found = house.modules(), []
    for name, path in modules.items():
        if name != "mfpde":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for line, target in imported(tree, name, is_package=path.name == "__init__.py", known=modules.keys()):
                found.append((name, f"{path.relative_to(house.root)}:{line}", target))
    return found


def imported(tree: ast.AST, module: str, *, is_package: bool, known: Set[str]) -> Iterator[tuple[int, str]]:
    """Line and target of every import from mfpde, wherever it stands: in functions and for type checkers, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
            origin = ".".join([*parents, *filter(None, [node.module])])
            names = [f"{origin}.{alias.name}" for alias in node.names]
            targets = [name if name in known else origin for name in names]
        else:
            continue
        yield from ((node.lineno, target) for target in targets if target.split(".")[0] == "mfpde")


def test_every_top_module_has_a_layer(house):
    homeless = {top_of(name) for name in house.modules()} - HEIGHT.keys() - {"mfpde"}
    assert not homeless, f"say in LAYERS of {__file__} (and in CONTRIBUTING.md) which layer {sorted(homeless)} is in"


def test_imports_point_downwards(all_imports):
    wrong = []
    for name, place, target in all_imports:
        if target == "mfpde":
            wrong.append(f"{place} imports from mfpde itself: name the module that defines it")
        elif HEIGHT.get(top_of(target), 0) > HEIGHT.get(top_of(name), len(LAYERS)):
            wrong.append(f"{place} imports {target}, which is above {top_of(name)}")
        elif top_of(name) == top_of(target) == "mfpde.solvers" and height_in_solvers(target) > height_in_solvers(name):
            wrong.append(f"{place} imports {target}, which is above {room_of(name)}")
    assert not wrong, "\n".join(wrong)


def cycles(edges: set[tuple[str, str]]) -> set[str]:
    """Whatever can come back to itself."""
    reached = {start: {end for begin, end in edges if begin == start} for start, _ in edges}
    for _ in reached:
        reached = {start: ends.union(*(reached.get(end, ()) for end in ends)) for start, ends in reached.items()}
    return {start for start, ends in reached.items() if start in ends}


def test_no_package_imports_itself_by_way_of_others(all_imports):
    places: dict[tuple[str, str], str] = {}
    for name, place, target in all_imports:
        if room_of(name) != room_of(target):
            places.setdefault((room_of(name), room_of(target)), place)
    assert len(places) > 50
    round_trips = cycles(set(places))
    shown = [f"{place} {start} -> {end}" for (start, end), place in places.items() if {start, end} <= round_trips]
    assert not round_trips, "\n".join(shown)


def test_cycles_are_found():
    assert cycles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")}) == {"a", "b", "c"}
    assert cycles({("a", "b"), ("b", "c"), ("a", "c")}) == set()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("import mfpde.store", "mfpde.store"),
        ("from mfpde.store import write", "mfpde.store"),
        ("from mfpde import store", "mfpde.store"),
        ("from mfpde import solve", "mfpde"),
        ("from . import euler", "mfpde.solvers.euler"),
        ("from .. import store", "mfpde.store"),
        ("from ..store import write", "mfpde.store"),
        ("def f():\n    from mfpde.store import write", "mfpde.store"),
    ],
)
def test_the_reader_of_imports_sees_each_form(source, target):
    known = {"mfpde.store", "mfpde.solvers.euler"}
    assert [t for _, t in imported(ast.parse(source), "mfpde.solvers", is_package=True, known=known)] == [target]


def run_python(code: str, house) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=house.root, capture_output=True, text=True, check=False)


def test_import_loads_little(house):
    """Modules are what an import takes its time for."""
    done = run_python("import sys; before = {*sys.modules}; import mfpde; print(*{*sys.modules} - before)", house)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "mfpde" in loaded
    assert loaded & HEAVY == set()
    assert len(loaded) < 30


def test_the_problem_and_its_parts_load_without_compiling(house):
    """Every command begins with it, those that only look at a file, or say what is wrong with it, too."""
    done = run_python(
        "import sys\nfrom mfpde.compilation.dispatchers import KernelDispatcher\nKernelDispatcher.compile = None\n"
        "import mfpde\nmfpde.Problem\nprint(*sys.modules)\nmfpde.Diagram\nprint(*sys.modules)",
        house,
    )
    assert done.returncode == 0, done.stderr
    loaded, with_diagrams = (set(line.split()) for line in done.stdout.splitlines())
    assert "mfpde.attention" in loaded
    assert loaded & {"h5py", "matplotlib", "scipy.fft", "scipy.special"} == set()
    assert "mfpde.bifurcation.diagram" in with_diagrams
    assert with_diagrams & {"matplotlib", "scipy.optimize"} == set()


def test_no_module_shares_the_name_of_a_public_function(house):
    functions = {f"mfpde.{name}" for name in mfpde.__all__ if callable(getattr(mfpde, name))}
    assert functions, "mfpde exports nothing"
    assert functions & house.modules().keys() == set()


@pytest.mark.parametrize("folder", ["solvers", "validation"])
def test_a_mapped_folder_refuses_its_own_name(house, folder):
    done = run_python(f"import {folder}", house)
    assert done.returncode != 0, f"`import {folder}` made a second copy of mfpde.{folder}"
    error = done.stderr.splitlines()[-1]
    assert error.startswith("ImportError")
    assert f"mfpde.{folder}" in error
