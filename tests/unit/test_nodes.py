"""The nodes that tests of several nodes run in this process."""

from pathlib import Path

from tests.support.nodes import running


async def test_three_nodes_serve_users_of_one_database_over_their_own_sockets(tmp_path: Path):
    async with running(tmp_path, 3, http=True) as nodes, nodes.client(0) as first:
        user = await first.register("lovelace")
        async with nodes.client(await nodes.home_of(user)) as home:
            seen = await home.as_user(user.token).command("US_Read")
        assert seen.ok().profile[0]["name"] == "lovelace"


async def test_a_shard_moves_when_its_owner_has_drained_it(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        key = nodes.key_on(1)
        assert nodes[0].core.directory.elsewhere("user", key) == "node1"
        assert nodes[1].core.directory.elsewhere("user", key) is None
        await nodes.placed.hand_over({int(key[-2:], 16)}, "node0")
        assert nodes[0].ownership.is_mine(key)
        assert nodes[1].core.directory.elsewhere("user", key) == "node0"
        nodes.placed.take_over("node0", "node1")
        assert nodes[1].ownership.is_mine(key)
