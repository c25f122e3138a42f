"""Text: languages, tokens, and the text of documents."""
