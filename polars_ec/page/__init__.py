"""The report page: its contents, from rows or a sketch, its sentences and its layout."""
