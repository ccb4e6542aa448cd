"""The structure of the library as its code has it: packages in layers, their imports, and the way of a table.

Nothing here is written down by hand: layers come from the import rule in pyproject.toml, imports from the source files,
and the ways of `fit` and `predict` from tracing a small fit and a small prediction.
"""

import ast
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise, zip_longest
from pathlib import Path
from types import FrameType

__all__ = ["SOURCE", "Stop", "Structure", "differences", "figures", "read_structure"]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ssgp"
# Tools of every package: a way that stopped at each of them would be hard to follow.
NOT_ON_A_WAY = ("_utils", "ssgp")
# Rows of the table that is traced: enough for boosted trees to correct the forest, few enough for a second.
N_ROWS = 240

# A package, and those of its modules that a table enters there for the first time.
Stop = tuple[str, tuple[str, ...]]
Imports = dict[str, set[str]]


@dataclass(frozen=True)
class Structure:
    """What the picture shows.

    Attributes
    ----------
    layers : tuple of tuple of str
        Packages (and single modules) of each layer, from the top.
    n_modules : dict of int
        Files of each package besides its ``__init__``; 1 for a single module.
    imports : set of (str, str)
        Who imports whom, less what follows: where a imports b and b imports c, that a imports c is left out.
    ways : dict of tuple of Stop
        Stops of a table on its way through "fit" and "predict", in their order.
    """

    layers: tuple[tuple[str, ...], ...]
    n_modules: dict[str, int]
    imports: frozenset[tuple[str, str]]
    ways: dict[str, tuple[Stop, ...]]


def read_structure() -> Structure:
    """The structure of the code as it is now."""
    layers = _layers()
    n_modules = {package: _n_modules(package) for layer in layers for package in layer}
    imports = frozenset(_without_implied(_between_packages(_imports(_everywhere))))
    return Structure(layers, n_modules, imports, {name: trace.stops() for name, trace in _trace_table().items()})


def _layers() -> tuple[tuple[str, ...], ...]:
    """Layers of the import rule."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(rule["layers"] for rule in rules if rule["type"] == "layers")
    return tuple(tuple(name.strip() for name in layer.split("|")) for layer in layers)


def _n_modules(package: str) -> int:
    return sum(path.name != "__init__.py" for path in (SOURCE / package).glob("*.py")) or 1


def _modules() -> dict[str, Path]:
    """Source files of all modules; a package is the module of its ``__init__``."""
    paths = sorted(SOURCE.rglob("*.py"))
    names = [".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in paths]
    return dict(zip((name.removesuffix(".__init__") for name in names), paths, strict=True))


def _package_of(module: str) -> str:
    """The part of a module's name after ``ssgp``: "forest" for ``ssgp.forest.nodes``."""
    return module.split(".")[1] if "." in module else module


