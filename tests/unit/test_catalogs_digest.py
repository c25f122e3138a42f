"""The digest of a machine's catalogues: equal on machines with the same files, wherever these are."""

from pathlib import Path

from config.catalogs_digest import catalogs_digest
from config.settings import load_settings


def digest_of(folder: Path, catalog: str | None, **skills: str) -> str:
    folder.mkdir()
    for name, text in skills.items():
        skill = folder / "skills" / name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(text)
    settings = {"PARLEY_SKILLS_DIR": str(folder / "skills")}
    if catalog is not None:
        (folder / "mcp.toml").write_text(catalog)
        settings["PARLEY_MCP_CATALOG"] = str(folder / "mcp.toml")
    return catalogs_digest(load_settings(settings))


def test_the_same_files_have_the_same_digest_in_any_folder(tmp_path: Path) -> None:
    one = digest_of(tmp_path / "one", "# none", code="Review code.", tests="Write tests.")
    assert one == digest_of(tmp_path / "two", "# none", tests="Write tests.", code="Review code.")
    assert len(one) == 16


def test_any_other_text_name_or_catalogue_has_another_digest(tmp_path: Path) -> None:
    digests = [
        digest_of(tmp_path / "0", "# none", code="Review code."),
        digest_of(tmp_path / "1", "# some", code="Review code."),
        digest_of(tmp_path / "2", "# none", code="Review all code."),
        digest_of(tmp_path / "3", "# none", codes="Review code."),
        digest_of(tmp_path / "4", "# none", code="Review code.", tests="Write tests."),
    ]
    assert len(set(digests)) == len(digests)
