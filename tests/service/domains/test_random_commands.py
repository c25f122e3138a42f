"""Random commands of several users: the gateway's answers and state equal those of a small model."""

import asyncio
import http.client
import inspect
import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.support.gateway import BUS, Client, running

USERS = range(3)
AGENTS = range(6)  # two for each user
SLOTS = range(2)  # concurrent domains, and banks
ZONES = ("lobby", "nightly", "weekly")
NAMES = ("comet", "dome", "telescope")
LEVEL = {"none": 0, "read": 1, "write": 2, "admin": 3}
AFTER = {
    ("none", "DM_Invite"): "invited",
    ("none", "DM_Join"): "member",
    ("none", "DM_Ban"): "banned",
    ("invited", "DM_Invite"): "invited",
    ("invited", "DM_Join"): "member",
    ("invited", "DM_Leave"): "none",
    ("invited", "DM_Kick"): "none",
    ("invited", "DM_Ban"): "banned",
    ("member", "DM_Join"): "member",
    ("member", "DM_Leave"): "none",
    ("member", "DM_Kick"): "none",
    ("member", "DM_Ban"): "banned",
    ("banned", "DM_Ban"): "banned",
    ("banned", "DM_Unban"): "none",
}

SERVICES = ("DM_Invite", "DM_Join", "DM_Leave", "DM_Kick", "DM_Ban", "DM_Unban")
_examples = itertools.count()


def owner_of(agent: int) -> int:
    return agent // 2


def agent_name(agent: int) -> str:
    return f"agent-{agent}"


@dataclass
class Domain:
    """A domain of the model."""

    founder: int
    access: str
    states: dict[int, str]
    zones: dict[str, list[str]] = field(default_factory=lambda: {"lobby": []})

    def has(self, user: int, *states: str) -> bool:
        return any(owner_of(agent) == user and state in states for agent, state in self.states.items())

    def sees(self, user: int) -> bool:
        return self.access == "public" or owner_of(self.founder) == user or self.has(user, "invited", "member")


@dataclass
class Bank:
    """A bank of the model; a censored memory has None as its text."""

    owner: int
    access: str
    permissions: dict[int, str]
    offers: dict[int, str] = field(default_factory=dict[int, str])
    memories: dict[str, tuple[int, str | None]] = field(default_factory=dict[str, tuple[int, str | None]])

    def level(self, user: int) -> int:
        if user == self.owner:
            return LEVEL["admin"]
        return max((LEVEL[given] for agent, given in self.permissions.items() if owner_of(agent) == user), default=0)

    def sees(self, user: int) -> bool:
        return self.access == "public" or self.level(user) > 0

    def is_offered_to(self, user: int) -> bool:
        return any(owner_of(agent) == user for agent in self.offers)

    def give(self, agent: int, permission: str, *, by_owner: bool) -> None:
        """Set a permission as the agent's owner or as another user, for whom a higher one becomes an offer."""
        level, held = LEVEL[permission], LEVEL[self.permissions.get(agent, "none")]
        if by_owner:
            self.permissions[agent] = permission
            if level in (0, *range(LEVEL[self.offers.get(agent, "none")], 4)):
                self.offers.pop(agent, None)
            return
        self.offers.pop(agent, None)
        if level > held:
            self.offers[agent] = permission
        elif agent in self.permissions:
            self.permissions[agent] = permission

    def chosen(self, agent: int, name: str, which: str) -> list[str]:
        """Return the names of the memories that MB_Delete and MB_Censor remove."""
        return [
            known
            for known, (author, _) in self.memories.items()
            if (which in ("all", "agent") or known == name) and (which in ("all", "name") or author == agent)
        ]


def meant(agent: int, name: str, which: str) -> dict[str, Any]:
    """Return a selection of memories: by name, by agent, by both, or all."""
    members: dict[str, Any] = {} if which == "agent" else {"vx": {"name": "*" if which == "all" else name}}
    return members | ({"agent": agent} if which in ("agent", "both") else {})


