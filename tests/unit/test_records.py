"""Records have the members of their schemas in the OpenAPI document."""

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from actors.agents.records import agent_record
from actors.banks.messages import RecalledMemory
from actors.banks.records import attachment_record, bank_record, memory_record, offer_record, recalled_record
from actors.conversations.records import conversation_record, message_record
from actors.domains.records import domain_record, membership_record, zone_record
from actors.engines.message import Utterance
from actors.library.records import document_record, skill_record
from actors.quotas.messages import QuotaStatus
from actors.quotas.records import quota_record
from actors.sessions.records import key_record, session_record
from actors.sessions.scopes import LISTS
from actors.users.records import Owned, own_user_record, user_record
from actors.webhooks.records import delivery_record, endpoint_record
from actors.wire import Record
from persistence.agents import AgentRow
from persistence.banks import AttachmentRow, BankRow
from persistence.conversations import ConversationRow
from persistence.credentials import SessionRow
from persistence.delivery_log import AttemptRow, DeliveryRow
from persistence.documents import DocumentRow
from persistence.domains import DomainRow, ZoneRow
from persistence.endpoints import EndpointRow
from persistence.memories import MemoryRow
from persistence.offers import OfferRow
from persistence.skills import SkillRow
from persistence.users import UserRow
from routes.openapi.document import document
from tests.support.gateway import CHECKOUT

DOCUMENT: dict[str, Any] = document()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
QUOTA = QuotaStatus("free", 100, 1, 86_400_000)
SESSION = SessionRow("ses_1", "usr_1", "ada", b"", 0, 0)
MEMORY = MemoryRow(1, "mem_1", "moon", "text", "agt_1", None, None, 0, 0, 0, "scout")
DELIVERY = DeliveryRow(1, "dlv_1", 1, "whe_1", "e", "webhook.test", "succeeded", None, 0)


def shown_whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires the members, too, that are shown only if they were given."""
    return {**schema, "required": list(schema["properties"])}


def without(schema: dict[str, Any], *members: str) -> dict[str, Any]:
    """Return a schema without some members."""
    return {
        "required": [name for name in schema["required"] if name not in members],
        "properties": {name: of for name, of in schema["properties"].items() if name not in members},
    }


def new_key_schema() -> dict[str, Any]:
    """Return the schema of a created API key."""
    created = DOCUMENT["paths"]["/api/api-keys"]["post"]["responses"]["201"]
    return created["content"]["application/json"]["schema"]


RECORDS: dict[str, tuple[Record, Any]] = {
    "user_record": (user_record(USER), without(SCHEMAS["OwnUser"], "quota", "counts")),
    "own_user_record": (own_user_record(USER, Owned(), QUOTA), SCHEMAS["OwnUser"]),
    "quota_record": (quota_record(QUOTA), SCHEMAS["OwnUser"]["properties"]["quota"]),
    "session_record": (session_record(SESSION, 1, current=True), SCHEMAS["Session"]),
    "key_record": (
        key_record(replace(SESSION, scopes=json.dumps(dict.fromkeys((*LISTS, "read_only", "admin"))), day_limit=9)),
        shown_whole(without(new_key_schema(), "key")),
    ),
    "agent_record": (
        agent_record(AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)),
        SCHEMAS["Agent"],
    ),
    "domain_record": (
        domain_record(DomainRow("dom_1", "usr_1", "ada", "agt_1", "scout", "home", "d", None, "agent", 0, 0)),
        SCHEMAS["Domain"],
    ),
    "membership_record": (membership_record("scout", "member", 0, founder=True), SCHEMAS["Membership"]),
    "zone_record": (zone_record(ZoneRow("zon_1", "lobby", 0), "home"), SCHEMAS["Zone"]),
    "bank_record": (
        bank_record(BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 1)),
        SCHEMAS["Bank"],
    ),
    "attachment_record": (
        attachment_record(AttachmentRow("agt_1", "usr_1", "scout", "read", 0, "attached")),
        SCHEMAS["Attachment"],
    ),
    "offer_record": (
        offer_record(OfferRow("notes", "ada", "read", 0)),
        SCHEMAS["AgentStanding"]["properties"]["offers"]["items"],
    ),
    "memory_record": (
        memory_record(MEMORY),
        shown_whole(SCHEMAS["Memory"]),
    ),
    "recalled_record": (
        recalled_record(RecalledMemory(MEMORY, 1.5, 0.5, True)),
        shown_whole(SCHEMAS["RecalledMemory"]),
    ),
    "message_record": (
        message_record(Utterance("msg_1", "agent", "scout", "Hello", 1, 0, of_destroyed=True)),
        shown_whole(SCHEMAS["Message"]),
    ),
    "conversation_record": (
        conversation_record(ConversationRow(1 << 62, "usr_1", "agt_1", "scout", True, None, None, None, 0, 2, 0, 1)),
        SCHEMAS["Conversation"],
    ),
    "skill_record": (skill_record(SkillRow("tool", "d", None, None, {}, [], [], 0)), SCHEMAS["Skill"]),
    "document_record": (
        document_record(DocumentRow(1, "doc_1", "usr_1", "plan", "text/plain", None, 1, "ready", None, 1, 0, 0, 0)),
        SCHEMAS["IngestedDocument"],
    ),
    "endpoint_record": (
        endpoint_record(
            EndpointRow(1, "whe_1", "usr_1", "https://a.example", (), True, False, None, b"", None, None, 0, 0)
        ),
        SCHEMAS["WebhookEndpoint"],
    ),
    "delivery_record": (
        delivery_record(DELIVERY, [AttemptRow(1, 0, 200, 1, None, "thanks")]),
        SCHEMAS["WebhookDelivery"],
    ),
}
"""Each record by its function, with its schema in the OpenAPI document."""


def differences(found: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Return the paths where a record's members differ from its schema, at any depth."""
    if isinstance(found, dict) and "properties" in schema:
        if not (found.keys() == schema["properties"].keys() == set(schema["required"])):
            yield f"{path}: {sorted(found)} is not {sorted(schema['properties'])}"
        for name in found.keys() & schema["properties"].keys():
            yield from differences(found[name], schema["properties"][name], f"{path}.{name}")
    elif isinstance(found, list):
        for item in found:
            yield from differences(item, schema["items"], f"{path}[]")


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_members_of_its_schema(name: str):
    found, schema = RECORDS[name]
    assert list(differences(found, schema, name)) == []


def test_records_of_living_agents_and_of_users_have_the_members_that_are_always_there():
    said = [
        Utterance("msg_1", "agent", "scout", "Hello", 1, 0),
        Utterance("m", "user", "ada", "H", 1, 0, (), None, True),
    ]
    assert [set(message_record(message)) for message in said] == [set(SCHEMAS["Message"]["required"])] * 2
    assert set(memory_record(MEMORY._replace(destroyed_author=None))) == set(SCHEMAS["Memory"]["required"])


def test_every_record_is_compared():
    functions = {
        node.name
        for file in CHECKOUT.glob("actors/*/records.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_record")
    }
    assert functions == RECORDS.keys()


def test_a_member_too_few_or_too_many_is_told():
    schema = {"required": ["a"], "properties": {"a": {}}}
    assert list(differences({}, schema, "it")) == ["it: [] is not ['a']"]
    assert list(differences({"a": 1, "b": 2}, schema, "it")) == ["it: ['a', 'b'] is not ['a']"]
