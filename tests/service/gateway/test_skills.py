"""Skills over HTTP: installation and its refusals (docs/skills.md, the Agent Skills specification)."""

import stat
import zipfile
from pathlib import Path

import aiohttp
import pytest

from tests.support.gateway import Answer, Client, running
from tests.support.skills import MINIMAL, encrypted, entry, link, lying, named, skill_md, zipped

SOUND = ("tool/SKILL.md", named("tool"))


async def install(user: Client, skill: str | bytes) -> Answer:
    """Install a skill from a text, or from the bytes of a zip."""
    if isinstance(skill, str):
        return await user.request("POST", "/api/skills/install", json={"content": skill})
    form = aiohttp.FormData()
    form.add_field("file", skill, filename="skill.zip", content_type="application/zip")
    return await user.request("POST", "/api/skills/install", data=form)


async def installed(user: Client) -> list[str]:
    return [skill["name"] for skill in (await user.request("GET", "/api/skills")).body["skills"]]


# the specification's own examples

PDF = "name: pdf-processing\ndescription: Extract PDF text, fill forms, merge files. Use when handling PDFs."
EXAMPLES = {
    "minimal": MINIMAL,
    "with optional fields": skill_md(f'{PDF}\nlicense: Apache-2.0\nmetadata:\n  author: example-org\n  version: "1.0"'),
    "name data-analysis": named("data-analysis"),
    "name code-review": named("code-review"),
    "license by file": skill_md(f"{PDF}\nlicense: Proprietary. LICENSE.txt has complete terms"),
    "compatibility": skill_md(f"{PDF}\ncompatibility: Requires git, docker, jq, and access to the internet"),
    "compatibility with a plus": skill_md(f"{PDF}\ncompatibility: Requires Python 3.14+ and uv"),
    "allowed-tools as a text": skill_md(f"{PDF}\nallowed-tools: Bash(git:*) Bash(jq:*) Read"),
    "allowed-tools as a list": skill_md(f"{PDF}\nallowed-tools:\n  - Bash(git:*)\n  - Bash(jq:*)\n  - Read"),
    "a folder with files": zipped(
        ("skill-name/", ""),
        ("skill-name/SKILL.md", MINIMAL),
        ("skill-name/scripts/extract.py", "print('hello')"),
        ("skill-name/references/REFERENCE.md", "# Reference"),
        ("skill-name/assets/table.csv", "a,b"),
    ),
    "the longest name": named("a" * 64),
    "the longest description": named("long", "d" * 1024),
    "other line ends": MINIMAL.replace("\n", "\r\n"),
    "a number that is a text": skill_md(f"{PDF}\nmetadata:\n  version: 1.0"),
    "packed on a Mac": zipped(SOUND, ("__MACOSX/tool/._SKILL.md", b"\x00\x05"), ("tool/.DS_Store", b"\x00")),
}


@pytest.mark.parametrize("example", EXAMPLES)
async def test_the_specification_s_examples_install(user: Client, example: str):
    answer = await install(user, EXAMPLES[example])
    assert answer.http == 201, answer.body
    assert await installed(user) == [answer.body["name"]]


# refusals, each with a part of its note

