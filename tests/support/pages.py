"""Examples of documentation pages: their shell blocks, run in order in one shell, and the answers shown."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.gateway import CHECKOUT, INTERNAL_SECRET, GatewayProcess

BLOCK = re.compile(r"^```(sh|json|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"
MARK = "--- the block ends ---"


class Example(NamedTuple):
    """A shell block and its output on the page: JSON, a text, or nothing."""

    shell: str
    kind: str = ""
    shown: str = ""


def examples(page: str) -> list[Example]:
    """Read a page's shell blocks; a block of JSON or text after one is its output."""
    found: list[Example] = []
    for kind, text in BLOCK.findall((CHECKOUT / page).read_text(encoding="utf-8")):
        if kind == "sh":
            found.append(Example(text))
        else:
            found[-1] = found[-1]._replace(kind=kind, shown=text)
    return found


def matches(shown: Any, answered: Any) -> bool:
    """Compare an answer with the page's; `…` in a shown text stands for anything, and alone for any value."""
    if shown == "…":
        return True
    if isinstance(shown, dict) and isinstance(answered, dict):
        return list(shown) == list(answered) and all(matches(shown[key], answered[key]) for key in shown)
    if isinstance(shown, list) and isinstance(answered, list):
        return len(shown) == len(answered) and all(map(matches, shown, answered))
    if isinstance(shown, str) and isinstance(answered, str):
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        return re.fullmatch(pattern, answered, re.DOTALL) is not None
    return shown == answered and type(shown) is type(answered)


async def run(page: str, gateway: GatewayProcess, folder: Path, *, after: str = "") -> list[Example]:
    """Run a page's examples after those of a page with variables that it uses; assert the shown output.

    An example without shown output must succeed too. Returns the examples.
    """
    shown = examples(page)
    script = "set -eu\n"
    if after:
        script += "{\n" + "".join(example.shell for example in examples(after)) + "} >before.txt\n"
    script += "".join(f"{example.shell}echo '{MARK}'\n" for example in shown)
    shell = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        script.replace(ADDRESS, gateway.base),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=os.environ | {"INTERNAL_SECRET": INTERNAL_SECRET},
    )
    output, errors = await asyncio.wait_for(shell.communicate(), 60)
    assert shell.returncode == 0, output.decode() + errors.decode()
    for example, answered in zip(shown, output.decode().split(MARK), strict=False):
        if example.kind == "json":
            assert matches(json.loads(example.shown), json.loads(answered)), f"{example.shell}\n{answered}"
        elif example.kind == "text":
            assert matches(example.shown.strip(), answered.strip()), f"{example.shell}\n{answered}"
        else:
            assert '"success":false' not in answered, f"{example.shell}\n{answered}"
    return shown
