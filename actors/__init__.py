"""The core: actors that own their state, and the commands above them."""
