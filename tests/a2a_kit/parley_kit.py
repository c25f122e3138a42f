"""A pytest plugin for A2A's Technology Compatibility Kit, which sends no credential and uses message ids twice.

It adds the header Authorization, from PARLEY_KIT_CREDENTIAL, to every request, and gives every message that the kit
sends an id that no other one has, so that Parley takes none for a repeat. With PARLEY_KIT_PREFIXES the id also stands
in front of the text, for the engine of tests/gateways/a2a_kit.py. The kit itself is unchanged.
"""

import json
import os
from typing import Any
from uuid import uuid4

import httpx
import pytest

_send = httpx.Client.send


def _sent(self: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
    request.headers.setdefault("Authorization", f"Bearer {os.environ['PARLEY_KIT_CREDENTIAL']}")
    return _send(self, _with_an_id_of_its_own(request), **options)


def _with_an_id_of_its_own(request: httpx.Request) -> httpx.Request:
    try:
        body = json.loads(request.content)
    except ValueError:
        return request
    holder = body.get("params", body) if isinstance(body, dict) else None
    message = holder.get("message") if isinstance(holder, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("messageId"), str):
        return request
    parts = message.get("parts")
    if "PARLEY_KIT_PREFIXES" in os.environ and isinstance(parts, list) and parts and "text" in parts[0]:
        parts[0]["text"] = f"{message['messageId']} {parts[0]['text']}"
    message["messageId"] += f"-{uuid4().hex[:12]}"
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    content = json.dumps(body).encode()
    return httpx.Request(request.method, request.url, headers=headers, content=content, extensions=request.extensions)


def pytest_configure(config: pytest.Config) -> None:
    """Send every request of the kit through this plugin."""
    del config
    httpx.Client.send = _sent  # type: ignore[method-assign]
