"""The gateway conforms to its OpenAPI document for all requests of schemathesis."""

import asyncio
import os
import re
from pathlib import Path

import pytest

from tests.support.gateway import BUS, CHECKOUT, INTERNAL_SECRET, running

SCHEMATHESIS = CHECKOUT / ".venv-schemathesis" / "bin" / "schemathesis"
CONFIG = Path(__file__).with_name("schemathesis.toml")
OPTIONS = (
    # Positive data is often refused, because no agent has a made-up name.
    *("--exclude-checks", "positive_data_acceptance"),
    # answers without end, which test_zone_streams.py, test_event_stream.py, test_debug_stream.py and
    # test_console_watch.py read
    *("--exclude-path-regex", "/((zone|webhooks|debug)/stream|console/watch)$"),
    *("--seed", "1"),
    *("--warnings", "off"),
    "--no-color",
)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("phases", "examples", "coverage_step"),
    [
        ("examples,coverage,stateful", 2, 10),
        pytest.param("examples,coverage,fuzzing,stateful", 20, 1, marks=pytest.mark.soak),
    ],
)
async def test_schemathesis_finds_no_answer_that_the_document_does_not_allow(
    tmp_path: Path, phases: str, examples: int, coverage_step: int
):
    if not SCHEMATHESIS.exists():
        missing = "no .venv-schemathesis: `make test` makes it"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    async with running(
        tmp_path / "data",
        PARLEY_TRUSTED_PROXIES="127.0.0.1",
        PARLEY_DEFAULT_PLAN="enterprise",
        DEV_MOCKS_ENABLED="true",
    ) as gateway:
        process = await asyncio.create_subprocess_exec(
            *(str(SCHEMATHESIS), "--config-file", str(CONFIG), "run", f"{gateway.base}/api/tps/openapi.json", *OPTIONS),
            *("--phases", phases, "--max-examples", str(examples)),
            *("-H", f"X-Internal-Secret: {INTERNAL_SECRET}"),
            env=os.environ
            | {
                "SCHEMATHESIS_HOOKS": "hooks",
                "PYTHONPATH": str(Path(__file__).parent),
                "FUZZED_BUS": gateway.base + BUS,
                "COVERAGE_STEP": str(coverage_step),
            },
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await process.communicate())[0].decode()
        assert process.returncode == 0, said[said.find("= FAILURES =") :]
        assert re.search(r"Tested: (\d+)", said), said
        # The phases are useful only while it is logged on.
        log = gateway.log.read_text()
        for service in ("AP_Create", "AP_List", "US_Update"):
            assert re.search(rf" 200 0 {service} ", log), f"{service} never succeeded"
