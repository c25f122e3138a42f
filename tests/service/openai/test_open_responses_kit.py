"""Open Responses' own compliance kit, run with tsx against the gateway (docs/testing.md).

The kit is a checkout of github.com/openresponses/openresponses with its packages zod and tsx installed. Its folder is
named by OPEN_RESPONSES_KIT.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.gateway import Client

KIT = Path(os.environ.get("OPEN_RESPONSES_KIT", "no-kit"))
PASSES = ("basic-response", "streaming-response", "system-prompt", "multi-turn")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.skipif(not (KIT / "node_modules").is_dir(), reason="needs OPEN_RESPONSES_KIT, see docs/testing.md")
async def test_the_kit_passes(user: Client, agent: str):
    kit = await asyncio.create_subprocess_exec(
        str(KIT / "node_modules" / ".bin" / "tsx"),
        "bin/compliance-test.ts",
        *("--base-url", f"{user.base}/v1", "--api-key", user.token or "", "--model", agent),
        *("--filter", ",".join(PASSES), "--json"),
        cwd=KIT,
        stdout=asyncio.subprocess.PIPE,
    )
    written, _ = await kit.communicate()
    results = json.loads(written)["results"]
    assert {result["id"]: (result["status"], result.get("errors")) for result in results} == dict.fromkeys(
        PASSES, ("passed", [])
    )
