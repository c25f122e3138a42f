"""How the synchronous client waits, and where its connections belong."""

import os
import socket
import threading
from contextlib import suppress
from time import sleep
from typing import Any

import httpx2

__all__ = ["Bell", "hang_up", "home", "sleep"]


def home() -> object:
    """Return what connections belong to: this process."""
    return os.getpid()


def hang_up(response: httpx2.Response) -> None:
    """End the connection of an answer, so that a thread that reads it is told at once; that thread closes it."""
    stream: Any = response.extensions.get("network_stream")
    connection: Any = stream and stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with suppress(OSError):  # it has ended
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not TLS's own, which takes the reader's buffer away


class Bell:
    """Wakes a thread that sleeps."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def ring(self) -> None:
        """Wake it now, and at once whenever it sleeps later."""
        self._event.set()

    def sleep(self, seconds: float) -> None:
        """Sleep for a time, or until it rings."""
        self._event.wait(seconds)
