"""Public functions on logs and sketches, and the namespaces `ec`."""
