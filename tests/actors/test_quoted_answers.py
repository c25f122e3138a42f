"""MB_Recall marks the memories that answer a question, and a chat quotes only these."""

import pytest

from actors.engines import dialogue_acts
from tests.support.gateway import Client
from tests.support.recall_questions import QUESTIONS


@pytest.mark.parametrize(("bank", "questions"), QUESTIONS[:2], ids=["kitchen", "travel"])
async def test_a_chat_quotes_what_recall_marks_as_an_answer_and_nothing_else(
    user: Client, unique: str, bank: dict[str, str], questions: list[tuple[str, str | None]]
) -> None:
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    for name, text in bank.items():
        (await user.command("MB_Load", target={"bank": f"{unique}-bank"}, vx={"name": name}, content=text)).ok()
    for question, wanted in questions:
        found = (await user.command("MB_Recall", target={"bank": f"{unique}-bank"}, content=question)).ok().content
        answers = {memory["name"] for memory in found if memory["answers"]}
        reply = (await user.command("AP_Chat", content=question)).ok().content[1]
        quoted = {source["name"] for source in reply["sources"] if "bank" in source}
        assert quoted <= answers, question
        assert bool(quoted) is bool(answers), question
        if wanted is None:
            assert (reply["content"], reply["sources"]) == (dialogue_acts.UNKNOWN, []), question
        else:
            assert wanted in quoted, question


async def test_what_recall_ranks_first_is_not_denied(user: Client, unique: str) -> None:
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    memories = {"Bread": "Sourdough rises for fourteen hours.", "Norway": "Norwegians travel without a visa."}
    for name, text in memories.items():
        (await user.command("MB_Load", target={"bank": f"{unique}-bank"}, vx={"name": name}, content=text)).ok()
    for question, text in zip(
        ("How long must sourdough be proofed?", "Do Norwegians need visas?"), memories.values(), strict=True
    ):
        found = (await user.command("MB_Recall", target={"bank": f"{unique}-bank"}, content=question)).ok().content
        assert (found[0]["text"], found[0]["answers"]) == (text, True)
        assert text in (await user.command("AP_Chat", content=question)).ok().content[1]["content"]
