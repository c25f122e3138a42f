"""docs/contract.md and docs/webhooks.md name every command and every event with its data."""

import re

from actors.commands.table import COMMANDS
from actors.webhooks.event_types import EVENT_TYPES
from tests.support.gateway import CHECKOUT

CONTRACT = (CHECKOUT / "docs/contract.md").read_text(encoding="utf-8")


def test_the_contract_has_every_command():
    assert set(COMMANDS) - set(re.findall(r"\b[A-Z]{2}_\w+", CONTRACT)) == set()


def members(cell: str) -> set[str]:
    """Return the names in a cell of the table of events, without what stands in brackets."""
    return set(re.sub(r"\([^)]*\)", "", cell).replace(" ", "").split(","))


def test_the_contract_has_every_event_with_the_members_of_its_data():
    table = CONTRACT.partition("### Event data")[2].partition("\n## ")[0]
    told: dict[str, set[str]] = {}
    for types, data in re.findall(r"^\| (\w+\.[^|]*) \| ([^|]*) \|$", table, re.MULTILINE):
        first, *others = types.split(", ")
        for kind in (first, *(first.rpartition(".")[0] + other for other in others)):
            told[kind] = members(data)
    assert told.pop("webhook.test") == {"asgiven"}
    assert told == {
        kind: set(event.schema["properties"]) for kind, event in EVENT_TYPES.items() if kind != "webhook.test"
    }


def test_the_page_for_receivers_has_every_pattern_of_events():
    page = (CHECKOUT / "docs/webhooks.md").read_text(encoding="utf-8")
    listed = page.partition("`events` are types or ")[2].partition(";")[0]
    assert set(re.findall(r"`([^`]+)`", listed)) == {event.pattern for event in EVENT_TYPES.values() if event.pattern}
