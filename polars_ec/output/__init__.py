"""Words and numbers for readers, SQL for dialects, files written whole."""
