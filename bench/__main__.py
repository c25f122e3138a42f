"""Run benchmarks: `python -m bench [NAME]`, where NAME is one of BENCHES, of MORE, or `all`.

The exit status is 0 whether or not the marks are met, and 1 if a measurement failed (a refused request, a lost row).
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from bench import activation, actors, cluster, doors, http, large, logon, quota, store, streams, watched, webhooks
from bench.report import BenchError, describe_machine

BENCHES = ("http", "streams", "quota", "logon", "actors", "activation")
"""The benchmarks of `all`."""

MORE = ("webhooks", "doors", "watched", "store", "cluster")
"""The others: `webhooks` takes more than a minute, `store` needs PostgreSQL, and `cluster` NATS, too."""


def main() -> int:
    """Parse the command line and run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the gateway on this machine.")
    parser.add_argument("bench", nargs="?", choices=(*BENCHES, *MORE, "all"), default="all")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="length of each timed run (default: 5); of streams' twice that"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the HTTP, store and asks benches (default: 3)")
    parser.add_argument("--agents", type=int, default=100_000, help="actors and stored agents (default: 100000)")
    chosen = parser.parse_args()
    if chosen.seconds <= 0 or chosen.rounds < 1 or chosen.agents < 1_000:
        parser.error("--seconds and --rounds must be positive, --agents at least 1000")
    signal.signal(signal.SIGTERM, _terminated)
    describe_machine()
    try:
        for bench in BENCHES if chosen.bench == "all" else (chosen.bench,):
            match bench:
                case "http":
                    http.measure(chosen.seconds, chosen.rounds)
                    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
                        large.measure(Path(folder), chosen.seconds, chosen.rounds)
                case "streams":
                    streams.measure(2 * chosen.seconds)
                case "quota":
                    quota.measure(chosen.seconds / 2, 5 * chosen.rounds)
                case "logon":
                    logon.measure(100 * chosen.rounds)
                case "actors":
                    actors.measure(chosen.seconds, chosen.rounds, chosen.agents)
                case "webhooks":
                    webhooks.measure(chosen.seconds, chosen.rounds)
                case "doors":
                    doors.measure(chosen.seconds, chosen.rounds)
                case "watched":
                    watched.measure(chosen.seconds, 4 * chosen.rounds)
                case "store":
                    store.measure(chosen.seconds, chosen.rounds)
                case "cluster":
                    cluster.measure(chosen.seconds, chosen.rounds)
                case _:
                    activation.measure(chosen.agents)
    except BenchError as error:
        print(f"\nThe bench failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    return 0


def _terminated(_number: int, _frame: object) -> None:
    sys.exit(143)  # raises an exception, so that the servers are stopped


if __name__ == "__main__":
    sys.exit(main())
