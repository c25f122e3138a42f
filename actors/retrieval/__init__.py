"""Retrieval: which texts of a collection match a question, how well, and whether they answer it."""
