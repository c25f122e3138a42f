"""How the synchronous client waits, and where its connections belong."""

import os
from time import sleep

__all__ = ["home", "sleep"]


def home() -> object:
    """Return what connections belong to: this process."""
    return os.getpid()
