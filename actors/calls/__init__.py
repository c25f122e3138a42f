"""Calls: one request on its way through the core, from its credential to the context of its answer."""
