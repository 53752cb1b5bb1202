-- polars_ec for DuckDB, file 8 of 9: folds of cross-validation, and calibrated posteriors. Load after ranking.

-- Folds ---------------------------------------------------------------------------------------------------------------

-- Integers stay below 2^63 at every step; larger keys come as their remainders. The prime is the largest below 2^32.
CREATE OR REPLACE MACRO ec._shifted_xor(x) AS xor(x, x >> 16);
CREATE OR REPLACE MACRO ec._mix(x) AS (ec._shifted_xor(x) * 73244475) & 4294967295;
CREATE OR REPLACE MACRO ec._hash_of_number(x) AS
    ec._shifted_xor(ec._mix(ec._mix((x % 4294967291 + 4294967291) % 4294967291)));

-- Code points as the digits of a number, after a leading 1.
CREATE OR REPLACE MACRO ec._number_of_text(t) AS
    list_reduce(list_transform(string_split(t, ''), lambda _c: CAST(unicode(_c) AS BIGINT)),
                lambda _n, _c: (_n * 1000003 + _c) % 4294967291, CAST(1 AS BIGINT));

CREATE OR REPLACE MACRO ec._is_text(key) AS typeof(key) = 'VARCHAR' OR starts_with(typeof(key), 'ENUM(');
CREATE OR REPLACE MACRO ec._number_of_key(key) AS
    CASE WHEN ec._is_text(key)
         THEN CASE WHEN CAST(key AS VARCHAR) = '' THEN 1 ELSE ec._number_of_text(CAST(key AS VARCHAR)) END
         WHEN typeof(key) IN ('UBIGINT', 'UHUGEINT') THEN CAST(TRY_CAST(key AS UHUGEINT) % 4294967291 AS BIGINT)
         WHEN typeof(key) = 'HUGEINT' THEN CAST(TRY_CAST(key AS HUGEINT) % 4294967291 AS BIGINT)
         ELSE TRY_CAST(key AS BIGINT) END;
CREATE OR REPLACE MACRO ec._hash_of_key(key) AS coalesce(ec._hash_of_number(ec._number_of_key(key)), 0);
-- True, or an error; apart, because no error may stand in the ORDER BY of a window.
CREATE OR REPLACE MACRO ec._key_ok(key) AS
    CASE WHEN ec._is_text(key)
              OR typeof(key) IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER',
                                 'UBIGINT', 'UHUGEINT', '"NULL"')
         THEN true
         ELSE error('ec: folds are by integers or strings, not ' || typeof(key)) IS NULL END;

CREATE OR REPLACE MACRO ec._folds(folds) AS
    CASE WHEN TRY_CAST(folds AS INTEGER) = folds AND folds BETWEEN 2 AND 127 THEN CAST(folds AS INTEGER)
         ELSE CAST(error('ec: folds is a whole number in 2..127, not ' || coalesce(CAST(folds AS VARCHAR), 'NULL')) AS INTEGER) END;

CREATE OR REPLACE MACRO ec.fold(key, folds) AS
    CASE WHEN ec._key_ok(key) THEN CAST(ec._hash_of_key(key) % ec._folds(folds) AS TINYINT) END;
COMMENT ON MACRO ec.fold IS 'Fold of cross-validation, 0 .. folds - 1, by a hash of an integer or string key: all rows of a key are in one';
CREATE OR REPLACE MACRO ec.stratified_fold(key, within, folds) AS
    CASE WHEN ec._key_ok(key)
         THEN CAST(dense_rank() OVER (PARTITION BY within ORDER BY ec._hash_of_key(key)) % ec._folds(folds) AS TINYINT) END;
COMMENT ON MACRO ec.stratified_fold IS 'Fold of cross-validation, 0 .. folds - 1: the folds of each stratum differ by at most one key in size';

-- Calibrated posteriors -----------------------------------------------------------------------------------------------

-- An LLR is calibrated as log-odds are.
CREATE OR REPLACE MACRO ec._calibrated_type(score_type) AS
    CASE WHEN score_type = 'llr' THEN 'log_odds' ELSE score_type END;
CREATE OR REPLACE MACRO ec._affine(x, alpha, beta) AS
    CASE WHEN isfinite(alpha) AND isfinite(beta) AND x IS NOT NULL
         THEN ec._sigmoid(CASE WHEN alpha = 0 THEN beta ELSE alpha * x + beta END) END;

CREATE OR REPLACE MACRO ec._parameter(x) AS
    CASE WHEN typeof(x) = 'BOOLEAN' THEN ec._fail('alpha and beta are numbers, not ' || CAST(x AS VARCHAR)) ELSE CAST(x AS DOUBLE) END;
CREATE OR REPLACE MACRO ec.affine(score DOUBLE, alpha, beta, score_type) AS
    ec._affine(ec._row_log_odds(score, ec._calibrated_type(score_type), NULL), ec._parameter(alpha), ec._parameter(beta)),
(score DOUBLE[], alpha, beta, score_type) AS
    ec._affine(ec._row_log_odds(ec._pair(score, score_type), ec._calibrated_type(ec._pair_type(score_type)), NULL),
               ec._parameter(alpha), ec._parameter(beta));
