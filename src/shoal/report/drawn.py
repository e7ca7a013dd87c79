"""Figures as bytes: the same for the same figure, with text that can be searched and read aloud."""

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DOTS = 30_000
"""Of a PNG in one direction: viewers open no larger one, and matplotlib draws none beyond 65,536."""
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "shoal",
    "text.parse_math": False,  # a name may hold a $
}

# Okabe and Ito's colours, told apart by colour-blind people too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def as_bytes(draw: Callable[[], "Figure"], kind: str, *, tight: bool = False) -> bytes:
    """What a function draws, as the bytes of an SVG or a PNG."""
    import matplotlib as mpl

    file = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that the font does not have
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        metadata = {"Date": None, "Creator": "Shoal"} if kind == "svg" else {"Software": "Shoal"}
        figure = draw()
        dots = min(150.0, _MOST_DOTS / max(figure.get_size_inches()))
        figure.savefig(file, format=kind, dpi=dots, metadata=metadata, bbox_inches="tight" if tight else None)
    return file.getvalue()
