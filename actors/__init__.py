"""The core: actors that own their state, and the flows of the commands over them."""
