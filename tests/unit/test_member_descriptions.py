"""Descriptions of request members, each with the member's meaning for its command."""

import pytest

from actors.calls.member_descriptions import OF_COMMAND, member_description
from actors.commands.table import COMMANDS
from routes.openapi.request_schemas import request_schema

RULE_OF_NAMES = "3 to 64 ASCII letters"


@pytest.mark.parametrize(
    ("service", "path", "words"),
    [
        ("US_Revoke", "vx.name", ("session", "`all`")),
        ("US_LogOn", "target.user", ("logs on",)),
        ("US_Destroy", "vx.secret", ("current password",)),
        ("US_Update", "vx.secret", ("new password",)),
        ("AP_List", "target.agent", ("beginning of the agents' names",)),
        ("DM_List", "target.domain", ("beginning of the domains' names",)),
        ("ZN_List", "target.zone", ("beginning of the zones' names",)),
        ("MB_List", "target.bank", ("beginning of the banks' names",)),
        ("AP_List", "target.user", ("agents of this user",)),
        ("MB_Load", "vx.name", ("memory's name", "1 to 200 characters")),
        ("MB_Load", "vx.description", ("memory's text",)),
        ("MB_Read", "vx.name", ("memory's name", "all memories when absent")),
        ("MB_Delete", "vx.name", ("memory's name", "`*` for every memory")),
        ("MB_Censor", "vx.name", ("memory's name", "`*` for every memory")),
        ("MB_Delete", "target.agent", ("memories that this agent loaded", "no default")),
        ("MB_Recall", "content", ("search for",)),
        ("MB_Recall", "page.limit", ("5 when absent",)),
    ],
)
def test_a_member_that_means_something_of_its_own_to_a_command_is_described_so(
    service: str, path: str, words: tuple[str, ...]
):
    assert path in COMMANDS[service].uses
    described = member_description(service, path)
    assert [word for word in words if word not in described] == []


def test_the_rule_of_entity_names_stands_where_a_command_gives_an_entity_its_name_and_nowhere_else():
    ruled = {service for service, command in COMMANDS.items() if RULE_OF_NAMES in str(request_schema(command))}
    makers = {"US_Create", "AP_Create", "DM_Create", "ZN_Create", "MB_Create"}
    assert ruled == makers | {"AP_Update", "AP_Modify", "DM_Update", "MB_Update"}


def test_every_description_is_of_a_member_that_its_command_uses():
    strays = [
        (service, path)
        for service, members in OF_COMMAND.items()
        for path in members
        if not any(used == path or used.startswith(f"{path}.") for used in COMMANDS[service].uses)
    ]
    assert strays == []
