"""A gateway whose engine `openai` takes TEST_IMPORT_S seconds to import, as on a busy machine."""

import os
import sys
import time
from importlib.machinery import ModuleSpec

from tests.gateways.parts import serve

ENGINE = "actors.engines.openai.engine"


class Slow:
    """Finds no module, and takes its time for the engine's."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name == ENGINE:
            time.sleep(float(os.environ["TEST_IMPORT_S"]))
        return None


if __name__ == "__main__":
    sys.modules.pop(ENGINE, None)  # the process that this one is forked from may have it
    sys.meta_path.insert(0, Slow())
    serve()
