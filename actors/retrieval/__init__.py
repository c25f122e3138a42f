"""Retrieval: indexes of texts by their terms, in memory and in the store, and the ranking that they share."""
