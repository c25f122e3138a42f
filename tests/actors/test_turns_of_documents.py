"""The order in which documents are split: users take turns."""

import asyncio
from pathlib import Path

import pytest

from actors.core import Core
from actors.ids import new_id, new_number
from actors.jobs import ingestion
from persistence import documents
from persistence.documents import DocumentRow, Waiting
from persistence.store import Unit
from tests.support.core import make_user, open_core


async def queue(core: Core, user_id: str, name: str) -> None:
    id = new_id("doc", near=user_id)
    row = DocumentRow(new_number(), id, user_id, name, "text/plain", None, 5, "queued", None, 0, 0, 0, 0)
    await core.store.commit(Unit(documents.add(row, "A text with words.")))


async def test_nobody_waits_for_all_documents_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    split: list[str] = []
    parts_of = ingestion._parts_of  # pyright: ignore[reportPrivateUsage]

    def noted(document: Waiting) -> list[str]:
        split.append(document.user_id)
        return parts_of(document)

    monkeypatch.setattr(ingestion, "_parts_of", noted)
    async with open_core(tmp_path) as core:
        first, second, third = [(await make_user(core)).id for _ in range(3)]
        for number, user_id in enumerate((first, first, first, second, second, third)):
            await queue(core, user_id, f"page {number}")
        task = asyncio.create_task(ingestion.keep_ingesting(core))
        async with asyncio.timeout(30):
            while await core.store.fetch(documents.next_waiting()):
                await asyncio.sleep(0.01)
        task.cancel()
    assert {*split[:3]} == {first, second, third}
    assert {*split[3:5]} == {first, second}
    assert split[5:] == [first]
