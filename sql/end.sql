-- Last, so that whoever finds the version finds all.
CREATE OR REPLACE MACRO ec.version() AS '0.2.0';
COMMENT ON MACRO ec.version IS 'Version of these macros: ''0.2.0''';
COMMIT;