REFUSED: dict[str, tuple[str | bytes, str]] = {
    "no front matter": ("# A skill", "front matter"),
    "front matter not at the top": ("\n" + MINIMAL, "begin with a line"),
    "a byte order mark": ("\ufeff" + MINIMAL, "byte order mark"),
    "front matter that never ends": ("---\nname: tool\ndescription: Something\n", "no closing line"),
    "empty front matter": ("---\n---\nBody", "not a mapping"),
    "front matter that is a list": (skill_md("- name\n- description"), "not a mapping"),
    "front matter that is a text": (skill_md("just words"), "not a mapping"),
    "broken YAML": (skill_md("name: [tool\ndescription: Something"), "not YAML"),
    "a tab as indentation": (skill_md("name: tool\ndescription: d\nmetadata:\n\ta: b"), "not YAML"),
    "no name": (skill_md("description: Something"), "no name"),
    "an empty name": (skill_md("name:\ndescription: Something"), "name is empty"),
    "a name of null": (skill_md("name: ~\ndescription: Something"), "name is empty"),
    "a name that is a list": (skill_md("name: [a, b]\ndescription: Something"), "name is not a text"),
    "a name in capitals": (named("PDF-Processing"), "lower-case"),
    "a name that begins with a hyphen": (named("-pdf"), "begins or ends with a hyphen"),
    "a name that ends with a hyphen": (named("pdf-"), "begins or ends with a hyphen"),
    "a name with two hyphens in a row": (named("pdf--processing"), "two hyphens in a row"),
    "a name with an underscore": (named("pdf_processing"), "lower-case"),
    "a name with a space": (named("pdf processing"), "lower-case"),
    "a name with a path in it": (named("../../etc"), "lower-case"),
    "a name beyond ASCII": (named("straße"), "lower-case"),
    "a name of 65 characters": (named("a" * 65), "longer than 64"),
    "no description": (skill_md("name: tool"), "no description"),
    "an empty description": (skill_md('name: tool\ndescription: "  "'), "description is empty"),
    "a description of 1,025 characters": (named("tool", "d" * 1025), "longer than 1,024"),
    "a description that is a mapping": (skill_md("name: tool\ndescription: {a: b}"), "description is not a text"),
    "half a character": (skill_md('name: tool\ndescription: "a \\ud800 b"'), "no character"),
    "two halves in the wrong order": (skill_md('name: tool\ndescription: "\\ude00\\ud83d"'), "no character"),
    "half a character in metadata": (skill_md('name: tool\ndescription: d\nmetadata: {a: "\\ud83d"}'), "no character"),
    "half a character as a key": (skill_md('name: tool\ndescription: d\nmetadata: {"\\ud83d": b}'), "no character"),
    "half a character as a tool": (skill_md('name: tool\ndescription: d\nallowed-tools: ["\\ud83d"]'), "no character"),
    "an escape beyond Unicode": (skill_md('name: tool\ndescription: "\\U00110000"'), "no character"),
    "a number that no escape has": (skill_md('name: tool\ndescription: "\\UFFFFFFFF"'), "no character"),
    "control characters": (skill_md('name: tool\ndescription: "a \\x1b[31m b"'), "control characters"),
    "an unknown key": (skill_md("name: tool\ndescription: d\nversion: 1.0"), "unknown key 'version'"),
    "a key in another case": (skill_md("Name: tool\ndescription: d"), "unknown key 'Name'"),
    "a key twice": (skill_md("name: tool\nname: other\ndescription: d"), "twice"),
    "an empty compatibility": (skill_md("name: tool\ndescription: d\ncompatibility:"), "compatibility is empty"),
    "a compatibility of 501 characters": (
        skill_md(f"name: tool\ndescription: d\ncompatibility: {'c' * 501}"),
        "compatibility is longer than 500",
    ),
    "a license that is a list": (skill_md("name: tool\ndescription: d\nlicense: [MIT]"), "license is not a text"),
    "metadata that is a text": (skill_md("name: tool\ndescription: d\nmetadata: text"), "metadata is not a mapping"),
    "metadata within metadata": (skill_md("name: tool\ndescription: d\nmetadata: {a: {b: c}}"), "'a' is not a text"),
    "metadata without end": (
        skill_md("name: tool\ndescription: d\nmetadata:\n" + "\n".join(f"  k{n}: v" for n in range(33))),
        "more than 32 entries",
    ),
    "allowed-tools that is a mapping": (skill_md("name: tool\ndescription: d\nallowed-tools: {a: b}"), "allowed-tools"),
    "allowed-tools with a list in it": (skill_md("name: tool\ndescription: d\nallowed-tools: [[a]]"), "allowed-tools"),
    "an anchor and aliases": (skill_md("name: tool\ndescription: &d text\nlicense: *d"), "anchors"),
    "a billion laughs": (
        skill_md("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nname: tool\ndescription: d"),
        "anchors",
    ),
    "a Python object": (skill_md("name: tool\ndescription: !!python/object/apply:os.system ['id']"), "tags"),
    "a YAML tag": (skill_md("name: !!binary aGk=\ndescription: d"), "tags"),
    "a key that is a list": (skill_md("name: tool\n? [a, b]\n: c"), "key of the front matter"),
    "YAML nested without end": (skill_md("name: tool\ndescription: " + "[" * 5000), "nested too deeply"),
    "front matter without bounds": (skill_md("name: tool\ndescription: d\n#" + "c" * 20_000), "longer than 16,384"),
    "NUL in the text": (named("tool", body="a\x00b"), "NUL"),
    "no zip": (b"this is no zip archive", "not a sound zip"),
    "half a zip": (zipped(SOUND)[:-40], "not a sound zip"),
    "a wrong check sum": (zipped(SOUND, method=zipfile.ZIP_STORED).replace(b"Do it", b"Do xx"), "not a sound zip"),
    "an empty zip": (zipped(), "empty"),
    "a zip without SKILL.md": (zipped(("tool/README.md", "x")), "no SKILL.md"),
    "a zip with skill.md": (zipped(("tool/skill.md", named("tool"))), "no SKILL.md"),
    "SKILL.md in no folder": (zipped(("SKILL.md", named("tool"))), "not in a folder"),
    "SKILL.md a folder too deep": (zipped(("a/tool/SKILL.md", named("tool"))), "no SKILL.md"),
    "a folder of another name": (zipped(("other/SKILL.md", named("tool"))), "have to be equal"),
    "two folders": (zipped(SOUND, ("more/notes.md", "x")), "exactly one folder"),
    "SKILL.md that is not UTF-8": (zipped(("tool/SKILL.md", named("tool").encode() + b"\xff")), "not UTF-8"),
    "a path out of the archive": (zipped(SOUND, ("tool/../../evil", "x")), "leads out"),
    "a path that begins with ..": (zipped(SOUND, ("../evil", "x")), "leads out"),
    "an absolute path": (zipped(SOUND, ("/etc/evil", "x")), "absolute"),
    "a path with a drive": (zipped(SOUND, ("C:/evil", "x")), "absolute"),
    "a path with backslashes": (zipped(SOUND, ("tool\\..\\..\\evil", "x")), "not every system"),
    "a path with an empty part": (zipped(SOUND, ("tool//evil", "x")), "not every system"),
    "a path with control characters": (zipped(SOUND, ("tool/e\nvil", "x")), "not every system"),
    "a path that reads backwards": (zipped(SOUND, ("tool/\u202egpj.exe", "x")), "not every system"),
    "a path without end": (zipped(SOUND, ("tool/" + "a" * 300, "x")), "too long"),
    "folders without end": (zipped(SOUND, ("tool/" + "a/" * 20 + "x", "x")), "too deep"),
    "a symbolic link": (zipped(SOUND, (link("tool/passwd"), "/etc/passwd")), "is a link"),
    "SKILL.md as a link": (zipped((link("tool/SKILL.md"), "/etc/passwd")), "is a link"),
    "a device": (zipped(SOUND, (entry("tool/null", stat.S_IFCHR | 0o666), "")), "no plain file"),
    "a pipe": (zipped(SOUND, (entry("tool/pipe", stat.S_IFIFO | 0o666), "")), "no plain file"),
    "a file that runs as its owner": (zipped(SOUND, (entry("tool/su", stat.S_IFREG | 0o4755), "")), "no plain file"),
    "an encrypted file": (encrypted(zipped(SOUND)), "encrypted"),
    "an uncommon method": (zipped(SOUND, method=zipfile.ZIP_LZMA), "another method"),
    "the same path twice": (zipped(SOUND, ("tool/a", "x"), ("tool/A", "y")), "twice"),
    "too many entries": (zipped(SOUND, *((f"tool/{n}", "") for n in range(200))), "more than 128"),
    "a file without bounds": (zipped(SOUND, ("tool/big", bytes(600_000))), "unpacks to more"),
    "a bomb": (zipped(SOUND, ("tool/bomb", bytes(40_000_000))), "unpacks to more"),
    "a bomb that lies": (lying(zipped(("tool/SKILL.md", bytes(40_000_000))), 100), "not a sound zip"),
    "many small bombs": (zipped(SOUND, *((f"tool/{n}", bytes(60_000)) for n in range(100))), "unpacks to more"),
    "a folder with content": (zipped(SOUND, (entry("tool/sub/", stat.S_IFDIR | 0o755), "content")), "has content"),
}


