"""Ctrl-C while LLVM works: in its callbacks Python loses exceptions."""

import signal

import pytest

from mfpde.compilation import kernel
from mfpde.compilation.libraries import KernelLibrary
from mfpde.compilation.signals import signals_held


def double(x: float) -> float:
    return x + x


@pytest.fixture
def pressed(monkeypatch) -> None:
    """Ctrl-C is pressed once, when LLVM hands its machine code over: the first time Python runs since LLVM began."""
    numbers = [signal.SIGINT]

    def hand_over(library, code):
        vars(library)["code"] = code
        if code is not None and numbers:
            signal.raise_signal(numbers.pop())

    handed_over = property(lambda library: vars(library)["code"], hand_over)
    monkeypatch.setattr(KernelLibrary, "_compiled_object", handed_over, raising=False)


@pytest.mark.usefixtures("place", "pressed")
def test_an_interrupt_while_machine_code_is_made_is_not_lost(capfd):
    compiled = kernel(double)
    with pytest.raises(KeyboardInterrupt):
        compiled(2.0)
    assert "ignored" not in capfd.readouterr().err
    assert compiled(2.0) == 4.0


def test_signals_go_to_their_handlers_afterwards():
    arrived = []
    before = signal.signal(signal.SIGTERM, lambda number, _: arrived.append(number))
    try:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            assert arrived == []
        assert arrived == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("ignored", [signal.SIG_IGN, signal.SIG_DFL])
def test_signals_without_a_handler_are_left_alone(ignored):
    before = signal.signal(signal.SIGTERM, ignored)
    try:
        with signals_held():
            assert signal.getsignal(signal.SIGTERM) is ignored
    finally:
        signal.signal(signal.SIGTERM, before)
