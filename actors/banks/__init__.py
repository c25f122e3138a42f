"""Memory banks: memories, attachments, offers and recall."""
