"""The story of docs/evening.md, line by line on a fresh gateway, with the answers that it shows."""

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import aiohttp
import pytest

from tests.support.gateway import BUS, CHECKOUT, Client, running

EVENING = CHECKOUT / "docs" / "evening.md"
REGISTERS = re.compile(r"(?P<user>\S+) registers")
HUSH = re.compile(r'hush "(?P<words>[^"]+)"')
COMMAND = re.compile(r"(?P<user>\w+)> (?P<service>[A-Z]{2}_\w+)(?: (?P<body>\{.*))?", re.DOTALL)
ANSWER = re.compile(r"< (?P<code>\d+)(?: (?P<body>\{.*))?", re.DOTALL)
FOLLOW = re.compile(r"(?P<user>\w+)~ follow (?P<body>\{.*)", re.DOTALL)
END = re.compile(r"(?P<user>\w+)~ end (?P<reason>\w[\w ]*)")
EVENT = re.compile(r"(?P<user>\w+)~ (?P<body>\{.*)", re.DOTALL)

DOMAIN_COMMANDS = "DM_Create DM_Invite DM_Join DM_Read DM_Kick DM_Ban DM_Unban DM_Destroy"
ZONE_COMMANDS = "ZN_Create ZN_Post ZN_Read ZN_Stream ZN_Destroy"
BANK_COMMANDS = "MB_Create MB_Load MB_Permissions MB_Accept MB_Read MB_Recall MB_Censor MB_Destroy"
NEEDED = {"AP_Create", "AP_LogOn", "AP_Chat", *DOMAIN_COMMANDS.split(), *ZONE_COMMANDS.split(), *BANK_COMMANDS.split()}


REFUSED = {("DM_Join", 3000), ("DM_Join", 3002), ("MB_Read", 2003), ("MB_Read", 3000), ("MB_Load", 3002)}
SHOWN = ("@tinker", '"sources": [{"bank": ', '"quote": "[censored]"')


@dataclass(slots=True)
class Step:
    """One line of the story with its continuation, and its number in the file."""

    number: int
    text: str

    def fail(self, wrong: str) -> NoReturn:
        """Fail with the line's number."""
        pytest.fail(f"docs/evening.md:{self.number}: {wrong}\nexpected: {self.text}", pytrace=False)

    def parsed(self, text: str | None) -> dict[str, Any]:
        """Read the JSON on this line."""
        try:
            return json.loads(text or "{}")
        except ValueError as error:
            self.fail(f"this is no JSON: {error}")


