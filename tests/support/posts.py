"""Requests that the tests of posts serve on each node."""

import asyncio
from collections.abc import AsyncIterator

from actors.runtime.cluster.post import NotReached, Post


class Served:
    """Serves `echo`, `three`, `slow`, `refuse` and `break_down` on a node, and notes what was begun."""

    def __init__(self, post: Post, node: str) -> None:
        self.node = node
        self.begun: list[bytes] = []
        self.release = asyncio.Event()
        for handler in (self.echo, self.three, self.slow, self.refuse, self.break_down):
            post.serve(handler.__name__, handler)

    async def echo(self, body: bytes) -> AsyncIterator[bytes]:
        self.begun.append(body)
        yield self.node.encode() + b":" + body

    async def three(self, body: bytes) -> AsyncIterator[bytes]:
        for n in range(3):
            yield body + str(n).encode()
            await asyncio.sleep(0)

    async def slow(self, body: bytes) -> AsyncIterator[bytes]:
        self.begun.append(body)
        yield b"begun"
        await self.release.wait()
        yield b"done"

    async def refuse(self, body: bytes) -> AsyncIterator[bytes]:
        if body != b"after a frame":
            raise NotReached("not my shard")
        yield body
        raise NotReached("too late to say so")

    async def break_down(self, body: bytes) -> AsyncIterator[bytes]:
        yield body
        raise RuntimeError("a fault of the test")
