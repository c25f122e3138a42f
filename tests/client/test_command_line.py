"""`parley` as a process: what it prints, and its exit status."""

import asyncio
import json
import multiprocessing
import stat
import sys
import threading
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.version import VERSION
from parley_client import AsyncParley, NoConnection
from parley_client import Parley as SyncParley
from parley_client.cli import profiles
from parley_client.cli.main import app
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.gateway import INTERNAL_SECRET, GatewayProcess
from tests.support.receiver import raw_server
from tests.support.terminal import END_OF_INPUT, on_a_terminal


@pytest.fixture
def parley(tmp_path: Path, gateway: GatewayProcess) -> CommandLine:
    return CommandLine(tmp_path, gateway.base)


async def test_three_commands_lead_to_a_streamed_chat(parley: CommandLine, tmp_path: Path) -> None:
    assert (await parley("login", "meitner", "--register")).status == 0
    (kept,) = tmp_path.rglob("profiles.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    made = await parley("agents", "create", "lise", "--description", "Knows atoms", "--profile", "Uranium splits.")
    assert made.status == 0
    said = await parley("chat", "lise", "Does uranium split?")
    assert (said.status, "Uranium splits." in said.out) == (0, True)
    assert "[lise: agt_" in said.err

    piped, listed, doctor = await asyncio.gather(
        parley("chat", "lise", "--json", stdin="Two\nlines"),
        parley("agents", "list", "--json"),
        parley("doctor", "--json"),
    )
    assert [message["role"] for message in piped.records] == ["agent"]
    assert [agent["name"] for agent in listed.records] == ["lise"]
    assert doctor.records[0]["user"]["name"] == "meitner"

    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "atoms.md").write_text("An atom has a nucleus.", encoding="utf-8")
    refused = await parley("banks", "load", "no-such-bank", str(notes), "--agent", "lise")
    assert (refused.status, refused.err.partition(":")[0]) == (13, "3000")
    unsure, wrong, nobody, gone = await asyncio.gather(
        parley("banks", "censor", "no-such-bank", "atoms.md", stdin="n\n"),
        parley("agents", "lst"),
        parley("agents", "list", PARLEY_API_KEY="plk_wrong"),
        parley("doctor", PARLEY_URL="http://127.0.0.1:9"),
    )
    assert unsure.status == 1  # the question was answered with no
    assert (wrong.status, wrong.out) == (2, "")
    assert (nobody.status, nobody.err.partition(":")[0]) == (12, "2001")
    assert (gone.status, gone.out, gone.err.partition(":")[0]) == (3, "", "No connection")
    assert "Is the gateway running, and is this its address" in " ".join(gone.err.split())


