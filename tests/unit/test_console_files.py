"""Rules of the console's files (docs/console.md, "Rules"), which its tests in a browser might not come across."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.gateway import CHECKOUT
from tests.support.npm import node

APP = CHECKOUT / "console" / "app"
LIMIT = 350
MODULES = sorted(APP.rglob("*.js"))
STYLES = sorted(APP.rglob("*.css"))
FORBIDDEN = {
    r"\bstyle\s*=": "an inline style attribute, which the Content-Security-Policy refuses",
    r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write": "text that becomes markup",
    r"\beval\(|new Function\b": "text that becomes code",
    r"\w://(?!www\.w3\.org/)\w": "an address of another host",
}
_CHECK = """
const vm = require("node:vm"), fs = require("node:fs");
for (const file of JSON.parse(fs.readFileSync(0, "utf8"))) {
  try { new vm.SourceTextModule(fs.readFileSync(file, "utf8"), {identifier: file}); }
  catch (error) { console.log(`${file}: ${error}`); }
}
"""
_IMPORT = re.compile(r"^(?:import|export)\s+(?:(\w+)\s*,?\s*)?(?:\{([^}]*)\}\s*)?from\s+\"([^\"]+)\"", re.MULTILINE)
_LAZY = re.compile(r"\bimport\(\"([^\"]+)\"\)")


def relative(file: Path) -> str:
    return file.relative_to(APP).as_posix()


def names_in(braces: str) -> list[str]:
    """Return the names that an import or export in braces takes from its module."""
    return [name.split(" as ")[0].split(":")[0].strip() for name in braces.split(",") if name.strip()]


def exports_of(module: Path) -> set[str]:
    """Return the names that a module exports."""
    text = module.read_text(encoding="utf-8")
    names = set(re.findall(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", text, re.MULTILINE))
    for braces in re.findall(r"^export (?:const )?\{([^}]*)\}", text, re.MULTILINE):
        names.update(name.split(" as ")[-1].strip() for name in braces.split(",") if name.strip())
    return names | ({"default"} if re.search(r"^export default ", text, re.MULTILINE) else set())


@pytest.mark.parametrize("file", [*MODULES, *STYLES], ids=relative)
def test_a_file_keeps_the_rules(file: Path):
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LIMIT
    for pattern, meaning in FORBIDDEN.items():
        found = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
        assert found == [], f"{relative(file)} has {meaning}"


def test_every_module_is_javascript():
    command = (node(), "--experimental-vm-modules", "--no-warnings", "-e", _CHECK)
    paths = json.dumps([str(file) for file in MODULES])
    done = subprocess.run(command, input=paths, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_imports_find_what_they_name(module: Path):
    text = module.read_text(encoding="utf-8")
    for default, braces, path in _IMPORT.findall(text):
        imported = (module.parent / path).resolve()
        assert imported.is_file(), f"{path} is no file"
        wanted = names_in(braces) + (["default"] if default else [])
        assert set(wanted) <= exports_of(imported), f"{path} has not all of {wanted}"
    for path in _LAZY.findall(text):
        assert (module.parent / path).resolve().is_file(), f"{path} is no file"


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_template_names_only_components_that_the_module_has(module: Path):
    text = module.read_text(encoding="utf-8")
    elsewhere = re.sub(r"<\$\{\w+", "", text)
    used = set(re.findall(r"<\$\{(\w+)", text))
    assert {name for name in used if not re.search(rf"\b{name}\b", elsewhere)} == set()


def test_every_module_and_style_sheet_is_used():
    page = (APP / "page.html").read_text(encoding="utf-8")
    used = {APP / path for path in re.findall(r"\{assets\}/app/([\w./-]+)", page)}
    for file in used:
        assert file.is_file()
    todo = [file for file in used if file.suffix == ".js"]
    while todo:
        module = todo.pop()
        text = module.read_text(encoding="utf-8")
        paths = [path for *_, path in _IMPORT.findall(text)] + _LAZY.findall(text)
        found = {(module.parent / path).resolve() for path in paths} - used
        used |= found
        todo += [file for file in found if APP in file.parents]
    assert [relative(file) for file in (*MODULES, *STYLES) if file not in used] == []


def test_the_page_asks_for_the_modules_of_its_frame_all_at_once():
    page = (APP / "page.html").read_text(encoding="utf-8")
    todo, frame = [APP / "app.js"], set[Path]()
    while todo:
        module = todo.pop()
        frame.add(module)
        imported = {
            (module.parent / path).resolve() for *_, path in _IMPORT.findall(module.read_text(encoding="utf-8"))
        }
        todo += imported - frame
    frame.remove(APP / "app.js")
    preloaded = re.findall(r'<link rel="modulepreload" href="\{assets\}/app/([\w./-]+)">', page)
    assert preloaded == sorted(map(relative, frame))


def test_every_page_is_documented():
    routes = re.findall(r"path: \"(/[^\"]+)\"", (APP / "routes.js").read_text(encoding="utf-8"))
    documented = re.findall(r"\| `(/console[^`]*)` \|", (CHECKOUT / "docs" / "console.md").read_text(encoding="utf-8"))
    in_capitals = {re.sub(r":(\w+)\??", lambda part: part.group(1).upper(), path) for path in routes}
    assert in_capitals == set(documented)
