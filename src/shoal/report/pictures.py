"""What all pictures share: how they are written, and how wide their letters are."""

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARACTER = 0.0078
"""Width in inches of a character, for each point of its size."""
_MOST_DOTS = 30_000
"""Of a PNG in one direction: viewers open no larger one, and matplotlib draws none beyond 65,536."""
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
    "svg.hashsalt": "shoal",
    "text.parse_math": False,  # a name may hold a $
}

# Okabe and Ito's colours, told apart by colour-blind people too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def rendered(draw: Callable[[], "Figure"], kind: str, *, tight: bool = False) -> bytes:
    """A picture as the bytes of an SVG or a PNG: the same for the same figure, whatever matplotlib is set to."""
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


def printable(text: str) -> str:
    """Without what no XML may hold."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