def test_there_are_at_least_forty():
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("broken", REFUSED)
async def test_a_hostile_or_broken_skill_is_refused_and_told_why(user: Client, broken: str):
    skill, why = REFUSED[broken]
    answer = (await install(user, skill)).refused(1003, 400)
    assert answer.http == 400
    assert why in answer.note
    assert await installed(user) == []


# the routes


async def test_escapes_of_both_halves_of_a_character_are_that_character(user: Client):
    skill = skill_md('name: tool\ndescription: "Party \\ud83d\\ude00"\nmetadata: {"\\ud83d\\ude00": "\\U0001F600"}')
    body = (await install(user, skill)).body
    assert (body["description"], body["metadata"]) == ("Party 😀", {"😀": "😀"})
    assert (await user.request("GET", "/api/skills")).body["skills"] == [body]


async def test_a_skill_shows_what_it_is(user: Client):
    front = (
        "name: tool\ndescription: Does it.\nlicense: MIT\ncompatibility: Needs git\nmetadata: {author: ada}\n"
        "allowed-tools: Read Bash(git:*)"
    )
    answer = await install(user, zipped(("tool/SKILL.md", skill_md(front)), ("tool/references/a.md", "x")))
    skill = answer.body
    assert skill.pop("installed_at")
    assert skill == {
        "name": "tool",
        "description": "Does it.",
        "license": "MIT",
        "compatibility": "Needs git",
        "metadata": {"author": "ada"},
        "allowed_tools": ["Read", "Bash(git:*)"],
        "files": ["references/a.md"],
    }
    (listed,) = (await user.request("GET", "/api/skills")).body["skills"]
    assert listed.pop("installed_at")
    assert listed == skill


