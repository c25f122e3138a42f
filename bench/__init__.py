"""Measurements of the gateway on the machine at hand: `python -m bench`, or `make bench`."""
