"""The generator of the Python client's records, services and synchronous half."""
