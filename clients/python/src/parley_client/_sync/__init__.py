# Made by `make client` from parley_client/_async: don't edit.
"""The synchronous client."""
