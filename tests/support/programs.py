"""Programs of Debian's packages that tests run."""

import os
import shutil
from unittest import SkipTest


def installed(name: str, missing: type[SkipTest]) -> str:
    """Return the path of a program, which is in the package of its name; without it a test is skipped, or fails in CI.

    Raises:
        SkipTest: there is none; `missing` is raised.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is not None:
        return found
    note = f"no {name} on this machine: install it (Debian: apt-get install {name})"
    if os.environ.get("CI"):
        raise AssertionError(note)
    raise missing(note)
