"""What is asked of the source tree, as functions over a root folder: a control hands them a bad one."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGES: Final = ("hark", "mediator", "launcher")


def modules(root: Path) -> Iterator[Path]:
    """Every module of the product, relative to `root`."""
    for package in PACKAGES:
        yield from (path.relative_to(root) for path in sorted((root / package).rglob("*.py")))


def has_behaviour(source: str) -> bool:
    """True if any function does something: values, and a Protocol's `...`, need no test of their own."""
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(not _is_stub(statement) for function in functions for statement in function.body)


def _is_stub(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def twin(module: Path) -> Path:
    """Where a module's tests are: `hark/bundle/mmr.py` has `tests/hark/bundle/test_mmr.py`."""
    return Path("tests") / module.parent / f"test_{module.name}"


def without_twin(root: Path) -> list[str]:
    """Modules with behaviour whose test file is missing, or holds no test."""
    return [
        str(module)
        for module in modules(root)
        if has_behaviour((root / module).read_text()) and not _holds_a_test(root / twin(module))
    ]


def _holds_a_test(path: Path) -> bool:
    if not path.is_file():
        return False
    nodes = ast.walk(ast.parse(path.read_text()))
    return any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in nodes)


def without_docstring(root: Path) -> list[str]:
    """Modules that hold code and do not say what always holds in it."""
    trees = ((path, ast.parse((root / path).read_text())) for path in modules(root))
    return [str(path) for path, module in trees if module.body and not ast.get_docstring(module)]


def naming(root: Path, words: tuple[str, ...]) -> list[str]:
    """Tracked files that contain one of `words`."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True)
    files = [root / name for name in listed.stdout.split("\0") if name]
    return [
        f"{path.relative_to(root)}: {word}"
        for path in files
        if path.is_file()
        for word in words
        if word.encode() in path.read_bytes()
    ]
