-- polars_ec for DuckDB: expected cost, proper scoring rules, calibrated metrics as macros in schema ec. The file polars_ec.sql is
-- made of begin, rows, counts, decisions, scoring_rules, sketch, ranking, calibration, ece, quantiles, intervals, report, end and of the signatures of the Python
-- functions (`make sql`): from these come defaults, most comments, and overloads for BOOLEAN. It may be loaded again.
-- One transaction: a client that goes on after an error, on an older DuckDB say, is left with what it had before.
BEGIN TRANSACTION;
SELECT CASE WHEN TRY_CAST(string_split(regexp_extract(library_version, '\d+\.\d+\.\d+'), '.') AS INTEGER[]) < $lowest
            THEN error('$needs, but this is ' || library_version || ': nothing was installed (run ROLLBACK to continue)')
            ELSE library_version END AS duckdb FROM pragma_version();
-- Before 1.3 DuckDB cannot parse a lambda, and before 1.4 not the type of a parameter: if a client passes the whole file at once, its
-- message has this name.
CREATE TEMP MACRO _ec_guard(x) AS list_transform([x], lambda "polars_ec needs DuckDB 1.4.2 or later": x);
CREATE TEMP TYPE "polars_ec needs DuckDB 1.4.2 or later" AS INTEGER;
CREATE OR REPLACE TEMP MACRO _ec_guard(x "polars_ec needs DuckDB 1.4.2 or later") AS x;
DROP MACRO _ec_guard;
DROP TYPE "polars_ec needs DuckDB 1.4.2 or later";
CREATE SCHEMA IF NOT EXISTS ec;
