"""PARLEY_LOG_FORMAT=json: every line of both streams is one JSON object in all cases."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import GatewayProcess, ran_apart, running
from tests.support.wire import connected, send_raw

MEMBERS = {"time", "level", "logger"}


def lines_of(log: Path) -> list[dict[str, Any]]:
    """Return the objects of a log; every line must be one."""
    lines = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    assert all(line.keys() >= MEMBERS for line in lines), lines
    return lines


async def refusal(folder: Path, *arguments: str, **settings: Any) -> dict[str, Any]:
    """Run a refused start; return its one line on stderr."""
    status, out, err = await ran_apart(folder, *arguments, **settings)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    return orjson.loads(line)


async def stopped(gateway: GatewayProcess) -> list[dict[str, Any]]:
    assert await gateway.stop() == 0
    return lines_of(gateway.log)


async def test_start_requests_and_stop_are_json(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_LOG_FORMAT="json") as gateway:
        async with gateway.client() as nobody:
            user = await nobody.register("lovelace")
            (await user.command("US_Read")).ok()
            await nobody.request("GET", "/no/such/path")
        await send_raw(gateway.base, b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n")
        lines = await stopped(gateway)
    assert lines[0]["message"].startswith("Parley ")
    assert f"listens on {gateway.base}\n" in lines[0]["message"]
    assert "US_Read" in [line.get("what") for line in lines]
    assert lines[-1]["message"] == "Parley has stopped."


async def test_what_libraries_warnings_threads_and_tasks_say_is_json(tmp_path: Path):
    async with running(tmp_path / "data", script=ENGINES / "noisy.py", PARLEY_LOG_FORMAT="json") as gateway:
        async with connected(gateway.base) as (_, writer):
            writer.write(b"half a requ")
        lines = await stopped(gateway)
    by_logger = {line["logger"]: line for line in lines}
    assert by_logger["py.warnings"]["message"].count("a warning of Python's\n") == 1
    assert "RuntimeError: nobody retrieves this" in by_logger["asyncio"]["exception"]
    assert by_logger["sanic.error"]["message"] == "Sanic's own logger"
    assert by_logger["odd"]["message"] == "undecodable \\udcff and %d too few"
    assert by_logger["odd.arguments"]["message"] == "%d"
    caught = [line for line in lines if line["logger"] == "parley" and "exception" in line]
    assert sorted(line["exception"].splitlines()[-1] for line in caught) == [
        "RuntimeError: in a finalizer",
        "RuntimeError: in a thread",
    ]


async def test_a_fault_that_ends_the_process_is_one_line_of_json(tmp_path: Path):
    settings = {"PARLEY_LOG_FORMAT": "json", "TEST_FAILS": "1"}
    gateway = GatewayProcess(tmp_path / "data", script=ENGINES / "noisy.py", **settings)
    with pytest.raises(AssertionError, match="the gateway ended with 1"):
        await gateway.start()
    (line,) = lines_of(gateway.log)
    assert (line["level"], line["exception"].splitlines()[-1]) == ("critical", "RuntimeError: unforeseen")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"PARLEY_PORT": "eighty"}, "PARLEY_PORT is 'eighty'"),
        ({"PARLEY_PORT": "eighty", "PARLEY_BRANT": "x"}, "PARLEY_BRANT is unknown"),
        ({"PARLEY_HOST": "192.0.2.99", "PARLEY_PORT": "0"}, "Parley can't listen on 192.0.2.99:0"),
    ],
)
async def test_a_start_that_is_refused_is_one_line_of_json(tmp_path: Path, settings: dict[str, str], said: str):
    line = await refusal(tmp_path, PARLEY_LOG_FORMAT="json", PARLEY_DATA_DIR=str(tmp_path / "data"), **settings)
    assert line["level"] == "error"
    assert said in line["message"]


async def test_the_format_of_the_settings_file_holds_for_errors_in_it(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text('log_format = "json"\nport = "eighty"\n')
    line = await refusal(tmp_path, PARLEY_CONFIG=str(file))
    assert line["message"].startswith("Parley can't start, settings are wrong:\nport in ")


async def test_an_unknown_argument_is_one_line_of_json(tmp_path: Path):
    line = await refusal(tmp_path, "--prot", PARLEY_LOG_FORMAT="json")
    assert "unrecognized arguments: --prot" in line["message"]