@pytest.mark.parametrize("name", ["meeting-notes", "release-checklist"])
async def test_the_catalog_s_skills_install_by_name(user: Client, name: str):
    answer = await user.request("POST", "/api/skills/install", json={"name": name})
    assert (answer.http, answer.body["name"]) == (201, name)


async def test_a_catalog_gives_nothing_but_sound_skills(tmp_path: Path):
    catalog = tmp_path / "skills"
    for name in ("sound", "linked", "mismatched"):
        (catalog / name).mkdir(parents=True)
        (catalog / name / "SKILL.md").write_text(named(name if name != "mismatched" else "other"))
    (catalog / "linked" / "passwd").symlink_to("/etc/passwd")
    (catalog / "elsewhere").symlink_to(catalog / "sound")
    async with running(tmp_path / "data", PARLEY_SKILLS_DIR=str(catalog)) as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        for name, http in {"sound": 201, "linked": 400, "mismatched": 400, "elsewhere": 404, "none": 404}.items():
            answer = await user.request("POST", "/api/skills/install", json={"name": name})
            assert answer.http == http, answer.body
        assert await installed(user) == ["sound"]


async def test_an_unknown_skill_of_the_catalog_is_3000_and_a_path_is_no_name(user: Client):
    for name, (code, http) in {"no-such": (3000, 404), "../skills": (1003, 400), "/etc": (1003, 400)}.items():
        answer = await user.request("POST", "/api/skills/install", json={"name": name})
        assert answer.refused(code, http).http == http


