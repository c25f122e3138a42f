"""The asynchronous client; parley_client/_sync is made from it."""
