"""A gateway in which libraries, warnings, threads and tasks write to the log; with TEST_FAILS it doesn't start."""

import asyncio
import gc
import logging
import os
import threading
import warnings

import server
from tests.gateways.parts import serve


class Unruly:
    def __del__(self) -> None:
        raise RuntimeError("in a finalizer")


def fail_in_thread() -> None:
    raise RuntimeError("in a thread")


async def fail_in_task() -> None:
    raise RuntimeError("nobody retrieves this")


class NoisyGateway(server.Gateway):
    async def start(self) -> None:
        if "TEST_FAILS" in os.environ:
            raise RuntimeError("unforeseen")
        await super().start()
        warnings.warn("a warning of Python's", stacklevel=1)
        logging.getLogger("sanic.error").error("Sanic's own logger")
        logging.getLogger("odd").error("undecodable \udcff and %d too few")
        logging.getLogger("odd.arguments").error("%d", "no number")
        thread = threading.Thread(target=fail_in_thread)
        thread.start()
        thread.join()
        Unruly()
        await asyncio.wait((asyncio.create_task(fail_in_task()),))
        gc.collect()


if __name__ == "__main__":
    serve(NoisyGateway)
