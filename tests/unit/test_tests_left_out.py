"""Tests that `.ci/run` leaves out on a slow machine (docs/testing.md)."""

import os
import subprocess
import sys

from tests.support.gateway import CHECKOUT


def test_a_test_that_would_begin_too_late_is_left_out_and_told_of():
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/unit/test_slices.py"]
    env = os.environ | {"TESTS_BEGIN_UNTIL": "0"}
    told = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=True).stdout
    assert "left out, because this machine is slow" in told
    assert " passed" not in told