@pytest.mark.parametrize("config_home", ["", "settings"])
async def test_a_config_home_that_is_no_absolute_path_counts_as_unset(
    parley: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unique: str, config_home: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    login = ("login", f"{unique}-user", "--register")
    ran = await parley.inside(*login, XDG_CONFIG_HOME=config_home)
    assert (ran.status, list((tmp_path / "here").iterdir())) == (0, []), ran.err
    assert (tmp_path / ".config" / "parley" / "profiles.json").is_file()


@pytest.mark.parametrize(
    "kept",
    ["{", "", "[]", "\udcff", '{"default": "plk_x"}', '{"default": {"url": 1}}', '{"default": {"key": ["plk_x"]}}'],
)
async def test_a_broken_file_of_profiles_is_named_with_what_to_do(
    parley: CommandLine, tmp_path: Path, kept: str
) -> None:
    file = tmp_path / "parley" / "profiles.json"
    file.parent.mkdir()
    file.write_text(kept, encoding="utf-8", errors="surrogateescape")
    ran = await parley("agents", "list")
    told = f"{file} doesn't hold profiles; delete it, and log on again with `parley login USER`\n"
    assert (ran.status, ran.out, ran.err) == (2, "", told)
    file.unlink()
    assert (await parley("login", "nobody-yet")).status == 12  # and not 2


async def test_a_session_that_can_t_be_kept_is_said(parley: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "parley").write_text("A file where the folder should be")
    ran = await parley("login", "bohr", "--register")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(str(tmp_path / "parley"))
    (tmp_path / "parley").unlink()
    ran = await parley("login", "bohr", "--register", XDG_CONFIG_HOME="/proc")  # where nobody makes a folder
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("/proc/parley/profiles.json can't be written")
    assert (await parley("login", "bohr", "--register")).status == 0  # nobody was made before


def _keep(gate: Barrier, number: int) -> None:
    gate.wait()
    for each in range(5):
        profiles.write(f"{number}-{each}", profiles.Profile("http://127.0.0.1:9", "plk_x"))


def test_profiles_that_are_written_at_once_are_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    forks = multiprocessing.get_context("fork")
    gate = forks.Barrier(6)
    writers = [forks.Process(target=_keep, args=(gate, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 6
    assert sorted(profiles.names("")) == sorted(f"{number}-{each}" for number in range(6) for each in range(5))
    assert [path.name for path in (tmp_path / "parley").iterdir()] == ["profiles.json"]


async def test_a_chat_with_nothing_to_say_is_wrong_usage_whoever_is_named(parley: CommandLine) -> None:
    assert (await parley("login", "avogadro", "--register")).status == 0
    for ran in (
        await parley("chat", "nobody-there", "--create"),
        await parley("chat", "nobody-there", stdin=" \n\n"),
        await parley("chat", "nobody-there", " "),
    ):
        assert (ran.status, ran.out, "there is nothing to say" in ran.err) == (2, "", True)
    assert (await parley("agents", "list", "--json")).records == []


@pytest.mark.parametrize("argument", [["\udcff"], []])
async def test_a_text_that_is_not_utf_8_is_wrong_usage(parley: CommandLine, argument: list[str]) -> None:
    ran = await parley("chat", "anybody", *argument, stdin=b"a\xff", PARLEY_API_KEY="plk_x")
    assert (ran.status, ran.out, ran.err) == (2, "", "The text is not valid UTF-8.\n")


async def test_a_password_comes_by_a_pipe_and_is_missed_where_there_is_none(parley: CommandLine) -> None:
    assert (await parley("login", "dalton", "--register")).status == 0
    piped, none = (
        await parley("login", "dalton", "--json", stdin=f"{PASSWORD}\n", PARLEY_PASSWORD=""),
        await parley("login", "dalton", PARLEY_PASSWORD=""),
    )
    assert (piped.status, piped.err, len(piped.records)) == (0, "", 1)
    assert (none.status, none.out, "set PARLEY_PASSWORD" in none.err) == (2, "", True)


async def test_a_password_is_asked_for_beside_the_output(parley: CommandLine, tmp_path: Path) -> None:
    assert (await parley("login", "proust", "--register")).status == 0
    out = tmp_path / "out"
    login = f"{sys.executable} -m parley_client login proust --json > {out}"
    environment = {name: value for name, value in parley.environment.items() if name != "PARLEY_PASSWORD"}
    ended, shown = await asyncio.to_thread(
        on_a_terminal, ("sh", "-c", login), [("Password: ", f"{PASSWORD}\n")], environment
    )
    assert ended == 0, shown
    assert json.loads(out.read_text(encoding="utf-8"))["current"] is True


async def test_a_new_password_is_asked_for_twice(parley: CommandLine, gateway: GatewayProcess, unique: str) -> None:
    login = (sys.executable, "-m", "parley_client", "login", f"{unique}-user", "--register")
    environment = {name: value for name, value in parley.environment.items() if name != "PARLEY_PASSWORD"}
    first, again = "Password: ", "Password again: "
    typed = [
        (first, "correct horse batery\n"),
        (again, f"{PASSWORD}\n"),
        (first, f"{PASSWORD}\n"),
        (again, f"{PASSWORD}\n"),
    ]
    ended, shown = await asyncio.to_thread(on_a_terminal, login, typed, environment)
    assert (ended, "type the same one twice" in shown) == (0, True), shown
    async with AsyncParley(gateway.base) as client:
        await client.log_on(f"{unique}-user", PASSWORD)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("admin users role zed-user king", "Invalid value for 'role': 'king' is not one of"),
        (
            "domains create hall --agent scout --description Big --access nonsense",
            "Invalid value for '--access': 'nonsense' is not one of",
        ),
    ],
)
async def test_a_value_that_is_no_choice_is_told_in_plain_words(parley: CommandLine, command: str, wrong: str) -> None:
    ran = await parley(*command.split())
    assert (ran.status, ran.out, wrong in ran.err) == (2, "", True), ran.err


@pytest.mark.parametrize(
    ("profile", "login"), [((), "parley login USER"), (("--profile", "sea"), "parley --profile sea login USER")]
)
async def test_an_ended_session_is_told_of_with_the_command_that_begins_another(
    parley: CommandLine, unique: str, profile: tuple[str, ...], login: str
) -> None:
    assert (await parley(*profile, "login", f"{unique}-user", "--register")).status == 0
    with SyncParley(parley.environment["PARLEY_URL"]) as client:
        client.log_on(f"{unique}-user", PASSWORD)
        client.users.revoke("all")
    ran = await parley(*profile, "agents", "list")
    assert (ran.status, ran.out, ran.err[:5]) == (12, "", "2001:")
    assert f"Log on with `{login}`" in ran.err


async def test_a_key_that_wins_over_the_session_is_told_of_where_it_is_refused(
    parley: CommandLine, unique: str
) -> None:
    told = "PARLEY_API_KEY was sent, which wins over the session"
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    assert (await parley("agents", "list", PARLEY_API_KEY=" ")).status == 0  # one that is blank does not
    (made,) = (await parley("keys", "create", "reader", "--read-only", "--json")).records
    for key, code in ((made["key"], "2003:"), ("plk_wrong", "2001:")):
        refused = await parley("keys", "list", PARLEY_API_KEY=key)
        assert (refused.status, refused.err[:5], told in refused.err) == (12, code, True)
        assert "Log on with" not in refused.err
    again = await parley("login", f"{unique}-user", PARLEY_API_KEY=made["key"])
    assert (again.status, "PARLEY_API_KEY is set, and wins over this session" in again.err) == (0, True)


@pytest.mark.parametrize(
    ("command", "helps"), [("zones list none", "domains list"), ("banks recall none x", "banks list")]
)
async def test_a_refusal_names_commands_of_parley_in_place_of_services(
    parley: CommandLine, unique: str, command: str, helps: str
) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    ran = await parley(*command.split())
    assert ran.status == 13
    assert ran.err.endswith(f"that you may see; check the name with `parley {helps}`.\n")


async def test_a_wrong_internal_secret_asks_nobody_to_log_on(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    for arguments in (("admin", "users", "list"), ("top", "--once")):
        ran = await parley(*arguments, PARLEY_INTERNAL_SECRET="wrong", PARLEY_API_KEY="plk_wrong")
        assert (ran.status, ran.err) == (
            12,
            "2001: X-Internal-Secret is wrong; send the INTERNAL_SECRET of this gateway.\n",
        )


async def test_another_address_and_another_brand_are_told_of(parley: CommandLine) -> None:
    async def not_found(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nGone")
        await writer.drain()

    async with raw_server(not_found) as port:
        elsewhere = await parley("--url", f"http://127.0.0.1:{port}", "doctor")
    told = f"http://127.0.0.1:{port}/api/health: HTTP 404 came without a status of Parley's"
    assert (elsewhere.status, elsewhere.out, told in elsewhere.err) == (1, "", True)
    brand = await parley("--brand", "Acme", "agents", "list")
    assert (brand.status, brand.err[:5], brand.err.splitlines()[1][:25]) == (11, "1006:", "Check --url and --brand; ")


@pytest.mark.parametrize(
    ("hangs", "said"), [pytest.param(True, "timed out", marks=pytest.mark.soak), (False, "disconnected")]
)
async def test_doctor_asks_once(parley: CommandLine, hangs: bool, said: str) -> None:
    asked: list[bytes] = []

    async def no_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if hangs:
            await reader.read()
        writer.close()

    async with raw_server(no_answer) as port:
        ran = await parley("--url", f"http://127.0.0.1:{port}", "doctor")
    assert (ran.status, ran.out, ran.err.partition(":")[0]) == (3, "", "No connection")
    assert said in ran.err
    assert ".." not in ran.err
    assert len(asked) == 1


async def test_doctor_waits_for_no_answer_that_trickles(parley: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley_client.cli.doctor.LONGEST_S", 0.5)

    async def trickles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.1)

    async with raw_server(trickles) as port, asyncio.timeout(60):
        command = ("--url", f"http://127.0.0.1:{port}", "doctor")
        ran = await asyncio.to_thread(CliRunner().invoke, app, command, env=parley.environment)
    assert isinstance(ran.exception, NoConnection)
    assert "no whole answer came in 0.5 seconds" in str(ran.exception)


async def test_an_endless_pipe_is_refused(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    for command, end in (
        (f"chat {unique}-agent --create", (11, "1003: Invalid value of content")),
        (f"login {unique}-user", (11, "1003: Invalid value of vx.secret")),
        (f"banks censor {unique}-bank atoms", (1, "Erase the text of 'atoms'")),
    ):
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", f"tr '\\0' x < /dev/zero | {sys.executable} -m parley_client {command}"),
            env=parley.environment | {"PARLEY_PASSWORD": ""},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await process.communicate()
        assert (process.returncode, err.decode()[: len(end[1])]) == end


@pytest.mark.parametrize(("key", "code"), [("", "2000:"), ("plk_wrong", "2001:")])
async def test_doctor_tells_of_the_gateway_where_the_credential_is_at_fault(
    parley: CommandLine, key: str, code: str
) -> None:
    ran = await parley("doctor", PARLEY_API_KEY=key)
    assert (ran.status, ran.out, ran.err[:5]) == (12, "", code)
    told = f"The gateway itself answers: {parley.environment['PARLEY_URL']} is Parley {VERSION}, ok."
    assert ran.err.splitlines()[-1] == told


async def test_a_table_in_a_pipe_has_a_line_for_each_record_however_long(parley: CommandLine) -> None:
    del parley.environment["COLUMNS"]
    assert (await parley("login", "hugo", "--register")).status == 0
    description = "An agent with a long description, " * 8 + 7_000 * "長"  # which is two columns wide
    made = await parley("agents", "create", "valjean", "--description", description)
    header, line = made.out.splitlines()
    assert (made.status, header.split()) == (0, ["name", "state", "description"])
    assert line.split(maxsplit=2) == ["valjean", "online", description]


async def test_a_text_of_several_lines_is_on_one_in_a_pipe(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    created = ("agents", "create", f"{unique}-agent", "--description", "One\r\ntwo\n\nthree")
    for made in (await parley(*created), await parley("agents", "list")):
        header, line = made.out.splitlines()
        assert header.split()[-1] == "description"
        assert line.rstrip().endswith("One␊two␊␊three")


async def test_what_is_shown_once_is_whole_in_a_pipe_and_on_a_narrow_terminal(parley: CommandLine) -> None:
    environment = {name: value for name, value in parley.environment.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    parley.environment = environment
    assert (await parley("login", "dumas", "--register")).status == 0
    url = "http://127.0.0.1:9/a-path-that-is-not-short"
    made = await parley("webhooks", "endpoints", "create", url)
    endpoint, shown_url, secret = made.out.splitlines()[1].split()
    assert (len(endpoint), shown_url, len(secret)) == (36, url, len("whsec_") + 44)
    rotate = (sys.executable, "-m", "parley_client", "webhooks", "endpoints", "rotate", endpoint)
    status, shown = await asyncio.to_thread(on_a_terminal, rotate, [], environment)
    assert (status, shown.splitlines()[1].split()[:2]) == (0, [endpoint, url])
    assert len(shown.splitlines()[1].split()[2]) == len("whsec_") + 44
    await parley("webhooks", "test")
    listing = (sys.executable, "-m", "parley_client", "webhooks", "deliveries", "list")
    status, shown = await asyncio.to_thread(on_a_terminal, listing, [], environment)
    assert (status, shown.splitlines()[1].split()[3]) == (0, endpoint)


async def test_an_output_that_can_t_be_written_is_said_without_a_traceback(parley: CommandLine) -> None:
    assert (await parley("login", "verne", "--register")).status == 0
    for command in ("agents list", "doctor --json"):
        full = ("sh", "-c", f"{sys.executable} -m parley_client {command} > /dev/full")
        status, shown = await asyncio.to_thread(on_a_terminal, full, [], parley.environment)
        assert (status, shown.splitlines()) == (1, ["The output can't be written: No space left on device."])


async def test_a_profile_that_is_missing_is_told_of_where_it_would_count(parley: CommandLine) -> None:
    told = "There is no profile work yet; `parley --profile work login USER` makes it.\n"
    without = await parley("--profile", "work", "agents", "list")
    assert (without.status, without.err.startswith(told + "2000:")) == (12, True)
    assert (await parley("--profile", "work", "agents", "list", PARLEY_API_KEY="plk_wrong")).err[:5] == "2001:"
    made = await parley("--profile", "work", "login", "volta", "--register")
    assert (made.status, "There is no profile" in made.err) == (0, False)
    assert (await parley("--profile", "work", "agents", "list")).err == ""


async def test_the_version_is_shown(parley: CommandLine) -> None:
    ran = await parley("--version")
    assert (ran.status, ran.out) == (0, f"parley {VERSION}\n")


async def test_an_internal_secret_that_no_header_takes_is_said(parley: CommandLine) -> None:
    ran = await parley("top", PARLEY_INTERNAL_SECRET="two\nlines")
    assert (ran.status, ran.out, "INTERNAL_SECRET, whole and alone" in ran.err) == (2, "", True)
    assert "lines" not in ran.err


async def test_a_chat_creates_its_agent_where_it_is_told_to(parley: CommandLine, gateway: GatewayProcess) -> None:
    assert (await parley("login", "mendeleev", "--register")).status == 0
    knows = ("--profile", "Gallium melts in the hand.")
    unknown, useless, said = (
        await parley("chat", "dmitri", "Hello"),
        await parley("chat", "dmitri", "Hello", *knows),
        await parley("chat", "dmitri", "Does gallium melt?", "--create", *knows),
    )
    assert (unknown.status, unknown.err[:5]) == (13, "3000:")  # no terminal, no question
    assert (useless.status, "add --create" in useless.err) == (2, True)
    assert (said.status, "Gallium melts in the hand." in said.out) == (0, True)
    async with AsyncParley(gateway.base) as client:
        await client.log_on("mendeleev", PASSWORD)
        await client.agents.log_off("dmitri")
        assert (await parley("chat", "dmitri", "Hello")).err[:5] == "3002:"
        again = await parley("chat", "dmitri", "Does gallium melt?", "--create", "--profile", "It does not.")
        assert (again.status, "Gallium melts in the hand." in again.out) == (0, True)
        assert "There is an agent dmitri already; --profile changes nothing." in again.err
        assert [agent.name async for agent in client.agents.list()] == ["dmitri"]


@pytest.mark.parametrize(("answer", "status"), [("\n", 0), ("y\n", 0), ("n\n", 13), (END_OF_INPUT, 13)])
async def test_a_chat_on_a_terminal_asks_before_it_creates_an_agent(
    parley: CommandLine, unique: str, answer: str, status: int
) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    chat = (sys.executable, "-m", "parley_client", "chat", f"{unique}-agent")
    typed = [("Create it? [Y/n] ", answer), ("> ", END_OF_INPUT)]
    ended, shown = await asyncio.to_thread(on_a_terminal, chat, typed, parley.environment | {"TERM": "xterm"})
    assert ended == status, shown
    assert f"There is no agent {unique}-agent. Create it? [Y/n] " in shown
    listed = await parley("agents", "list", "--json")
    assert [agent["state"] for agent in listed.records] == (["online"] if status == 0 else [])


def test_each_group_of_commands_does_what_it_says(
    gateway: GatewayProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PARLEY_PASSWORD", PASSWORD)
    notes = tmp_path / "notes"
    (notes / "sky").mkdir(parents=True)
    (notes / "sky" / "moon.md").write_text("The Moon is 384,400 km away.", encoding="utf-8")
    runner = CliRunner()

    def run(*arguments: str, stdin: str = "") -> str:
        ran = runner.invoke(app, ["--url", gateway.base, *arguments], input=stdin)
        assert ran.exit_code == 0, (arguments, ran.output, ran.exception)
        return ran.stdout

    run("login", "hahn", "--register")
    run("agents", "create", "otto", "--description", "Finds things")
    key = json.loads(run("keys", "create", "script", "--days", "2", "--json"))
    assert key["id"] in run("keys", "list")
    assert json.loads(run("keys", "revoke", key["id"], "--json")) == {"id": key["id"]}
    assert key["id"] not in run("keys", "list")

    with SyncParley(gateway.base) as client:
        client.log_on("hahn", PASSWORD)
        client.banks.create(name="notes", agent="otto")
        client.domains.create("lab", "Works", agent="otto")
        client.zones.post("Saturn is up.", domain="lab")
        assert (
            json.loads(run("banks", "load", "notes", str(notes), "--agent", "otto", "--json"))["name"] == "sky/moon.md"
        )
        assert "384,400" in run("banks", "recall", "notes", "How far is the Moon?")
        assert "notes" in run("banks", "list")
        censored = run("banks", "censor", "notes", "sky/moon.md", "--json", stdin="y\n")  # the runner echoes the answer
        assert json.loads(censored.splitlines()[-1]) == {"memories": 1}
        assert "lab" in run("domains", "list")
        assert "lobby" in run("zones", "list", "lab")
        client.agents.chat("Hello", agent="otto")
        assert "cnv_" in run("conversations", "list", "--agent", "otto")
        closing = threading.Timer(0.5, client.domains.destroy, ("lab",))
        closing.start()
        assert "hahn: Saturn is up." in run("zones", "follow", "lab", "--after", "0")
        closing.join()


async def test_a_key_is_restricted_to_what_its_options_name(parley: CommandLine, unique: str) -> None:
    assert (await parley("login", f"{unique}-user", "--register")).status == 0
    agents = [f"{unique}-{name}" for name in ("one", "two", "three")]
    for agent in agents:
        assert (await parley("agents", "create", agent, "--description", "Answers")).status == 0
    bank, domain = f"{unique}-bank", f"{unique}-domain"
    assert (await parley("banks", "create", bank, "--agent", agents[0])).status == 0
    assert (await parley("domains", "create", domain, "--agent", agents[0], "--description", "Big")).status == 0
    only = ("--service", "AP_*,CV_List", "--agent", agents[0], "--agent", agents[1], "--bank", bank, "--domain", domain)
    (made,) = (await parley("keys", "create", "site", *only, "--json")).records
    assert made["scopes"] | {"read_only": None, "admin": None} == {
        "services": ["AP_*", "CV_List"],
        "agents": agents[:2],
        "banks": [bank],
        "domains": [domain],
        "read_only": None,
        "admin": None,
    }
    seen = await parley("agents", "list", "--json", PARLEY_API_KEY=made["key"])
    assert sorted(agent["name"] for agent in seen.records) == sorted(agents[:2])
    assert (await parley("banks", "list", PARLEY_API_KEY=made["key"])).err[:5] == "2003:"
    (none,) = (await parley("keys", "create", "bare", "--bank", "", "--json")).records
    assert (none["scopes"]["banks"], none["scopes"]["agents"]) == ([], None)


async def test_what_only_reads_works_with_a_read_only_key(parley: CommandLine, gateway: GatewayProcess) -> None:
    assert (await parley("login", "franklin", "--register")).status == 0
    (made,) = (await parley("keys", "create", "reader", "--read-only", "--limit", "500", "--json")).records
    assert (made["scopes"]["read_only"], made["limit"]) == (True, 500)
    async with AsyncParley(gateway.base, internal_secret=INTERNAL_SECRET) as client:
        await client.log_on("franklin", PASSWORD)
        await client.agents.create("rosalind", "Finds things")
        await client.agents.log_on("rosalind")
        await client.agents.chat("Hello", agent="rosalind")
        await client.domains.create("photos", "Of crystals", agent="rosalind")
        await client.zones.post("Number 51 is here.", domain="photos")
        await client.banks.create(name="crystals", agent="rosalind")
        await client.banks.load("crystals", "shape", content="It is a helix.", agent="rosalind")
        await client.admin.set_role("franklin", "auditor")
        watcher = (await client.keys.create("watcher", scopes={"read_only": True, "admin": True})).key

    async def reads(*arguments: str) -> None:
        ran = await parley.inside(*arguments, "--json", PARLEY_API_KEY=made["key"])
        assert (ran.status, ran.err) == (0, ""), arguments
        assert ran.records, arguments

    for arguments in (
        ("agents", "list"),
        ("conversations", "list"),
        ("domains", "list"),
        ("zones", "list", "photos"),
        ("banks", "list"),
        ("banks", "recall", "crystals", "What shape?"),
        ("webhooks", "listen", "--print-secret"),
        ("doctor",),
    ):
        await reads(*arguments)
    for arguments in (("webhooks", "endpoints", "list"), ("webhooks", "deliveries", "list")):
        assert (await parley.inside(*arguments, PARLEY_API_KEY=made["key"])).status == 0
    async with parley.going("zones", "follow", "photos", "--after", "0", PARLEY_API_KEY=made["key"]) as following:
        await following.printed("franklin: Number 51 is here.")
    for arguments in (("top", "--once"), ("admin", "users", "show", "franklin"), ("admin", "audit", "--limit", "1")):
        assert (await parley.inside(*arguments, PARLEY_API_KEY=watcher)).status == 0
    refused = await parley("chat", "rosalind", "Hello", PARLEY_API_KEY=made["key"])
    assert (refused.status, refused.err[:5]) == (12, "2003:")
