"""Text: tokens, ranking by BM25, and the text of documents."""
