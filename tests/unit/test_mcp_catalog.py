"""The operator's catalog of tool servers: its contents, and its errors, which stop the start."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actors.tools.stdio import INHERITED, KEEPER
from config.mcp_catalog import CatalogError, load_catalog
from config.settings import load_settings
from config.values import CHECKOUT


def load(path: Path, text: str):
    path.write_text(text, encoding="utf-8")
    return load_catalog(load_settings({"PARLEY_MCP_CATALOG": str(path)}))


def test_the_catalog_that_comes_with_parley_has_no_entry_and_the_default_bounds():
    catalog = load_catalog(load_settings({}))
    assert catalog.servers == {}
    assert (catalog.limits.processes, catalog.limits.processes_per_user) == (32, 4)
    assert (catalog.limits.connect_timeout_s, catalog.limits.call_timeout_s) == (20, 60)


def test_its_comment_on_env_names_what_a_process_inherits():
    text = (CHECKOUT / "config/mcp-catalog.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^# env .*beside (.*) \(", text, re.MULTILINE)
    assert tuple(re.split(", | and ", line)) == INHERITED


def test_the_examples_in_its_comments_are_entries(tmp_path: Path):
    text = (CHECKOUT / "config/mcp-catalog.toml").read_text(encoding="utf-8")
    _, _, examples = text.partition("# servers that every user may run here.\n#\n")
    uncommented = "\n".join(line.removeprefix("#").removeprefix(" ") for line in examples.splitlines())
    runnable = uncommented.replace("uvx", sys.executable).replace("/opt/tools/bin/mcp-server-git", sys.executable)
    catalog = load(tmp_path / "catalog.toml", runnable.replace("/srv/handbook", str(tmp_path)))
    assert catalog.servers.keys() == {"time", "handbook"}
    assert catalog.servers["handbook"].env == {"GIT_OPTIONAL_LOCKS": "0"}


def test_a_default_that_is_not_there_is_empty_but_one_that_was_named_must_be(tmp_path: Path):
    with pytest.raises(CatalogError, match="PARLEY_MCP_CATALOG is"):
        load_catalog(load_settings({"PARLEY_MCP_CATALOG": str(tmp_path / "none.toml")}))
    with pytest.raises(CatalogError, match=r"PARLEY_MCP_CATALOG is '.*' \(Is a directory\); name a readable TOML file"):
        load_catalog(load_settings({"PARLEY_MCP_CATALOG": str(tmp_path)}))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("servers = 7", "servers"),
        ("[servers.time]", "servers.time.command"),
        ("[servers.time]\ncommand = []", "servers.time.command"),
        ('[servers.time]\ncommand = "python -m time"', "servers.time.command"),
        ('[servers.time]\ncommand = ["/no/such/program"]', "no program that can be run"),
        ('[servers.time]\ncommand = ["true"]\nshell = true', "servers.time.shell"),
        ('[servers.time]\ncommand = ["true"]\ncwd = "/no/such/folder"', "servers.time.cwd"),
        ('[servers.time]\ncommand = ["true"]\nenv = {A = 1}', "servers.time.env.A"),
        ('[servers.time]\ncommand = ["true"]\nenv = {"A=B" = "1"}', "servers.time.env in .*'A=B' can't be"),
        ('[servers.time]\ncommand = ["true"]\nenv = {"" = "1"}', "servers.time.env in .*'' can't be"),
        ('[servers.time]\ncommand = ["true"]\nenv = {"A\\u0000" = "1"}', "servers.time.env in .* can't be"),
        ('[servers.time]\ncommand = ["true"]\nenv = {A = "1\\u0000"}', "the value of A has a NUL"),
        (
            '[servers.time]\ncommand = ["true"]\nenv = {PATH = "/no/such/folder"}',
            "'true' is no program that can be run",
        ),
        ('[servers."with.dot"]\ncommand = ["true"]', "can't be a name"),
        ('[servers.parley]\ncommand = ["true"]', "built in"),
        ("[limits]\nprocesses = 0", "limits.processes"),
        ("[limits]\ncall_timeout_s = 1000", "limits.call_timeout_s"),
        ("[limit]\nprocesses = 1", "limit"),
        ("not toml", "not toml|Expected|Invalid"),
        ("\x00", "readable TOML"),
    ],
)
def test_what_is_wrong_in_it_is_named(tmp_path: Path, text: str, named: str):
    with pytest.raises(CatalogError, match=named):
        load(tmp_path / "catalog.toml", text)


@pytest.mark.parametrize(
    "entry",
    [
        'command = ["./run.sh"]\ncwd = "FOLDER"',
        'command = ["FOLDER/run.sh"]\ncwd = "/"',
        'command = ["run.sh"]\nenv = {PATH = "/no/such/folder:FOLDER"}',
        'command = ["run.sh"]\ncwd = "FOLDER"\nenv = {PATH = "."}',
        'command = ["run.sh"]\ncwd = "FOLDER/.."\nenv = {PATH = "FOLDER_NAME:/bin"}',
    ],
)
def test_a_program_is_found_as_the_started_process_finds_it(tmp_path: Path, entry: str):
    program = tmp_path / "run.sh"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    entry = entry.replace("FOLDER_NAME", tmp_path.name).replace("FOLDER", str(tmp_path))
    started = load(tmp_path / "catalog.toml", f"[servers.time]\n{entry}").servers["time"]
    env = {"PATH": os.environ["PATH"]} | started.env
    keeper = [sys.executable, str(KEEPER), str(os.getpid()), *started.command]
    ended = subprocess.run(keeper, cwd=started.cwd, env=env, stdin=subprocess.DEVNULL, timeout=30, check=False)
    assert ended.returncode == 0


def test_secrets_of_an_entry_are_not_shown(tmp_path: Path):
    catalog = load(tmp_path / "catalog.toml", '[servers.time]\ncommand = ["true"]\nenv = {TOKEN = "sk-secret"}')
    assert "sk-secret" not in repr(catalog)
    with pytest.raises(CatalogError) as wrong:
        load(tmp_path / "catalog.toml", '[servers.time]\ncommand = ["true"]\nenv = "sk-secret"')
    assert "sk-secret" not in str(wrong.value)
