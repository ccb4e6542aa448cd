"""The structure of the library as its code has it: packages in layers, their imports, and the way of a table.

Nothing here is written down by hand: layers come from the import rule in pyproject.toml, imports from the source files,
and the ways of `fit` and `predict` from tracing a small fit and a small prediction.
"""

import ast
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FrameType

__all__ = ["Package", "Stop", "Structure", "figures", "read_structure"]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ssgp"
# Tools of every package: a picture that showed each use of them would be hard to follow.
TOOLS = ("_utils", "ssgp")
# Rows of the table that is traced: enough for boosted trees to correct the forest, few enough for a second.
N_ROWS = 240

# A package, and those of its modules that a table enters there for the first time.
Stop = tuple[str, tuple[str, ...]]
Imports = dict[str, set[str]]


@dataclass(frozen=True)
class Package:
    """A package, or a module beside the packages.

    Attributes
    ----------
    name, purpose : str
        Name below ``ssgp``, and the beginning of its docstring.
    n_modules : int
        Files besides ``__init__``; 0 for a module beside the packages.
    imports : list of str
        Packages that it imports, other than tools.
    """

    name: str
    purpose: str
    n_modules: int
    imports: list[str]


@dataclass(frozen=True)
class Structure:
    """What the picture shows.

    Attributes
    ----------
    layers : list of list of Package
        Packages of each layer of the import rule, from the top.
    ways : dict of list of Stop
        Stops of a table on its way through "fit" and "predict", in their order.
    """

    layers: list[list[Package]]
    ways: dict[str, list[Stop]]


def read_structure() -> Structure:
    """The structure of the code as it is now."""
    imports = _between_packages(_imports(_everywhere))
    layers = [[_package(name, imports[name]) for name in layer] for layer in _layers()]
    return Structure(layers, {name: trace.stops() for name, trace in _trace_table().items()})


def _package(name: str, imports: set[str]) -> Package:
    folder = SOURCE / name
    path = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    purpose = re.split(r"[;.]\s|\.$", " ".join(docstring.replace("`", "").split()), maxsplit=1)[0]
    n_modules = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
    return Package(name, purpose, n_modules, sorted(imports - {*TOOLS}))


def _layers() -> list[list[str]]:
    """Names in the layers of the import rule, without ``__main__`` and ``_version``."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(rule["layers"] for rule in rules if rule["type"] == "layers")
    named = [[name.strip() for name in layer.split("|")] for layer in layers]
    return [layer for layer in named if layer not in (["__main__"], ["_version"])]


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
        between.setdefault(package, set()).update({_package_of(other) for other in imported} - {package, "_version"})
    return between


@dataclass(frozen=True)
class Trace:
    """Functions that a call enters, (module, name), in the order in which each is entered first; tools are left out."""

    functions: list[tuple[str, str]]

    @property
    def n_hops(self) -> int:
        """How often a function is in another module than the function before."""
        return sum(before != after for (before, _), (after, _) in pairwise(self.functions))

    def stops(self) -> list[Stop]:
        """Modules in the order in which each is entered first, neighbours of one package together."""
        stops: list[Stop] = []
        for module in dict.fromkeys(module for module, _ in self.functions):
            package, name = _package_of(module), module.rpartition(".")[2]
            if stops and stops[-1][0] == package:
                stops[-1] = (package, (*stops[-1][1], name))
            else:
                stops.append((package, (name,)))
        return stops


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
        # What a process keeps from its first fit is not entered again: it is there, whoever fitted before.
        fit(path)
        return {"fit": _traced(fit, path), "predict": _traced(predict, path)}


def _lines() -> Iterator[str]:
    """Lines of a table with a category, a date, a number, and a target with a step that boosted trees find."""
    yield "town,day,size,target"
    for i in range(N_ROWS):
        town, day, size = i * 7 % 20, 1 + i * 11 % 28, i * 37 % N_ROWS / N_ROWS
        yield f"town {town},2013-01-{day:02d},{size:.4f},{size + 5 * (day > 20) + 0.1 * (i * 13 % 10):.4f}"


def _traced(call: Callable[[Path], None], path: Path) -> Trace:
    """Functions of the library that a call enters; lambdas, comprehensions and imports are left out."""
    modules = {str(path): module for module, path in _modules().items() if _package_of(module) not in TOOLS}
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
    return Trace(list(functions))


def figures() -> str:
    """Numbers that tell how large the code is, and how far a table goes through it."""
    modules, chain = _modules(), _longest_chain()
    n_packages = sum(path.name == "__init__.py" for path in modules.values())
    lines = [
        f"{len(modules) - n_packages} modules, and {n_packages} __init__ files",
        f"longest chain of imports: {len(chain)} modules ({' > '.join(name.removeprefix('ssgp.') for name in chain)})",
    ]
    for name, trace in _trace_table().items():
        stops = trace.stops()
        n_modules = sum(len(entered) for _, entered in stops)
        lines.append(
            f"{name}: {n_modules} modules, {len(stops) - 1} hops from package to package (arrows in the picture); "
            f"{len(trace.functions)} functions, {trace.n_hops} hops from module to module"
        )
    lines.append(
        f"Counted while a CSV file of {N_ROWS} rows is read, encoded, and fitted or predicted by a forest. Modules and "
        "functions stand in the order in which each is entered first; _utils is left out."
    )
    return "\n".join(lines)


def _longest_chain() -> tuple[str, ...]:
    """The longest chain of modules that import each other while they are loaded."""
    imports = _imports(ast.iter_child_nodes)

    @cache
    def chain(module: str) -> tuple[str, ...]:
        return (module, *max((chain(other) for other in sorted(imports[module])), key=len, default=()))

    return max(map(chain, sorted(imports)), key=len)
