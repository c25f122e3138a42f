"""How the asynchronous client waits and where its connections belong, under own names for clients/generator."""

import asyncio
import os
from asyncio import sleep as async_sleep

__all__ = ["async_home", "async_sleep"]


def async_home() -> object:
    """Return what connections belong to: this process and its running event loop."""
    return os.getpid(), asyncio.get_running_loop()
