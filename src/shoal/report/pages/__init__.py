"""The two reports of a release: what may be published beside it, and what its owner has to know."""

from shoal.report.pages.private import private_page
from shoal.report.pages.public import public_page
from shoal.report.pages.visible import Visible, look_at

__all__ = ["Visible", "look_at", "private_page", "public_page"]
