"""Runs A2A's Technology Compatibility Kit against a gateway of its own, and prints its report.

    python -m tests.a2a_kit.run KIT PYTHON [--engine] [pytest's arguments ...]

KIT is a checkout of the branch 1.0-dev of https://github.com/a2aproject/a2a-tck, PYTHON an interpreter that has the
kit's packages; with `--engine` the gateway has the engine that knows the kit's prefixes. `make a2a-kit` calls it.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.gateways.gate import ENGINES
from tests.support.gateway import PLAIN, running

FOLDER = Path(__file__).resolve().parent


async def run(kit: Path, python: Path, *arguments: str, with_engine: bool) -> int:
    """Start a gateway with a public agent, run the kit against it, and return the kit's exit status."""
    script = ENGINES / "a2a_kit.py" if with_engine else PLAIN
    with tempfile.TemporaryDirectory() as folder:
        settings = {"PARLEY_WEBHOOKS_ALLOW_INSECURE": "true", "PARLEY_DEFAULT_PLAN": "enterprise"}
        async with running(Path(folder) / "data", script=script, **settings) as gateway, gateway.client() as client:
            user = await client.register("lovelace")
            await user.agent("scout", access="public")
            host = f"--sut-host={client.base}/a2a/scout"
            command = [str(python), "-m", "pytest", "tests/compatibility", host, "-p", "parley_kit", *arguments]
            environment = os.environ | {"PARLEY_KIT_CREDENTIAL": user.token or "", "PYTHONPATH": str(FOLDER)}
            if with_engine:
                environment["PARLEY_KIT_PREFIXES"] = "yes"
            kit_run = await asyncio.create_subprocess_exec(*command, cwd=kit, env=environment)
            return await kit_run.wait()


def main() -> int:
    """Read the command line and run the kit."""
    parser = argparse.ArgumentParser(description="Run A2A's compatibility kit against a gateway.")
    parser.add_argument("kit", type=Path)
    parser.add_argument("python", type=Path)
    parser.add_argument("--engine", action="store_true", help="with the engine that knows the kit's prefixes")
    parsed, arguments = parser.parse_known_args()
    return asyncio.run(run(parsed.kit, parsed.python.absolute(), *arguments, with_engine=parsed.engine))


if __name__ == "__main__":
    sys.exit(main())
