"""Arithmetic on coordinates, written as text. Parsed, checked against a whitelist and walked: nothing is executed."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mfpde.errors import ProblemError, nearest, shown
from mfpde.typing import AnyArray, Float

__all__ = ["COORDINATES", "FUNCTIONS", "Expression"]

COORDINATES = ("x", "y", "z", "theta", "colatitude", "longitude", "s")
CONSTANTS = {"pi": np.pi}
FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "tan": (1, np.tan),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "sqrt": (1, np.sqrt),
    "abs": (1, np.abs),
    "tanh": (1, np.tanh),
    "cosh": (1, np.cosh),
    "sinh": (1, np.sinh),
    "minimum": (2, np.minimum),
    "maximum": (2, np.maximum),
}
_OF_NUMBERS = {name: function for name, (_, function) in FUNCTIONS.items()}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
# of an expression and its syntax tree: time and memory stay bounded whatever a file says
_MAX_CHARACTERS, _MAX_NODES, _MAX_DEPTH = 2000, 400, 60


class Expression:
    """An arithmetic expression in the coordinates of a space, or in other `variables`.

    >>> Expression("1 + 0.5*cos(theta)")({"theta": np.array([0.0])})
    array([1.5])
    >>> Expression("1/k", variables=["k"])({"k": np.array([1.0, 4.0])})
    array([1.  , 0.25])
    >>> Expression("theta.real")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: expression: 'theta.real' is not arithmetic; allowed are + - * / **, parentheses,
    numbers, ...
    """

    def __init__(self, text: str, variables: Sequence[str] = COORDINATES) -> None:
        self.text, self.variables = text, tuple(variables)
        self._tree = _parse(text, self.variables)
        self.names = sorted({node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)} & set(variables))

    def at(self, **values: float) -> Expression:
        """With numbers in place of some coordinates.

        >>> Expression("s*x").at(s=0.5).text
        '0.5 * x'
        """

        class Put(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                return ast.parse(repr(float(values[node.id])), mode="eval").body if node.id in values else node

        tree = Put().visit(ast.parse(ast.unparse(self._tree), mode="eval").body)
        return Expression(ast.unparse(tree), self.variables)

    @cached_property
    def kinks(self) -> tuple[Expression, ...]:
        """What vanishes where this may have an edge or a kink: arguments of abs, sqrt and log, differences of those of
        minimum and maximum, bases of broken powers.

        >>> [kink.text for kink in Expression("maximum(0, 1 - x**2) + abs(y)").kinks]
        ['0 - (1 - x ** 2)', 'y']
        """
        texts = {ast.unparse(tree): None for node in ast.walk(self._tree) for tree in _vanishing(node)}
        return tuple(kink for kink in (Expression(text, self.variables) for text in texts) if kink.names)

    def __call__(self, coordinates: Mapping[str, AnyArray]) -> Float:
        """Value at points given by their coordinates; division by zero and the like give inf or NaN for the caller to
        judge."""
        missing = [name for name in self.names if name not in coordinates]
        if missing:
            has = f"the coordinates {', '.join(coordinates)}" if coordinates else "no coordinates with names"
            raise ProblemError.at("expression", f"uses {', '.join(missing)}, but this space has {has}")
        size = next(iter(coordinates.values())).shape
        value = self.walked(coordinates, _OF_NUMBERS)
        return np.broadcast_to(np.asarray(value, dtype=float), size).copy()

    def walked(self, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
        """The same arithmetic on anything that has it, with these functions."""
        with np.errstate(all="ignore"):
            return _walk(self._tree, {**CONSTANTS, **values}, functions)


def _vanishing(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="abs" | "sqrt" | "log"), args=[argument]):
            return [argument]
        case ast.Call(func=ast.Name(id="minimum" | "maximum"), args=[left, right]):
            return [ast.BinOp(left, ast.Sub(), right)]
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int())):
            return []
        case ast.BinOp(left=base, op=ast.Pow()):
            return [base]
    return []


def _parse(text: str, variables: Sequence[str]) -> ast.expr:
    if len(text) > _MAX_CHARACTERS:
        raise ProblemError.at("expression", f"has {len(text)} characters; at most {_MAX_CHARACTERS} are allowed")
    if "#" in text:  # Python would read a comment
        raise ProblemError.at("expression", f"{shown(text)} cannot be read as arithmetic")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # 1or 2 and the like: Python would print a warning and go on
            tree = ast.parse(" ".join(text.split()), mode="eval").body
    except (SyntaxError, Warning, ValueError, RecursionError, MemoryError):
        cut = text.count("(") > text.count(")")
        hint = ": a bracket is not closed; inside { }, a text with commas needs quotes" if cut else ""
        raise ProblemError.at("expression", f"{shown(text)} cannot be read as arithmetic{hint}") from None
    parts = sum(1 for _ in ast.walk(tree))
    if parts > _MAX_NODES:
        raise ProblemError.at("expression", f"has {parts} parts; at most {_MAX_NODES} are allowed")
    _check(tree, 0, variables)
    return tree


def _check(node: ast.expr, depth: int, variables: Sequence[str]) -> None:
    if depth > _MAX_DEPTH:
        raise ProblemError.at("expression", f"is nested more than {_MAX_DEPTH} deep")
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            children = [left, right]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            children = [operand]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            children = arguments
            _check_call(name, len(arguments))
        case ast.Name(id=name):
            children = []
            _check_name(name, variables)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            children = []
            if abs(value) > 1e300:
                raise ProblemError.at("expression", "has a number beyond 1e300")
        case _:
            raise ProblemError.at(
                "expression",
                f"{shown(ast.unparse(node))} is not arithmetic; allowed are + - * / **, parentheses, numbers, "
                f"{_spoken(variables)}, pi and {', '.join(FUNCTIONS)}",
            )
    for child in children:
        _check(child, depth + 1, variables)


def _spoken(variables: Sequence[str]) -> str:
    return "coordinates" if variables == COORDINATES else ", ".join(variables)


def _check_name(name: str, variables: Sequence[str]) -> None:
    if name in FUNCTIONS:
        raise ProblemError.at("expression", f"{name} is a function: write {name}(...)")
    if name not in CONSTANTS and name not in variables:
        known = [*variables, *CONSTANTS, *FUNCTIONS]
        raise ProblemError.at(
            "expression", f"does not know {shown(name)}{nearest(name, known)}; known: {', '.join(known)}"
        )


def _check_call(name: str, given: int) -> None:
    if name not in FUNCTIONS:
        raise ProblemError.at(
            "expression",
            f"does not know the function {shown(name)}{nearest(name, FUNCTIONS)}; known: {', '.join(FUNCTIONS)}",
        )
    wanted = FUNCTIONS[name][0]
    if given != wanted:
        raise ProblemError.at("expression", f"{name} takes {wanted} argument{'s' if wanted > 1 else ''}, not {given}")


def _walk(node: ast.expr, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_walk(left, values, functions), _walk(right, values, functions))
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_walk(operand, values, functions))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return functions[name](*(_walk(argument, values, functions) for argument in arguments))
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type]
    raise AssertionError(ast.dump(node))
