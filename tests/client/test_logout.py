"""`parley logout`: it ends the profile's session, removes its token, and says where there was none."""

import json
from pathlib import Path

import pytest

from parley_client import AccessError, Parley
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayProcess
from tests.support.other_server import answering, refusal


@pytest.fixture
def parley(tmp_path: Path, gateway: GatewayProcess) -> CommandLine:
    return CommandLine(tmp_path, gateway.base)


def kept(home: Path, profile: str = "default") -> dict[str, str | None]:
    """Return what the file keeps of a profile."""
    return json.loads((home / "parley" / "profiles.json").read_text(encoding="utf-8"))[profile]


async def test_a_log_off_ends_the_session_and_removes_it_from_its_profile(
    parley: CommandLine, gateway: GatewayProcess, tmp_path: Path, unique: str
) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    assert (await parley("--profile", "sea", "login", f"{unique}-user")).status == 0
    (key,) = (await parley("keys", "create", "script", "--json")).records
    token = kept(tmp_path)["key"]
    ran = await parley("logout", PARLEY_API_KEY=key["key"])
    assert (ran.status, ran.out, ran.err) == (0, "", "The profile default is logged off.\n")
    assert kept(tmp_path) == {"url": gateway.base, "key": None}
    with Parley(gateway.base, token) as client, pytest.raises(AccessError, match="2001"):
        client.users.read()
    assert (await parley("agents", "list")).err[:5] == "2000:"
    assert (await parley("--profile", "sea", "agents", "list")).status == 0
    assert (await parley("agents", "list", PARLEY_API_KEY=key["key"])).status == 0


async def test_a_log_off_tells_where_nothing_was_to_be_ended(parley: CommandLine, tmp_path: Path, unique: str) -> None:
    none = await parley("logout")
    assert (none.status, none.err) == (0, "The profile default has no session, so there is nothing to end.\n")
    assert not (tmp_path / "parley").exists()
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    with Parley(parley.environment["PARLEY_URL"]) as client:
        client.log_on(f"{unique}-user", PASSWORD)
        client.users.revoke("all")
    ended = await parley("logout")
    assert (ended.status, ended.err) == (0, "The profile default is logged off; its session had ended already.\n")
    assert kept(tmp_path)["key"] is None


async def test_a_log_off_tells_a_program_whether_it_ended_a_session(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    for has_ended in (True, False):
        ran = await parley("logout", "--json")
        assert (ran.status, ran.records, ran.err) == (0, [{"profile": "default", "ended": has_ended}], "")


async def test_without_a_connection_the_session_is_kept(parley: CommandLine, tmp_path: Path, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    token = kept(tmp_path)["key"]
    ran = await parley("logout", PARLEY_URL="http://127.0.0.1:9")
    assert (ran.status, ran.err.partition(":")[0]) == (3, "No connection")
    assert kept(tmp_path)["key"] == token


async def test_a_session_that_another_gateway_does_not_know_is_kept(
    parley: CommandLine, gateway: GatewayProcess, tmp_path: Path, unique: str
) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    token = kept(tmp_path)["key"]
    async with answering(refusal(2001, 401)) as other:
        for ran in (await parley("--url", other.url, "logout"), await parley("logout", PARLEY_URL=other.url)):
            assert (ran.status, ran.out, ran.err[:5]) == (12, "", "2001:")
            assert (
                f"The session of the profile default is kept: it is of {gateway.base}, not of {other.url}." in ran.err
            )
    assert kept(tmp_path) == {"url": gateway.base, "key": token}
    assert (await parley("logout", PARLEY_URL="")).err == "The profile default is logged off.\n"