def steps_of(text: str) -> list[Step]:
    """Find the lines of the `evening` blocks; an indented one continues the one above."""
    steps: list[Step] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```evening"
        elif inside and line.startswith(" "):
            steps[-1].text += f"\n{line.strip()}"
        elif inside and line.strip():
            steps.append(Step(number, line.strip()))
    return steps


def difference(shown: Any, answered: Any, path: str = "") -> str | None:
    """Return the paths where an answer does not contain the shown part; `…` in a shown text stands for anything."""
    if isinstance(shown, dict) and isinstance(answered, dict):
        members: dict[str, Any] = shown
        for key, value in members.items():
            if key not in answered:
                return f"{path}.{key} is not there"
            if found := difference(value, answered[key], f"{path}.{key}"):
                return found
        return None
    if isinstance(shown, list) and isinstance(answered, list):
        ours: list[Any] = shown
        theirs: list[Any] = answered
        if len(ours) != len(theirs):
            return f"{path} has {len(theirs)} elements instead of {len(ours)}"
        found = (difference(ours[place], theirs[place], f"{path}[{place}]") for place in range(len(ours)))
        return next((one for one in found if one), None)
    if isinstance(shown, str) and isinstance(answered, str):
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        same = re.fullmatch(pattern, answered, re.DOTALL) is not None
    else:
        same = shown == answered and type(shown) is type(answered)
    return None if same else f"{path} is {json.dumps(answered, ensure_ascii=False)}"


@dataclass(slots=True)
class Evening:
    """Plays the steps in order, with the users and the commands so far."""

    client: Client
    users: dict[str, Client] = field(default_factory=dict[str, Client])
    streams: dict[str, aiohttp.ClientResponse] = field(default_factory=dict[str, aiohttp.ClientResponse])
    hushed: list[str] = field(default_factory=list[str])
    ends: set[str] = field(default_factory=set[str])
    services: set[str] = field(default_factory=set[str])
    constraint_errors: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    made: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    async def play(self, steps: list[Step], stack: contextlib.AsyncExitStack) -> None:
        """Play every step; fail at the first that differs."""
        place = 0
        while place < len(steps):
            step = steps[place]
            place += 1
            if match := COMMAND.fullmatch(step.text):
                answer = Step(step.number, "< 0")
                if place < len(steps) and steps[place].text.startswith("<"):
                    answer = steps[place]
                    place += 1
                await self.command(step, answer, match["user"], match["service"], match["body"])
            elif match := FOLLOW.fullmatch(step.text):
                await self.follow(step, match["user"], match["body"], stack)
            elif match := END.fullmatch(step.text):
                self.compare(step, {"end": match["reason"]}, await self.event(step, match["user"]))
                del self.streams[match["user"]]
                self.ends.add(match["reason"])
            elif match := EVENT.fullmatch(step.text):
                self.compare(step, step.parsed(match["body"]), await self.event(step, match["user"]))
            elif match := REGISTERS.fullmatch(step.text):
                self.users[match["user"]] = await self.client.register(match["user"])
            elif match := HUSH.fullmatch(step.text):
                self.hushed.append(match["words"])
            else:
                step.fail("there is no such kind of line")
        assert not self.streams, f"streams that the story leaves open: {list(self.streams)}"

    def compare(self, step: Step, shown: Any, answered: Any) -> None:
        """Fail with the line and the whole answer if the shown part is missing, or hushed words appear."""
        whole = json.dumps(answered, indent=2, ensure_ascii=False)
        wrong = difference(shown, answered)
        for words in self.hushed:
            if words.lower() in whole.lower():
                wrong = wrong or f"it says {words!r}, which was hushed"
        if wrong:
            pytest.fail(
                f"docs/evening.md:{step.number}: {wrong}\nexpected: {step.text}\nanswered: {whole}", pytrace=False
            )

    def user(self, step: Step, name: str) -> Client:
        """Return the user of a line."""
        return self.users.get(name) or step.fail(f"{name} is not registered")

    async def command(self, step: Step, answer: Step, user: str, service: str, body: str | None) -> None:
        """Send a command and compare its answer with the line that shows it."""
        shown = ANSWER.fullmatch(answer.text) or answer.fail("this is no answer")
        try:
            async with asyncio.timeout(30):
                answered = await self.user(step, user).command(service, **step.parsed(body))
        except TimeoutError:
            step.fail("there is no whole answer in 30 s")
        code = int(shown["code"])
        expected = answer.parsed(shown["body"])
        status = {"success": code == 0, "internal_code": code}
        self.compare(answer, expected | {"status": expected.get("status", {}) | status}, answered.body)
        self.services.add(service)
        if code:
            self.constraint_errors.add((service, code))
        elif service.endswith("_Create"):
            self.made.setdefault(service, set()).add(answered.profile[0]["id"])

    async def follow(self, step: Step, user: str, body: str, stack: contextlib.AsyncExitStack) -> None:
        """Open a user's live stream."""
        if user in self.streams:
            step.fail(f"{user} follows already")
        client = self.user(step, user)
        sent: dict[str, Any] = {"service": "ZN_Stream", **step.parsed(body)}
        response = await stack.enter_async_context(
            client.http.post(client.base + BUS, json=sent, headers=client.headers())
        )
        if response.content_type != "text/event-stream":
            step.fail(f"no stream, but {await response.text()}")
        self.streams[user] = response
        self.services.add("ZN_Stream")

    async def event(self, step: Step, user: str) -> Any:
        """Return the next event of a user's stream; its end is `{"end": reason}`."""
        if user not in self.streams:
            step.fail(f"{user} follows nothing")
        name = ""
        try:
            while line := await asyncio.wait_for(self.streams[user].content.readline(), 30):
                kind, _, value = line.decode().rstrip("\n").partition(": ")
                if kind == "event":
                    name = value
                elif kind == "data":
                    data = json.loads(value)
                    return {"end": data["reason"]} if name == "end" else data
        except TimeoutError:
            return "nothing in 30 s"
        return "the stream broke off"


def test_an_answer_without_what_is_shown_differs():
    assert difference({"a": [1, {"b": "x…"}]}, {"a": [1, {"b": "xyz", "c": 2}], "d": 3}) is None
    assert difference({"a": 1}, {"a": True}) == ".a is true"
    assert difference({"a": None}, {}) == ".a is not there"
    assert difference({"a": [1]}, {"a": [1, 2]}) == ".a has 2 elements instead of 1"
    assert difference({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}) == '.a[0].b is "y"'


async def test_the_evening_goes_as_the_story_tells(tmp_path: Path):
    steps = steps_of(EVENING.read_text(encoding="utf-8"))
    async with running(tmp_path / "data") as gateway, gateway.client() as client, contextlib.AsyncExitStack() as stack:
        evening = Evening(client)
        await evening.play(steps, stack)
    assert evening.services >= NEEDED, NEEDED - evening.services
    assert evening.constraint_errors >= REFUSED, REFUSED - evening.constraint_errors
    assert evening.ends >= {"kicked", "banned"}
    assert evening.hushed
    story = "\n".join(step.text for step in steps)
    assert [words for words in SHOWN if words not in story] == []
    assert len(evening.users) >= 3
    for service, least in {"AP_Create": 6, "DM_Create": 2, "MB_Create": 2}.items():
        assert len(evening.made[service]) >= least, service