def _everywhere(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node but those for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from _everywhere(child)


def _imports(statements: Callable[[ast.AST], Iterable[ast.AST]]) -> Imports:
    """Modules of the library that each module imports, by these of its statements."""
    modules = _modules()

    def imported(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in inside)

    def imports_of(path: Path) -> set[str]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return {name for node in statements(tree) for name in imported(node)}

    return {module: imports_of(path) - {module} for module, path in modules.items()}


def _between_packages(imports: Imports) -> Imports:
    between: Imports = {}
    for module, imported in imports.items():
        package = _package_of(module)
        between.setdefault(package, set()).update({_package_of(other) for other in imported} - {package, "ssgp"})
    del between["ssgp"]
    return between


def _without_implied(imports: Imports) -> Iterator[tuple[str, str]]:
    """Imports that do not follow from others."""

    def reach(package: str) -> set[str]:
        return {package}.union(*(reach(other) for other in imports.get(package, ())))

    for package, imported in imports.items():
        for other in imported:
            if not any(other in reach(between) for between in imported - {other}):
                yield package, other


@dataclass(frozen=True)
class Trace:
    """Functions of the library that a call enters, (module, name), in the order in which each is entered first."""

    functions: tuple[tuple[str, str], ...]

    @property
    def modules(self) -> list[str]:
        """Modules, each where it is entered first."""
        return list(dict.fromkeys(module for module, _ in self.functions))

    def n_changes(self, place: Callable[[str], str]) -> int:
        """How often the place of a function, as its module tells it, is not that of the function before."""
        places = [place(module) for module, _ in self.functions]
        return sum(before != after for before, after in pairwise(places))

    def stops(self) -> tuple[Stop, ...]:
        """Modules in their order, neighbours of one package together."""
        stops: list[Stop] = []
        for module in self.modules:
            package, name = _package_of(module), module.rpartition(".")[2]
            if stops and stops[-1][0] == package:
                stops[-1] = (package, (*stops[-1][1], name))
            elif package not in NOT_ON_A_WAY:
                stops.append((package, (name,)))
        return tuple(stops)


def _trace_table() -> dict[str, Trace]:
    """Traces of `fit` and `predict` of an encoder and a forest, each from a CSV file on."""
    from ssgp import SpectralForestRegressor, TableEncoder
    from ssgp.table_files import open_table

    # Imports all models, so that none is imported while calls are traced.
    import_module("ssgp.stored")
    encoder = TableEncoder()
    forest = SpectralForestRegressor(1, n_frequencies=16, leaf_size=10, max_iter=3, n_jobs=1, random_state=0)

    def fit(path: Path) -> None:
        table = open_table(path).read()
        X, y = table.drop_columns("target"), table["target"].to_numpy()
        forest.fit(encoder.fit_transform(X, y), y)

    def predict(path: Path) -> None:
        table = open_table(path).read(["town", "day", "size"])
        forest.predict(encoder.transform(table), return_std=True)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("\n".join(_lines()), encoding="utf-8")
        return {"fit": _traced(fit, path), "predict": _traced(predict, path)}


def _lines() -> Iterator[str]:
    """Lines of a table with a category, a date, a number, and a target with a step that boosted trees find."""
    yield "town,day,size,target"
    for i in range(N_ROWS):
        town, day, size = i * 7 % 20, 1 + i * 11 % 28, i * 37 % N_ROWS / N_ROWS
        yield f"town {town},2013-01-{day:02d},{size:.4f},{size + 5 * (day > 20) + 0.1 * (i * 13 % 10):.4f}"


def _traced(call: Callable[[Path], None], path: Path) -> Trace:
    """Functions of the library that a call enters; lambdas, comprehensions and imports are left out."""
    modules = {str(path): module for module, path in _modules().items()}
    functions: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename in modules and not code.co_name.startswith("<"):
            functions[modules[code.co_filename], code.co_qualname] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call(path)
    finally:
        sys.setprofile(before)
    return Trace(tuple(functions))


def differences(drawn: Structure, code: Structure) -> list[str]:
    """How a picture differs from the code, in words."""
    found = [] if drawn.layers == code.layers else ["the import rule has other layers"]
    found += [
        f"{package} has {count} modules, {drawn.n_modules[package]} are drawn"
        for package, count in code.n_modules.items()
        if drawn.n_modules.get(package, count) != count
    ]
    found += [f"{a} imports {b}, and there is no arrow" for a, b in sorted(code.imports - drawn.imports)]
    found += [f"there is an arrow from {a} to {b}, and no such import" for a, b in sorted(drawn.imports - code.imports)]
    for name, way in code.ways.items():
        pairs = enumerate(zip_longest(way, drawn.ways.get(name, ())), 1)
        other = next(((number, *pair) for number, pair in pairs if pair[0] != pair[1]), None)
        if other is not None:
            found.append(f"stop {other[0]} of {name} is {_stop_text(other[1])}, drawn is {_stop_text(other[2])}")
    return found


def _stop_text(stop: Stop | None) -> str:
    return "not there" if stop is None else f"{stop[0]} ({', '.join(stop[1])})"


def figures() -> str:
    """Numbers that tell how large the code is, and how far a table goes through it."""
    modules, chain = _modules(), _longest_chain()
    n_packages = sum(path.name == "__init__.py" for path in modules.values())
    lines = [
        f"{len(modules) - n_packages} modules, and {n_packages} __init__ files",
        f"longest chain of imports: {len(chain)} modules ({' > '.join(name.removeprefix('ssgp.') for name in chain)})",
    ]
    for name, trace in _trace_table().items():
        n_packages = len({_package_of(module) for module in trace.modules})
        lines.append(
            f"{name}: {len(trace.functions)} functions in {len(trace.modules)} modules of {n_packages} packages; "
            f"from one function to the next, in the order of first calls, the module changes "
            f"{trace.n_changes(str)} times and the package {trace.n_changes(_package_of)} times"
        )
    return "\n".join(lines)


def _longest_chain() -> tuple[str, ...]:
    """The longest chain of modules that import each other while they are loaded."""
    imports = _imports(ast.iter_child_nodes)

    @cache
    def chain(module: str) -> tuple[str, ...]:
        return (module, *max((chain(other) for other in sorted(imports[module])), key=len, default=()))

    return max(map(chain, sorted(imports)), key=len)
