"""`parley`, the gateway on the command line."""
