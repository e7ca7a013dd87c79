"""How a search is told to stop: by the clock, or by Ctrl-C."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.errors import Infeasible

if TYPE_CHECKING:
    from shoal.policy import Policy


def within(policy: "Policy", time_limit: float | None) -> "Policy":
    """The policy, searched for at most so many seconds."""
    if time_limit is None:
        return policy
    document = {**policy.method.model_dump(by_alias=True), "time-limit": time_limit}
    return type(policy)(**{**dict(policy), "method": document})


@contextmanager
def stopping(*, on_interrupt: bool) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, if that is to end a search early; pressed again, it interrupts as ever."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, former)

    if not on_interrupt:
        yield lambda: False
        return
    former = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    except Infeasible:
        if pressed:  # there was no node to keep
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, former)
