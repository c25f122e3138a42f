"""Questions of the debug routes to every node, or to the owner of an actor."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

import orjson

from actors.core import Core
from actors.errors import Overloaded
from actors.runtime.cluster.places import Clustered
from actors.runtime.cluster.post import Handler, Lost, NotReached

SUBJECT = "look"
ANSWER_S = 2.0
"""Seconds that a node has for its answer."""

Asked = Mapping[str, Any]
"""The parameters of a question, plain JSON."""

Answering = Callable[[Core, Asked], Coroutine[Any, Any, Any]]
"""Answers a question for this node, in plain JSON."""


def answers_of(core: Core, questions: Mapping[str, Answering]) -> Handler:
    """Return the handler of the questions of other nodes."""

    async def answer(body: bytes) -> AsyncIterator[bytes]:
        name, asked = orjson.loads(body)
        if name not in questions:  # of a newer version
            raise NotReached(f"this node has no question {name}")
        yield orjson.dumps(await questions[name](core, asked))

    return answer


async def of_all(core: Core, cluster: Clustered, name: str, answering: Answering, asked: Asked) -> dict[str, Any]:
    """Ask every live node at once; return the answers by node, None for a node that does not answer in time."""
    here = cluster.ownership.node
    nodes = sorted(cluster.ownership.nodes.keys() | {here})

    async def of(node: str) -> Any:
        if node == here:
            return await answering(core, asked)
        try:
            return await _asked(cluster, node, name, asked)
        except (Lost, NotReached):
            return None

    return dict(zip(nodes, await asyncio.gather(*map(of, nodes)), strict=True))


async def of_one(cluster: Clustered, node: str, name: str, asked: Asked) -> Any:
    """Ask another node.

    Raises:
        Overloaded: it does not answer.
    """
    try:
        return await _asked(cluster, node, name, asked)
    except (Lost, NotReached):
        raise Overloaded(f"The node {node} does not answer; try again.") from None


async def _asked(cluster: Clustered, node: str, name: str, asked: Asked) -> Any:
    return orjson.loads(await cluster.post.call(node, SUBJECT, orjson.dumps((name, asked)), timeout_s=ANSWER_S))
