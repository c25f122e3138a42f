"""Locust users for load tests: each registers, makes an agent, logs it on, selects it, then chats and reads.

Start a gateway, then the load, which lives in an environment of its own that `make bench` makes:

    PARLEY_REGISTRATIONS_PER_HOUR=0 PARLEY_DEFAULT_PLAN=enterprise make run
    .venv-bench/bin/locust -f bench/locustfile.py --headless -u 50 -r 10 -t 30s --host http://127.0.0.1:8000

All users come from one address: without the first setting only 100 of them may register in an hour, without the
second each may send 100 requests a day. A gateway of another brand than `Svc` is named in PARLEY_BRAND. Without
`--headless` Locust serves its own page on port 8089. A request that is refused counts as a failure, with its
internal code.
"""
# pyright: basic, reportMissingImports=false
# Locust is not in the checked environment.

import os
import random
import uuid
from contextlib import suppress
from typing import Any

from locust import FastHttpUser, between, task
from locust.exception import StopUser

BUS = f"/demo/v1/{os.environ.get('PARLEY_BRAND', 'Svc')}/tps"
PASSWORD = "correct horse battery"
TOLD = (
    "My favourite {thing} is the {colour} one.",
    "I left the {colour} {thing} in the office on Friday.",
    "Please remember that my {thing} is {colour}.",
)
ASKED = ("What colour is my {thing}?", "Where did I leave the {colour} {thing}?", "What do you know about me?")
THINGS = ("bicycle", "umbrella", "suitcase", "coat", "notebook", "scarf", "mug", "lamp", "chair", "backpack")
COLOURS = ("green", "blue", "red", "yellow", "black", "white", "purple", "grey")


class Refused(Exception):
    """The gateway refused a command; Locust's statistics include it already."""


class Chatter(FastHttpUser):
    """A user with one agent, who mostly chats, often reads the agent and sometimes the conversation."""

    wait_time = between(0.1, 1.0)

    def on_start(self) -> None:
        """Register and select an online agent; stop a user that can't."""
        name = f"locust-{uuid.uuid4().hex[:12]}"
        self.token = ""
        try:
            self.command("US_Create", vx={"name": name, "secret": PASSWORD})
            logged_on = self.command("US_LogOn", target={"user": name}, vx={"secret": PASSWORD})
            self.token = logged_on["content"][0]["token"]
            self.command("AP_Create", vx={"name": f"{name}-scout", "description": "Keeps notes for its owner."})
            self.command("AP_LogOn", target={"agent": f"{name}-scout"})
            self.command("AP_Select", target={"agent": f"{name}-scout"})
        except Refused as refused:
            raise StopUser from refused

    @task(6)
    def chat(self) -> None:
        """Send a statement or a question to the agent."""
        said = random.choice(TOLD if random.random() < 0.6 else ASKED)
        text = said.format(thing=random.choice(THINGS), colour=random.choice(COLOURS))
        self.attempt("AP_Chat", content=text)

    @task(3)
    def read(self) -> None:
        """Read the selected agent."""
        self.attempt("AP_Read")

    @task(1)
    def history(self) -> None:
        """Read the end of the conversation."""
        self.attempt("AP_History", page={"limit": 20})

    def attempt(self, service: str, **body: Any) -> None:
        """Send a command; count a refusal and go on."""
        with suppress(Refused):
            self.command(service, **body)

    def command(self, service: str, **body: Any) -> dict[str, Any]:
        """Send a command and return its answer.

        Raises:
            Refused: it was not carried out.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        message = {"service": service, **body}
        with self.client.post(BUS, json=message, headers=headers, name=service, catch_response=True) as response:
            answer = response.json() if response.status_code else None
            if answer is None or not answer["status"]["success"]:
                code = answer["status"]["internal_code"] if answer else "no answer"
                response.failure(f"{service} refused: {code}")
                raise Refused(code)
            return answer