class Gateway(RuleBasedStateMachine):
    """Sends each command to the real gateway and applies it to the model."""

    tokens: ClassVar[list[str]] = []
    base: ClassVar[str] = ""
    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        address = urlsplit(self.base)
        self.http = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        self.prefix = f"example-{next(_examples)}"
        self.domains: dict[int, Domain] = {}
        self.banks: dict[int, Bank] = {}
        self.said = 0

    @initialize(agent=st.sampled_from(AGENTS))
    def begin(self, agent: int) -> None:
        for slot, access in zip(SLOTS, ("public", "agent"), strict=True):
            self.found(agent, slot, access)
            self.make_bank(agent, slot, access)

    def teardown(self) -> None:
        """Compare the whole state, as its owners see it, with the model, and remove it."""
        for slot, domain in self.domains.items():
            owner = owner_of(domain.founder)
            answer = self.send(owner, "DM_Read", domain=slot)
            standing = {entry["agent"]: entry["state"] for entry in answer["content"]}
            assert standing == {agent_name(agent): state for agent, state in domain.states.items()}
            listed = self.send(owner, "ZN_List", domain=slot)["profile"]
            kept = {zone["name"]: (zone["messages"], zone["last_seq"]) for zone in listed}
            assert kept == {name: (len(said), len(said)) for name, said in domain.zones.items()}
            for name, said in domain.zones.items():
                content = self.send(owner, "ZN_Read", domain=slot, zone=name, page={"limit": 200})["content"]
                assert [(message["seq"], message["content"]) for message in content] == list(enumerate(said, 1))
            self.send(owner, "DM_Destroy", domain=slot)
        for slot, bank in self.banks.items():
            kept_texts = {m["name"]: m["text"] for m in self.send(bank.owner, "MB_Read", bank=slot)["content"]}
            assert kept_texts == {name: text for name, (_, text) in bank.memories.items()}
            listed = self.send(bank.owner, "MB_AgentList", bank=slot)["content"]
            assert {(entry["agent"], entry["state"]): entry["permission"] for entry in listed} == {
                (agent_name(agent), state): given
                for state, held in (("attached", bank.permissions), ("offered", bank.offers))
                for agent, given in held.items()
            }
            self.send(bank.owner, "MB_Destroy", bank=slot)
        self.http.close()

    def send(self, user: int, service: str, expected: int = 0, **members: Any) -> Any:
        """Send a command and assert its internal code."""
        target = {
            part: agent_name(value) if part == "agent" else value if part == "zone" else f"{self.prefix}-{part}-{value}"
            for part in ("domain", "agent", "zone", "bank")
            if (value := members.pop(part, None)) is not None
        }
        body = json.dumps({"service": service, "target": target, **members})
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": "application/json"}
        self.http.request("POST", BUS, body, headers)
        answer = json.loads(self.http.getresponse().read())
        type(self).steps += 1
        assert answer["status"]["internal_code"] == expected, (service, target, members, answer)
        return answer

    # One rule for all commands: hypothesis disables some of several rules in each example, so that few would get far.
    @rule(
        command=st.sampled_from(
            ("move",) * 12
            + ("post", "read_zone", "make_zone", "destroy_zone") * 2
            + ("load", "load", "load", "recall", "grant", "grant", "accept", "accept", "unload", "censor", "delete")
            + ("found", "change_access", "destroy_domain", "make_bank", "destroy_bank")
        ),
        who=st.sampled_from(("owner", "owner", "agent's owner", "agent's owner", *USERS)),
        agent=st.sampled_from(AGENTS),
        slot=st.sampled_from(SLOTS),
        zone=st.sampled_from(ZONES),
        name=st.sampled_from(NAMES),
        service=st.sampled_from(SERVICES),
        access=st.sampled_from(("public", "agent")),
        permission=st.sampled_from(tuple(LEVEL)),
        which=st.sampled_from(("name", "name", "agent", "both", "all")),
    )
    def act(self, command: str, who: str | int, **drawn: Any) -> None:
        domain = self.domains.get(drawn["slot"])
        founder = domain.founder if domain else drawn["agent"]
        drawn["user"] = {"owner": owner_of(founder), "agent's owner": owner_of(drawn["agent"])}.get(str(who), who)
        drawn["founder"] = drawn["agent"]
        if command == "move":  # few agents move, so that each reaches every state
            drawn["agent"] = 1 + drawn["agent"] % 3
        method = getattr(self, command)
        method(**{name: drawn[name] for name in inspect.signature(method).parameters})

    # domains

    def found(self, founder: int, slot: int, access: str) -> None:
        vx = {"name": f"{self.prefix}-domain-{slot}", "description": "d", "access": access}
        taken = slot in self.domains
        self.send(owner_of(founder), "DM_Create", 3001 if taken else 0, agent=founder, vx=vx)
        if not taken:
            self.domains[slot] = Domain(founder, access, {founder: "member"})

    def change_access(self, user: int, slot: int, access: str) -> None:
        domain = self.domains.get(slot)
        code = self.code_of_owner(domain, user)
        vx = {"name": f"{self.prefix}-domain-{slot}", "description": "d", "access": access}
        self.send(user, "DM_Update", code, domain=slot, vx=vx)
        if domain is not None and not code:
            domain.access = access

    def destroy_domain(self, user: int, slot: int) -> None:
        code = self.code_of_owner(self.domains.get(slot), user)
        self.send(user, "DM_Destroy", code, domain=slot)
        if not code:
            del self.domains[slot]

    def code_of_owner(self, domain: Domain | None, user: int) -> int:
        if domain is None or not domain.sees(user):
            return 3000
        return 0 if owner_of(domain.founder) == user else 2003

    def move(self, user: int, slot: int, agent: int, service: str) -> None:
        domain = self.domains.get(slot)
        if domain is None or not domain.sees(user):
            self.send(user, service, 3000, domain=slot, agent=agent)
            return
        if service in ("DM_Join", "DM_Leave"):
            may = owner_of(agent) == user
        else:
            may = owner_of(domain.founder) == user
            if service == "DM_Invite" and domain.access != "agent":
                may = may or domain.has(user, "member")
        state = domain.states.get(agent, "none")
        after = AFTER.get((state, service))
        if (state, service) == ("none", "DM_Invite") and owner_of(agent) == user:
            after = "member"
        uninvited = (state, service) == ("none", "DM_Join") and domain.access != "public"
        if uninvited or (agent == domain.founder and after != "member"):
            after = None
        code = 2003 if not may else 3002 if after is None else 0
        self.send(user, service, code, domain=slot, agent=agent)
        if not code and after is not None:
            domain.states[agent] = after
            if after == "none":
                del domain.states[agent]

    # zones

    def code_in_domain(self, user: int, slot: int, zone: str, *, member: bool) -> int:
        domain = self.domains.get(slot)
        if domain is None or not domain.sees(user) or zone not in domain.zones:
            return 3000
        return 2003 if member and not domain.has(user, "member") else 0

    def make_zone(self, user: int, slot: int, zone: str) -> None:
        code = self.code_in_domain(user, slot, "lobby", member=True)
        if not code and zone in self.domains[slot].zones:
            code = 3001
        self.send(user, "ZN_Create", code, domain=slot, vx={"name": zone})
        if not code:
            self.domains[slot].zones[zone] = []

    def destroy_zone(self, user: int, slot: int, zone: str) -> None:
        code = self.code_in_domain(user, slot, zone, member=False)
        if not code:
            code = 2003 if owner_of(self.domains[slot].founder) != user else 3002 if zone == "lobby" else 0
        self.send(user, "ZN_Destroy", code, domain=slot, zone=zone)
        if not code:
            del self.domains[slot].zones[zone]

    def post(self, user: int, slot: int, zone: str) -> None:
        code = self.code_in_domain(user, slot, zone, member=True)
        self.said += 1
        answer = self.send(user, "ZN_Post", code, domain=slot, zone=zone, content=f"message {self.said}")
        if not code:
            said = self.domains[slot].zones[zone]
            said.append(f"message {self.said}")
            assert answer["content"][0]["seq"] == len(said)

    def read_zone(self, user: int, slot: int, zone: str) -> None:
        code = self.code_in_domain(user, slot, zone, member=True)
        answer = self.send(user, "ZN_Read", code, domain=slot, zone=zone, page={"limit": 3})
        if not code:
            said = self.domains[slot].zones[zone]
            assert [message["content"] for message in answer["content"]] == said[-3:]

    # banks

    def make_bank(self, agent: int, slot: int, access: str) -> None:
        taken = slot in self.banks
        vx = {"name": f"{self.prefix}-bank-{slot}", "description": "d", "access": access}
        self.send(owner_of(agent), "MB_Create", 3001 if taken else 0, agent=agent, vx=vx)
        if not taken:
            self.banks[slot] = Bank(owner_of(agent), access, {agent: "admin"})

    def grant(self, user: int, slot: int, agent: int, permission: str) -> None:
        bank = self.banks.get(slot)
        code = 3000 if bank is None or not bank.sees(user) else 0
        if bank is not None and not code:
            own, level = bank.level(user), LEVEL[permission]
            held, offered = bank.permissions.get(agent), bank.offers.get(agent)
            mine = owner_of(agent) == user
            if own < LEVEL["admin"]:
                allowed = LEVEL["read"] <= own >= level
                allowed = allowed and (held is None or (mine and level <= LEVEL[held]))
                allowed = allowed and (mine or offered in (None, permission))
                code = 0 if allowed else 2003
        self.send(user, "MB_Permissions", code, bank=slot, agent=agent, vx={"permission": permission})
        if bank is not None and not code:
            bank.give(agent, permission, by_owner=owner_of(agent) == user)

    def accept(self, user: int, slot: int, agent: int) -> None:
        bank = self.banks.get(slot)
        if bank is None or not (bank.sees(user) or bank.is_offered_to(user)):
            code = 3000
        else:
            code = 2003 if owner_of(agent) != user else 0 if agent in bank.offers else 3002
        self.send(user, "MB_Accept", code, bank=slot, agent=agent)
        if bank is not None and not code:
            bank.permissions[agent] = bank.offers.pop(agent)

    def unload(self, user: int, slot: int, agent: int) -> None:
        bank = self.banks.get(slot)
        if bank is None or not (bank.sees(user) or bank.is_offered_to(user)):
            code = 3000
        elif owner_of(agent) != user and bank.level(user) < LEVEL["admin"]:
            code = 2003
        else:
            code = 0 if agent in bank.permissions or agent in bank.offers else 3002
        self.send(user, "MB_Unload", code, bank=slot, agent=agent)
        if bank is not None and not code:
            bank.permissions.pop(agent, None)
            bank.offers.pop(agent, None)

    def load(self, agent: int, slot: int, name: str) -> None:
        user, bank = owner_of(agent), self.banks.get(slot)
        self.said += 1
        text = f"The {name} has been seen {self.said} times."
        code = 3000
        if bank is not None and bank.sees(user):
            may = user == bank.owner or LEVEL[bank.permissions.get(agent, "none")] >= LEVEL["write"]
            known = bank.memories.get(name)
            code = 2003 if not may else 3002 if known is not None and known[1] is None else 0
        self.send(user, "MB_Load", code, bank=slot, agent=agent, vx={"name": name}, content=text)
        if bank is not None and not code:
            bank.memories[name] = agent, text
            if agent not in bank.permissions:
                bank.give(agent, "write", by_owner=True)

    def recall(self, user: int, slot: int, name: str) -> None:
        bank = self.banks.get(slot)
        code = 3000 if bank is None or not bank.sees(user) else 0 if bank.level(user) else 2003
        answer = self.send(user, "MB_Recall", code, bank=slot, content=f"How often was the {name} seen?")
        if bank is not None and not code:
            found = {memory["text"] for memory in answer["content"]}
            known = bank.memories.get(name)
            assert None not in found
            assert known is None or known[1] is None or known[1] in found

    def censor(self, user: int, slot: int, agent: int, name: str, which: str) -> None:
        bank = self.banks.get(slot)
        if bank is None or not bank.sees(user):
            self.send(user, "MB_Censor", 3000, bank=slot, **meant(agent, name, which))
            return
        found = bank.chosen(agent, name, which)
        by_name = which in ("name", "both")
        if bank.level(user) == LEVEL["admin"]:
            code = 3000 if by_name and not found else 0
        elif by_name and not found:
            code = 3000 if bank.level(user) else 2003
        else:  # texts of the user's own agents
            found = [known for known in found if owner_of(bank.memories[known][0]) == user]
            own = bool(found) if by_name else which == "agent" and owner_of(agent) == user
            code = 0 if own else 2003
        answer = self.send(user, "MB_Censor", code, bank=slot, **meant(agent, name, which))
        if not code:
            left = [known for known in found if bank.memories[known][1] is not None]
            assert answer["content"] == [{"memories": len(left)}]
            for known in left:
                bank.memories[known] = bank.memories[known][0], None

    def delete(self, slot: int, agent: int, name: str, which: str) -> None:
        if bank := self.banks.get(slot):
            found = bank.chosen(agent, name, which)
            code = 3000 if which in ("name", "both") and not found else 0
            answer = self.send(bank.owner, "MB_Delete", code, bank=slot, **meant(agent, name, which))
            for known in found:
                del bank.memories[known]
            if not code:
                assert answer["content"] == [{"memories": len(found)}]
                assert answer["profile"][0]["memories"] == len(bank.memories)

    def destroy_bank(self, user: int, slot: int) -> None:
        bank = self.banks.get(slot)
        code = 3000 if bank is None or not bank.sees(user) else 0 if bank.owner == user else 2003
        self.send(user, "MB_Destroy", code, bank=slot)
        if not code:
            del self.banks[slot]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("steps", [500, pytest.param(50_000, marks=pytest.mark.soak)])
async def test_random_commands_never_diverge_from_the_model(tmp_path: Path, steps: int):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        clients: list[Client] = []
        for user in USERS:
            clients.append(await client.register(f"user-{user}"))
            for agent in AGENTS:
                if owner_of(agent) == user:
                    await clients[user].agent(agent_name(agent), access="public")
        Gateway.tokens = [user.token or "" for user in clients]
        Gateway.base = gateway.base
        Gateway.steps = 0
        bounds = settings(
            max_examples=steps // 35,
            stateful_step_count=100,
            deadline=None,
            database=None,
            derandomize=True,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=[HealthCheck.too_slow],
        )
        await asyncio.to_thread(run_state_machine_as_test, Gateway, settings=bounds)
        assert Gateway.steps >= steps
        print(f"{Gateway.steps} commands, no divergence")  # noqa: T201
