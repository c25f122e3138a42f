"""How the asynchronous client waits, under a name of its own for clients/generator."""

from asyncio import sleep as async_sleep

__all__ = ["async_sleep"]
