"""A file of more than 400 lines, a function of more than 60 or a kernel of more than 9 arguments is missing an idea."""

import ast

FILE_LINES = 400
FUNCTION_LINES = 60
KERNEL_ARGUMENTS = 9
COMPILED = {"kernel", "allocating_kernel"}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, the docstring left out."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        lines -= function.body[0].end_lineno - function.body[0].lineno + 1
    return lines


def test_files_are_short(house):
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in house.files("*.py", tests=True)}
    assert sizes
    assert {str(path.relative_to(house.root)): size for path, size in sizes.items() if size > FILE_LINES} == {}


def test_functions_are_short(house):
    long = {}
    for path in house.files("*.py", tests=True):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) > FUNCTION_LINES:
                long[f"{path.relative_to(house.root)}:{node.lineno} {node.name}"] = code_lines(node)
    assert long == {}


def kernels(source: str) -> dict[str, int]:
    """Arguments of compiled functions, by name."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    compiled = [node for node in functions if COMPILED & {ast.unparse(each) for each in node.decorator_list}]
    return {node.name: len(node.args.args) + len(node.args.kwonlyargs) for node in compiled}


def test_kernels_take_few_arguments(house):
    found = {path: kernels(path.read_text(encoding="utf-8")) for path in house.files("*.py")}
    assert sum(map(len, found.values())) > 100
    counts = {f"{path.name} {name}": count for path, each in found.items() for name, count in each.items()}
    assert {kernel: count for kernel, count in counts.items() if count > KERNEL_ARGUMENTS} == {}


def test_arguments_of_kernels_are_counted():
    source = "@kernel\ndef f(a, b): ...\n@other\ndef g(a): ...\n@allocating_kernel\ndef h(): ..."
    assert kernels(source) == {"f": 2, "h": 0}


def test_docstrings_do_not_count():
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    x = 1\n    return x\n'
    assert code_lines(ast.parse(source).body[0]) == 3
