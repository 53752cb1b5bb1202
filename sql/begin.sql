-- polars_ec for DuckDB: expected cost, proper scoring rules, calibrated metrics as macros in schema ec. The file polars_ec.sql is
-- made of begin, rows, counts, decisions, scoring_rules, sketch, ranking, calibration, ece, quantiles, intervals, report, end and of the signatures of the Python
-- functions (`make sql`): from these come defaults, most comments, and overloads for BOOLEAN. It may be loaded again.
-- One transaction: a client that goes on after an error, on an older DuckDB say, is left with what it had before.
BEGIN TRANSACTION;
SELECT CASE WHEN TRY_CAST(regexp_extract(library_version, '^v?(\d+)\.', 1) AS INTEGER) < 2
            THEN error('polars_ec needs DuckDB 2.0 or later, but this is ' || library_version || ': nothing was installed (run ROLLBACK to continue)')
            ELSE library_version END AS duckdb FROM pragma_version();
CREATE SCHEMA IF NOT EXISTS ec;
