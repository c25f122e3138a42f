"""A load balancer learns where users are at home, and a request that arrives there is passed on no more."""

from typing import Any

import aiohttp
import pytest

from tests.support.gateway import PASSWORD, Client
from tests.support.haproxy import in_front_of
from tests.support.nats import free_port
from tests.support.nodes import Nodes
from tests.support.roaming import Entries
from tests.support.wire import events_of, streamed

NODE = "X-Parley-Node"


@pytest.mark.parametrize("home", range(3))
async def test_answers_that_come_over_another_node_name_the_home(entries: Entries, unique: str, home: int):
    user = await entries.user_on(home, unique)
    await user.through[0].agent(unique)
    said: dict[str, Any] = {"model": unique, "messages": [{"role": "user", "content": "Hello"}]}
    for entry, client in enumerate(user.through):
        named = None if entry == home else f"node{home}"
        for answer in (
            await client.command("AP_Chat", content="Hello"),
            await client.command("AP_Read", target={"agent": "nobody"}),
            await client.request("GET", "/api/skills"),
            await client.request("POST", "/v1/chat/completions", json=said),
            await client.request("POST", "/v1/chat/completions", json=said | {"stream": True}),
        ):
            assert answer.headers.get(NODE) == named
        async with streamed(client, "AP_Chat", content="Hello") as response:
            assert [event.name async for event in events_of(response)][-1] == "response"
            assert response.headers.get(NODE) == named


async def test_the_home_is_named_of_the_caller_and_not_of_what_it_changes(entries: Entries, unique: str):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await owner.through[0].agent(f"{unique}-agent", access="public")
    said = {"model": f"{unique}-agent", "messages": [{"role": "user", "content": "Hello"}]}
    for entry, client in enumerate(guest.through):
        chat = await client.command("AP_Chat", target={"agent": f"{unique}-agent"}, content="Hello")
        completion = await client.request("POST", "/v1/chat/completions", json=said)
        assert (chat.http, completion.http) == (200, 200)
        assert chat.headers.get(NODE) == completion.headers.get(NODE) == (None if entry == 1 else "node1")


async def test_answers_to_requests_without_a_credential_name_none(entries: Entries, unique: str):
    user = await entries.user_on(2, unique)
    vx = {"name": user.name, "secret": PASSWORD}
    for client in (*entries.clients, *user.through):  # also where a client sends its old session along
        assert NODE not in (await client.command("US_LogOn", vx=vx)).headers
        health = await client.request("GET", "/api/health")
        assert health.http == 200
        assert NODE not in health.headers


def forwarded(nodes: Nodes) -> int:
    """Return how often a request was passed on to another node so far."""
    return sum(node.core.cluster.traffic.forwarded.total() for node in nodes)


async def test_haproxy_sends_users_to_their_homes(entries: Entries, unique: str):
    nodes = entries.nodes
    users = [await entries.user_on(home, f"{unique}-{home}") for home in (0, 1, 2)]
    with in_front_of({node.name: node.base for node in nodes}) as proxy:
        for number, user in enumerate(users):
            client = Client(user.through[0].http, proxy.base, user.through[0].token, user.name)
            before = forwarded(nodes)
            for _ in range(6):
                answer = (await client.command("US_Read")).ok()
                assert NODE not in answer.headers
            assert forwarded(nodes) - before <= 1, "the first one at most"
            if number == 0:  # its home moves: one request more, and the proxy knows the new one
                shards = {shard for shard, owner in enumerate(nodes.placed.map.owners) if owner == "node0"}
                await nodes.placed.hand_over(shards, "node1")
                try:
                    before = forwarded(nodes)
                    for _ in range(6):
                        (await client.command("US_Read")).ok()
                    assert forwarded(nodes) - before == 1
                finally:
                    await nodes.placed.hand_over(shards, "node0")


async def test_haproxy_tells_users_apart_by_every_kind_of_credential(entries: Entries, unique: str):
    nodes, user = entries.nodes, await entries.user_on(2, unique)
    client = user.through[0]
    key = (await client.request("POST", "/api/api-keys", json={"name": unique})).body["key"]
    with in_front_of({node.name: node.base for node in nodes}) as proxy:
        for headers in (
            {"Authorization": f"Bearer {client.token}"},
            {"X-Api-Key": key},
            {"Cookie": f"parley_console={client.token}"},
        ):
            before = forwarded(nodes)
            for _ in range(6):
                async with client.http.get(f"{proxy.base}/api/skills", headers=headers) as answer:
                    assert answer.status == 200, await answer.text()
            assert forwarded(nodes) - before <= 1


async def test_haproxy_without_a_gateway_answers_as_one_that_can_t_so_clients_try_again():
    gone = f"http://127.0.0.1:{free_port()}"
    with in_front_of({f"node{number}": gone for number in range(3)}) as proxy:
        async with aiohttp.ClientSession() as http, http.post(f"{proxy.base}/demo/v1/Svc/tps", json={}) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            status = (await answer.json())["status"]
            assert (status["success"], status["internal_code"], status["http_code"]) == (False, 5003, 503)
            assert "not done; try again" in status["note"]
