"""The DuckDB macros, and queries for other warehouses."""
