"""A gateway of another version: TEST_VERSION, TEST_PROTOCOL, and the migrations in the folder TEST_MIGRATIONS."""

import os
from pathlib import Path

import actors.node
import server
from persistence.postgres import migrate
from tests.gateways.parts import serve

if __name__ == "__main__":
    server.VERSION = os.environ["TEST_VERSION"]  # pyright: ignore[reportPrivateImportUsage]
    actors.node.PROTOCOL = int(os.environ["TEST_PROTOCOL"])
    migrate.MIGRATIONS = Path(os.environ["TEST_MIGRATIONS"])
    serve()
