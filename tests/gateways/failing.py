"""A gateway with batches that fail at random until SIGTERM: FAILING_SHARE of them, seeded by FAILING_SEED."""

import asyncio
import os
import random
import signal

from config.settings import load_settings
from server import Gateway, greet
from tests.gateways.parts import parts


async def main() -> None:
    rng = random.Random(os.environ["FAILING_SEED"])
    share = float(os.environ["FAILING_SHARE"])
    failed = 0

    def before_commit() -> None:
        nonlocal failed
        if rng.random() < share:
            failed += 1
            raise OSError(28, "No space left on device")

    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    gateway = Gateway(load_settings(os.environ), parts=parts(before_commit=before_commit))
    await gateway.start()
    print(greet(gateway), flush=True)  # noqa: T201
    await stopping.wait()
    await gateway.stop()
    print(f"{failed} batches failed", flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
