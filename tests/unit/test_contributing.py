"""What contributors are told of targets and folders, and what an installation for production takes."""

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def made(*arguments: str) -> str:
    """Run make; return its output."""
    command = ("make", "--no-print-directory", *arguments)
    return subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True, timeout=60).stdout


def test_help_lists_every_target_that_has_a_text():
    explained = re.findall(r"^(\S+):.*## ", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(line.split()[0] for line in made("help").splitlines()) == sorted(explained)
    assert {"a2a-kit", "install"} <= {*explained}


@pytest.mark.parametrize(("target", "locks"), [("install", ["runtime"]), ("check", ["dev", "runtime"])])
def test_an_installation_takes_the_packages_of_a_running_gateway_and_no_others(
    target: str, locks: list[str], tmp_path: Path
):
    said = made("--dry-run", target, f"VENV={tmp_path / 'venv'}")
    assert sorted({*re.findall(r"-r requirements/(runtime|dev)\.lock", said)}) == locks


def test_the_pages_for_contributors_name_every_folder():
    listed = subprocess.run(("git", "ls-files"), cwd=CHECKOUT, check=True, capture_output=True, text=True, timeout=60)
    paths = [Path(name) for name in listed.stdout.splitlines()]
    layout = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layout")[2]
    roots = {path.parts[0] for path in paths if len(path.parts) > 1 and not path.parts[0].startswith(".")}
    assert {root for root in roots if f"\n    {root}/ " not in layout} == set()
    testing = (CHECKOUT / "docs" / "testing.md").read_text(encoding="utf-8")
    groups = {path.parts[2] for path in paths if path.parts[:2] == ("tests", "service") and len(path.parts) > 3}
    assert {group for group in groups if f"\n| `{group}/` |" not in testing} == set()
    shared = testing.partition("\n## Support\n")[2].partition("\n## ")[0]
    rows = "".join(line for line in shared.splitlines() if line.startswith("| `"))
    support = {path.name for path in paths if path.parts[:2] == ("tests", "support") and path.suffix == ".py"}
    assert {*re.findall(r"`(\w+\.py)`", rows)} == support


def test_the_readme_leads_to_every_page():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    pages = {page.relative_to(CHECKOUT).as_posix() for page in (CHECKOUT / "docs").glob("*.md")}
    assert {page for page in pages if f"]({page}" not in readme} == set()


def test_records_of_decisions_are_short_and_the_list_has_each_and_marks_those_that_are_replaced():
    folder = CHECKOUT / "docs" / "decisions"
    records = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("2*.md")}
    assert {name for name, record in records.items() if len(record.splitlines()) > 17} == set()
    listed = re.findall(
        r"^- \S+: \[.*\]\((\S+)\)( \(replaced\))?$", (folder / "README.md").read_text("utf-8"), re.MULTILINE
    )
    replaced = {name for name, record in records.items() if ", replaced by [" in record.splitlines()[2]}
    assert sorted(name for name, _ in listed) == sorted(records)
    assert {name for name, marked in listed if marked} == replaced