@pytest.mark.parametrize(
    ("body", "code", "http"),
    [
        ({}, 1002, 400),
        ({"name": None, "content": None}, 1002, 400),
        ({"name": " ", "content": ""}, 1002, 400),
        ({"name": "a", "content": MINIMAL}, 1003, 400),
        ({"name": 7}, 1003, 400),
        ({"content": ["x"]}, 1003, 400),
    ],
)
async def test_an_installation_names_one_skill(user: Client, body: dict[str, object], code: int, http: int):
    (await user.request("POST", "/api/skills/install", json=body)).refused(code, http)


async def test_an_installation_without_a_body_lacks_a_name(user: Client):
    answer = await user.request("POST", "/api/skills/install", headers={"Content-Type": "application/json"})
    answer.refused(1002, 400)
    assert answer.note.startswith("missing name field")
    answer = await user.request("POST", "/api/skills/install", headers={"Content-Type": "text/plain"})
    answer.refused(1008, 415)


async def test_a_multipart_body_needs_one_file(user: Client):
    form = aiohttp.FormData()
    form.add_field("other", b"x", filename="x.zip")
    (await user.request("POST", "/api/skills/install", data=form)).refused(1002, 400)
    form.add_field("file", zipped(SOUND), filename="x.zip")
    answer = (await user.request("POST", "/api/skills/install", data=form)).refused(1003, 400)
    assert "other" in answer.note
    assert await installed(user) == []
    twice = aiohttp.FormData()
    for _ in range(2):
        twice.add_field("file", zipped(SOUND), filename="x.zip")
    (await user.request("POST", "/api/skills/install", data=twice)).refused(1003, 400)
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"--x\r\n\xff\r\n\r\n--x--", b"--x\r\nno colon\r\n\r\nbody\r\n--x--\r\n", b""):
        answer = await user.request("POST", "/api/skills/install", data=body, headers=headers)
        assert answer.http == 400, answer.body
    (await user.request("POST", "/api/skills/install", data=b"x", headers={"Content-Type": "text/plain"})).refused(
        1008, 415
    )


async def test_a_name_installs_once_until_it_is_removed(user: Client):
    assert (await install(user, named("tool"))).http == 201
    assert (await install(user, named("tool"))).refused(3001, 409).http == 409
    assert (await user.request("DELETE", "/api/skills/tool")).http == 204
    assert (await user.request("DELETE", "/api/skills/tool")).refused(3000, 404).http == 404
    assert (await install(user, named("tool"))).http == 201


async def test_a_repeat_with_the_same_key_installs_once(user: Client):
    key = {"Idempotency-Key": "tool-1"}
    for body in ({"content": named("tool")}, {"content": named("tool")}):
        answer = await user.request("POST", "/api/skills/install", json=body, headers=key)
        assert (answer.http, answer.body["name"]) == (201, "tool")
    assert answer.headers["Idempotency-Replayed"] == "true"
    other = {"content": named("other")}
    (await user.request("POST", "/api/skills/install", json=other, headers=key)).refused(3002, 409)


async def test_skills_belong_to_their_user(user: Client, sanic_client: Client, unique: str):
    other = await sanic_client.register(f"{unique}-other")
    assert (await install(user, named("tool"))).http == 201
    assert await installed(other) == []
    assert (await other.request("DELETE", "/api/skills/tool")).http == 404
    assert (await install(other, named("tool"))).http == 201
    assert await installed(user) == ["tool"]


async def test_skills_outlive_a_crash_and_go_with_their_user(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data) as gateway:
        async with gateway.client() as client:
            user = await client.register("ada-lovelace")
            assert (await install(user, zipped(SOUND, ("tool/a.md", "x")))).http == 201
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("ada-lovelace")
            assert await installed(user) == ["tool"]
            (await user.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
            user = await client.register("ada-lovelace")
            assert await installed(user) == []
            assert (await install(user, named("tool"))).http == 201
