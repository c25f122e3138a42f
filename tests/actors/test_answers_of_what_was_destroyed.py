"""Kept answers are redacted when what they show is destroyed (docs/contract.md, "Idempotency")."""

from typing import Any

import pytest

from tests.support.idempotent import REPLAYED, Scene, once

SECRET = "quartz in the cellar"
TEXT = {"description": SECRET}

Said = tuple[str, str, dict[str, Any]]
"""Who sends a command with a key, its service, and its body; `<agent>` and the like stand for the scene's names."""


def renamed(service: str, **target: str) -> Said:
    return "owner", service, {"target": target, "vx": {"name": next(iter(target.values()))} | TEXT}


AGENT = (
    renamed("AP_Update", agent="<agent>"),
    renamed("AP_Modify", agent="<agent>"),
    ("owner", "AP_LogOff", {"target": {"agent": "<agent>"}}),
    ("owner", "AP_LogOn", {"target": {"agent": "<agent>"}}),
    ("guest", "AP_Add", {"target": {"agent": "<agent>"}}),
    ("guest", "AP_Select", {"target": {"agent": "<agent>"}}),
)
DOMAIN = (
    renamed("DM_Update", domain="<domain>"),
    ("owner", "DM_Select", {"target": {"domain": "<domain>"}}),
    ("owner", "ZN_Create", {"target": {"domain": "<domain>"}, "vx": {"name": "cellar"}}),
)
ZONE = (
    ("owner", "ZN_Select", {"target": {"domain": "<domain>", "zone": "attic"}}),
    ("owner", "ZN_Post", {"target": {"domain": "<domain>", "zone": "attic"}, "content": SECRET}),
    ("guest", "ZN_Post", {"target": {"domain": "<domain>", "zone": "attic"}, "content": SECRET}),
    (
        "owner",
        "AP_Chat",
        {"target": {"domain": "<domain>", "zone": "attic", "agent": "<agent>"}, "content": SECRET},
    ),
)
BANK = (
    renamed("MB_Update", bank="<bank>"),
    ("owner", "MB_Load", {"target": {"bank": "<bank>"}, "vx": {"name": "loaded"}, "content": SECRET}),
    ("owner", "MB_Permissions", {"target": {"bank": "<bank>", "agent": "<guest_agent>"}, "vx": {"permission": "read"}}),
    ("guest", "MB_Accept", {"target": {"bank": "<bank>", "agent": "<guest_agent>"}}),
    ("guest", "MB_Unload", {"target": {"bank": "<bank>", "agent": "<guest_agent>"}}),
    ("owner", "MB_Delete", {"target": {"bank": "<bank>"}, "vx": {"name": "loaded"}}),
)
END_OF_DOMAIN = ("DM_Destroy", {"target": {"domain": "<domain>"}})
END_OF_AGENT = ("AP_Destroy", {"target": {"agent": "<agent>"}})
END_OF_USER = ("US_Destroy", {"vx": {"secret": "correct horse battery"}})


def named(scene: Scene, body: Any) -> Any:
    """Put the scene's names into a body."""
    if isinstance(body, dict):
        return {member: named(scene, value) for member, value in body.items()}
    return getattr(scene, body[1:-1]) if body.startswith("<") else body


@pytest.mark.parametrize(
    ("said", "end"),
    [
        (AGENT, END_OF_AGENT),
        (DOMAIN, END_OF_DOMAIN),
        (DOMAIN, END_OF_AGENT),  # its founder
        (ZONE, ("ZN_Destroy", {"target": {"domain": "<domain>", "zone": "attic"}})),
        (ZONE, END_OF_DOMAIN),
        (ZONE, END_OF_AGENT),
        (BANK, ("MB_Destroy", {"target": {"bank": "<bank>"}})),
        (AGENT, END_OF_USER),
        (ZONE, END_OF_USER),
        (BANK, END_OF_USER),
    ],
    ids=lambda given: given[0] if isinstance(given[0], str) else given[0][1],
)
async def test_answers_that_show_it_are_redacted(scene: Scene, said: tuple[Said, ...], end: tuple[str, Any]):
    await scene.move("DM_Join", scene.guest)
    users = {"owner": scene.owner, "guest": scene.guest}
    sent = [(users[who], service, named(scene, body)) for who, service, body in said]
    for number, (user, service, body) in enumerate(sent):
        first = (await once(user, f"key-{number}", service, **body)).ok()
        assert first.profile or first.content
    other = (await once(scene.guest, "other", "AP_LogOff", target={"agent": scene.guest_agent})).ok()
    service, body = end
    await scene.do(service, **named(scene, body))
    for number, (user, service, body) in enumerate(sent):
        if end is not END_OF_USER or user is scene.guest:
            repeat = (await once(user, f"key-{number}", service, **body)).ok()
            assert (repeat.headers[REPLAYED], repeat.profile, repeat.content) == ("true", [], []), service
    again = await once(scene.guest, "other", "AP_LogOff", target={"agent": scene.guest_agent})
    assert (again.headers[REPLAYED], again.body) == ("true", other.body)


@pytest.mark.parametrize(
    ("create", "destroy", "member"),
    [("AP_Create", "AP_Destroy", "agent"), ("DM_Create", "DM_Destroy", "domain"), ("MB_Create", "MB_Destroy", "bank")],
)
async def test_the_answer_of_its_creation_is_redacted(scene: Scene, create: str, destroy: str, member: str):
    body = {"vx": {"name": f"{scene.name}-new", "profile": SECRET} | TEXT}
    if member == "bank":
        del body["vx"]["profile"]
    assert SECRET in str((await once(scene.owner, "key", create, **body)).ok().profile)
    await scene.do(destroy, target={member: f"{scene.name}-new"})
    assert (await once(scene.owner, "key", create, **body)).ok().profile == []


async def test_the_end_of_another_conversation_or_endpoint_leaves_an_answer_whole(scene: Scene):
    owner, agent = scene.owner, {"agent": scene.agent}
    left, erased = [(await owner.command("CV_Create", target=agent)).ok().profile[0]["id"] for _ in range(2)]
    sent: dict[str, tuple[str, dict[str, Any]]] = {
        "shown": ("AP_LogOn", {"target": agent}),
        "said": ("AP_Chat", {"target": {"conversation": left}, "content": SECRET}),
    }
    kept = {key: (await once(owner, key, service, **body)).ok() for key, (service, body) in sent.items()}
    (await once(owner, "erased", "AP_Chat", target={"conversation": erased}, content=SECRET)).ok()
    (await owner.command("CV_Destroy", target={"conversation": erased})).ok()
    made = await owner.request("POST", "/api/webhooks/endpoints", json={"url": "https://example.com/hook"})
    assert (await owner.request("DELETE", f"/api/webhooks/endpoints/{made.body['id']}?hard=true")).http == 204
    for key, (service, body) in sent.items():
        again = await once(owner, key, service, **body)
        assert (again.headers[REPLAYED], again.body) == ("true", kept[key].body), service
    redacted = await once(owner, "erased", "AP_Chat", target={"conversation": erased}, content=SECRET)
    assert redacted.ok().content == []
