"""The README's quick start, run in order on a fresh gateway: it answers what the README shows."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from tests.gateway import CHECKOUT, running

BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARK = "--- answer ---"


def matches(shown: Any, answered: Any) -> bool:
    """Compare an answer with what is shown of it; `…` in a shown text stands for anything."""
    if isinstance(shown, dict) and isinstance(answered, dict):
        return list(shown) == list(answered) and all(matches(shown[key], answered[key]) for key in shown)
    if isinstance(shown, list) and isinstance(answered, list):
        return len(shown) == len(answered) and all(map(matches, shown, answered))
    if isinstance(shown, str) and isinstance(answered, str):
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        return re.fullmatch(pattern, answered, re.DOTALL) is not None
    return shown == answered and type(shown) is type(answered)


def test_an_answer_that_differs_from_what_is_shown_does_not_match():
    assert matches({"id": "usr_…", "n": 1}, {"id": "usr_1", "n": 1})
    assert not matches({"id": "usr_…"}, {"id": "agt_1"})
    assert not matches({"n": 1}, {"n": True})
    assert not matches([1, 2], [1])


async def test_the_quick_start_answers_what_the_readme_shows(tmp_path: Path):
    blocks = BLOCK.findall((CHECKOUT / "README.md").read_text(encoding="utf-8"))
    shown = [json.loads(text) for kind, text in blocks if kind == "json"]
    assert len(shown) >= 4
    async with running(tmp_path / "data") as gateway:
        script = "set -eu\n"
        for kind, text in blocks:
            script += text.replace("http://127.0.0.1:8000", gateway.base) if kind == "sh" else f"echo '{MARK}'\n"
        shell = await asyncio.create_subprocess_exec(
            "bash", "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        output, errors = await shell.communicate()
        assert shell.returncode == 0, errors.decode()
    answers = [json.loads(part) for part in output.decode().split(MARK) if part.strip()]
    assert len(answers) == len(shown)
    for expected, answered in zip(shown, answers, strict=True):
        assert matches(expected, answered), json.dumps(answered, indent=2)
