"""The README's quick start, run in order on a fresh gateway: it answers what the README shows."""

from pathlib import Path

from tests.gateway import MAKE_RUN, running
from tests.pages import matches, run


def test_an_answer_that_differs_from_what_is_shown_does_not_match():
    assert matches({"id": "usr_…", "n": 1}, {"id": "usr_1", "n": 1})
    assert matches({"header": "…", "n": 1}, {"header": {"next": None}, "n": 1})
    assert not matches({"id": "usr_…"}, {"id": "agt_1"})
    assert not matches({"n": 1}, {"n": True})
    assert not matches([1, 2], [1])


async def test_the_quick_start_answers_what_the_readme_shows(tmp_path: Path):
    async with running(tmp_path / "data", command=MAKE_RUN) as gateway:
        ran = await run("README.md", gateway, tmp_path)
    assert sum(example.kind == "json" for example in ran) >= 4
