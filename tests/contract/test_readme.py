"""The README's quick start, run in order on a fresh gateway, with the answers that it shows."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from actors.commands.table import COMMANDS
from config.settings import load_settings
from tests.support.gateway import CHECKOUT, MAKE_RUN, running
from tests.support.pages import matches, run

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


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


def test_the_line_that_starts_it_with_a_model_holds_settings_that_are_accepted():
    (line,) = re.findall(r"^    (PARLEY_.*) make run$", README, re.MULTILINE)
    settings = load_settings(dict(word.split("=", maxsplit=1) for word in line.split()))
    assert (settings.chat_engine, settings.openai_model) == ("openai", "llama3.2")


def test_the_table_of_services_has_each_one():
    table = README.partition("## What works today")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?:user|agent|domain|zone|bank|conversation) \| (.*) \|$", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"\b[A-Z]{2}_[A-Za-z]+", row)]
    assert set(named) == set(COMMANDS)


def test_the_words_name_the_prefix_of_each_group():
    glossary = README.partition("## Words")[2].partition("\n## ")[0]
    assert {prefix.removesuffix("_") for prefix in re.findall(r"`([A-Z]{2}_)`", glossary)} == {
        service.split("_")[0] for service in COMMANDS
    }


def test_what_the_readme_links_to_in_the_project_is_there():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (CHECKOUT / link).is_file(), link


def test_the_picture_has_a_description_and_asks_nothing_of_another_host():
    picture = (CHECKOUT / "docs" / "workspace.svg").read_text(encoding="utf-8")
    root = ET.fromstring(picture)
    svg = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{svg}title")
    for word in ("user", "agent", "domain", "zone", "bank", "session"):
        assert word in (root.findtext(f"{svg}desc") or "")
        assert word in README.partition("![")[2].partition("]")[0]
    assert "prefers-color-scheme: dark" in picture
    assert not re.search(r"<script|href=|url\((?!#)|@import", picture)
