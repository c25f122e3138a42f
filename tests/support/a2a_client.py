"""The official A2A client for an agent of a gateway, over either binding."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver
from a2a.client import Client as Sdk
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import a2a_pb2 as pb

from tests.support.gateway import Client

BINDINGS = ("JSONRPC", "HTTP+JSON")


def said(text: str, *, id: str | None = None, **more: Any) -> pb.Message:
    """Make a user's message."""
    return pb.Message(message_id=id or uuid4().hex, role=pb.ROLE_USER, parts=[pb.Part(text=text)], **more)


@dataclass
class Talker:
    """The official client, with the calls that tests make often."""

    sdk: Sdk

    async def events(self, message: pb.Message, **configuration: Any) -> list[pb.StreamResponse]:
        """Send a message and return everything that comes back."""
        request = pb.SendMessageRequest(
            message=message, configuration=pb.SendMessageConfiguration(**configuration) if configuration else None
        )
        return [event async for event in self.sdk.send_message(request)]

    async def say(self, text: str, *, id: str | None = None, context: str = "", **configuration: Any) -> pb.Task:
        """Send a message and return the task that comes back last."""
        return (await self.events(said(text, id=id, context_id=context), **configuration))[-1].task

    async def task(self, id: str, **more: Any) -> pb.Task:
        """Read a task."""
        return await self.sdk.get_task(pb.GetTaskRequest(id=id, **more))


class AnyNode(httpx.AsyncHTTPTransport):
    """Sends each request to one of the gateway's nodes, at random."""

    def __init__(self, nodes: Sequence[str]) -> None:
        super().__init__(verify=False)  # no certificates are read, as in mcp_client.py
        self._nodes = [httpx.URL(node) for node in nodes]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        node = random.choice(self._nodes)
        request.url = request.url.copy_with(host=node.host, port=node.port)
        return await super().handle_async_request(request)


@asynccontextmanager
async def talking(user: Client, agent: str, binding: str, *, streaming: bool = False) -> AsyncIterator[Talker]:
    """Connect the official client to an agent as a user, by its card."""
    async with httpx.AsyncClient(headers=user.headers(), timeout=60, transport=AnyNode(user.nodes)) as http:
        card = await A2ACardResolver(http, f"{user.base}/a2a/{agent}").get_agent_card()
        config = ClientConfig(
            streaming=streaming,
            httpx_client=http,
            supported_protocol_bindings=[binding],
            use_client_preference=True,
        )
        yield Talker(ClientFactory(config).create(card))
