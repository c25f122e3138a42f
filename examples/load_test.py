"""A load test: users chat at the same time, each with an agent of its own, one message after the other.

    make run                                                        # in one terminal
    python examples/load_test.py --users 8 --chats 25 --seconds 10  # in another, with `pip install ./clients/python`

No chat begins after the seconds; at the end the users are removed. It loads 127.0.0.1:8000, or PARLEY_URL: only name a
gateway there that you may load.
"""

import argparse
import asyncio
import secrets
from time import perf_counter

from parley_client import AsyncParley, Refused


async def chat(asked: argparse.Namespace, together: asyncio.Barrier, times: list[float], refused: list[int]) -> None:
    """Register a user, chat with its agent, and remove it; keep each chat's seconds, or the code of its error."""
    name, password = f"load-{secrets.token_hex(6)}", secrets.token_urlsafe()
    async with AsyncParley(tries=1) as client:
        await client.users.create(name, password)
        await client.log_on(name, password)
        await client.agents.create(name, "Answers", profile="The Moon is 384,400 km away.")
        await client.agents.log_on(name)
        await together.wait()
        end = perf_counter() + asked.seconds
        for _ in range(asked.chats):
            if (begun := perf_counter()) < end:
                try:
                    await client.agents.chat("How far away is the Moon?", agent=name)
                    times.append(perf_counter() - begun)
                except Refused as error:
                    refused.append(error.code)
        await together.wait()
        await client.users.destroy(password)


async def main() -> None:
    """Run the users, and print the chats per second and their times."""
    parser = argparse.ArgumentParser()
    for name, default in (("users", 8), ("chats", 25), ("seconds", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    together, times, refused = asyncio.Barrier(asked.users + 1), list[float](), list[int]()
    async with asyncio.TaskGroup() as users:
        for _ in range(asked.users):
            users.create_task(chat(asked, together, times, refused))
        await together.wait()  # all are ready
        begun = perf_counter()
        await together.wait()  # all are done
        took = perf_counter() - begun
    print(f"{len(times)} chats by {asked.users} users in {took:.3f} s: {len(times) / took:.0f} chats/s")
    if times:
        p50, p99 = (1000 * sorted(times)[len(times) * share // 100] for share in (50, 99))
        print(f"p50 {p50:.1f} ms, p99 {p99:.1f} ms; refused: {len(refused)}, codes {sorted(set(refused))}")


asyncio.run(main())
