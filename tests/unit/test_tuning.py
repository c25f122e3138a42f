"""The effects of config/tuning.py, tested in a fresh process because they are permanent."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.skipif(not Path("/proc/self/timerslack_ns").exists(), reason="only Linux has it")
def test_threads_of_the_gateway_wait_for_the_interpreter_no_longer_than_they_ask_for() -> None:
    script = """
import ctypes, sys, threading
from config import tuning

PR_GET_TIMERSLACK = 30
tuning.tune()
switch_us = round(sys.getswitchinterval() * 1e6)
thread = threading.Thread(target=lambda: print(switch_us, ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK)))
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["10", "1000"]


def test_tuning_needs_no_linux() -> None:
    script = """
from pathlib import Path
from config import tuning

tuning.TIMER_SLACK = Path("/nowhere/timerslack_ns")
tuning.tune()
print("tuned")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "tuned\n"
