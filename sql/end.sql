-- The last macro: where there is a version, all macros are there.
CREATE OR REPLACE MACRO ec.version() AS '0.2.0';
COMMENT ON MACRO ec.version IS 'Version of these macros: ''0.2.0''';
-- A stamp of the macros as they are written here, by which ec.register finds that it need not write them. A type holds it, for a
-- macro cannot hold what a query counted.
CREATE OR REPLACE TYPE ec._stamp AS ENUM (
    SELECT concat_ws('-', '$bundle', count(*),
        bit_xor(hash(function_name, parameters, parameter_types, macro_definition, comment)))
    FROM duckdb_functions() WHERE (database_name, schema_name) IN ((current_database(), 'ec'), ('ec', 'main')));
COMMIT;
