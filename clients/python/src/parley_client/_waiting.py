"""How the synchronous client waits."""

from time import sleep

__all__ = ["sleep"]
