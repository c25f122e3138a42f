"""Benchmarks of the gateway on this machine: `python -m bench`, or `make bench`."""
