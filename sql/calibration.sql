-- polars_ec for DuckDB, file 8 of 12: buckets and folds of keys, and calibrated posteriors. Load after ranking.

-- Buckets and folds ---------------------------------------------------------------------------------------------------

-- MurmurHash3 of 32 bits, as Apache Iceberg has it. Words and hashes are UBIGINT below 2^32, so that no product overflows.
-- An argument that stands twice is worked out once, but not within a CASE or a lambda: hence few of these, and the product
-- with 2^32 + 1, which puts a word beside itself, so that a shift rotates it.
CREATE OR REPLACE MACRO ec._word(x) AS (x) & 4294967295;
CREATE OR REPLACE MACRO ec._rotated(x, bits) AS ec._word((x * 4294967297) >> CAST(32 - bits AS UBIGINT));
CREATE OR REPLACE MACRO ec._scrambled(word) AS ec._word(ec._rotated(ec._word(word * 3432918353), 15) * 461845907);
-- `whole` is 1, or 0 for the last word of a text, which may have less than four bytes.
CREATE OR REPLACE MACRO ec._with_word(hash, word, whole) AS
    ec._word(ec._rotated(xor(hash, ec._scrambled(word)), 13 * whole) * CAST(1 + 4 * whole AS UBIGINT)
             + CAST(3864292196 * whole AS UBIGINT));
CREATE OR REPLACE MACRO ec._shifted_xor(x, bits) AS xor(x, x >> bits);
CREATE OR REPLACE MACRO ec._mix_first(x) AS ec._word(ec._shifted_xor(x, 16) * 2246822507);
CREATE OR REPLACE MACRO ec._mix_second(x) AS ec._word(ec._shifted_xor(x, 13) * 3266489909);

-- `x` stands eight times here, so it must be short; and once in the other, which takes longer.
CREATE OR REPLACE MACRO ec._mixed(x) AS ec._shifted_xor(ec._mix_second(ec._mix_first(x)), 16);
CREATE OR REPLACE MACRO ec._mixed_once(x) AS
    list_transform([list_transform([list_transform([x],
        lambda _x: ec._mix_first(_x))[1]], lambda _x: ec._mix_second(_x))[1]], lambda _x: ec._shifted_xor(_x, 16))[1];

CREATE OR REPLACE MACRO ec._unmixed_words(low, high) AS
    xor(ec._with_word(ec._with_word(CAST(0 AS UBIGINT), low, 1), high, 1), 8);
CREATE OR REPLACE MACRO ec._unmixed_number(x) AS
    ec._unmixed_words(CAST(ec._word(x) AS UBIGINT), CAST(ec._word(x >> 32) AS UBIGINT));

-- Texts are cut by the number of their bytes: first pairs of words, as many as make a multiple of 16 bytes; then what is left,
-- as one number of 128 bits, with zeros after it. The first byte of a word is its lowest, and the highest of the number.
CREATE OR REPLACE MACRO ec._bytes_reversed(word) AS
    (((word * 4294967297) >> 8) & 4278255360) | (((word * 4294967297) >> 24) & 16711935);
CREATE OR REPLACE MACRO ec._with_pair(hash, pair, first_whole, second_whole) AS
    ec._with_word(ec._with_word(hash, ec._bytes_reversed(pair >> 32), first_whole), ec._bytes_reversed(ec._word(pair)), second_whole);
CREATE OR REPLACE MACRO ec._whole_pairs(bytes, n) AS
    CASE WHEN n < 16 THEN CAST(0 AS UBIGINT)
         ELSE list_reduce(
             list_transform(range(0, n - (n & 15), 8), lambda _i: CAST(CAST(bytes[_i + 1:_i + 8] AS BIT) AS UBIGINT)),
             lambda _hash, _pair: ec._with_pair(_hash, _pair, 1, 1),
             CAST(0 AS UBIGINT)) END;
CREATE OR REPLACE MACRO ec._bytes_left(bytes, n) AS
    CASE WHEN n & 15 = 0 THEN '\x00'::BLOB WHEN n < 16 THEN bytes ELSE bytes[n - (n & 15) + 1:n] END;
CREATE OR REPLACE MACRO ec._number_left(bytes, n) AS
    CAST(CAST(ec._bytes_left(bytes, n) AS BIT) AS UHUGEINT) << CAST(128 - 8 * (n & 15) AS UHUGEINT);
CREATE OR REPLACE MACRO ec._with_left(hash, number, n) AS
    ec._with_pair(
        ec._with_pair(hash, CAST(number >> 64 AS UBIGINT), CAST(n > 3 AS UBIGINT), CAST(n > 7 AS UBIGINT)),
        CAST(number & 18446744073709551615 AS UBIGINT), CAST(n > 11 AS UBIGINT), CAST(0 AS UBIGINT));
CREATE OR REPLACE MACRO ec._unmixed_bytes(bytes, n) AS
    xor(ec._with_left(ec._whole_pairs(bytes, n), ec._number_left(bytes, n), n & 15), CAST(n AS UBIGINT));
CREATE OR REPLACE MACRO ec._unmixed_text(t) AS ec._word(ec._unmixed_bytes(encode(t), strlen(t)));

-- Microseconds, rounded down; casts round to the nearest.
CREATE OR REPLACE MACRO ec._micros(nanos) AS nanos // 1000 - CAST(nanos % 1000 < 0 AS BIGINT);
-- A number that needs more than 64 bits goes by its digits.
CREATE OR REPLACE MACRO ec._unmixed_wide(key) AS
    CASE WHEN TRY_CAST(key AS HUGEINT) BETWEEN -9223372036854775808 AND 18446744073709551615
         THEN ec._unmixed_number(TRY_CAST(key AS HUGEINT))
         ELSE ec._unmixed_text(CAST(key AS VARCHAR)) END;
CREATE OR REPLACE MACRO ec._number_of_key(key) AS
    CASE typeof(key)
         WHEN 'BOOLEAN' THEN TRY_CAST(key AS BIGINT)
         WHEN 'DATE' THEN TRY_CAST(key AS DATE) - DATE '1970-01-01'
         WHEN 'TIME' THEN epoch_us(TRY_CAST(key AS TIME))
         WHEN 'TIME_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIME_NS)))
         WHEN 'TIMESTAMP_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIMESTAMP_NS)))
         WHEN 'TIMESTAMPTZ_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIMESTAMPTZ_NS)))
         WHEN 'TIMESTAMP WITH TIME ZONE' THEN epoch_us(TRY_CAST(key AS TIMESTAMPTZ))
         WHEN 'INTERVAL' THEN epoch_us(TRY_CAST(key AS INTERVAL))
         ELSE epoch_us(TRY_CAST(key AS TIMESTAMP)) END;
-- Of keys that are neither strings nor integers of up to 64 bits with a sign.
CREATE OR REPLACE MACRO ec._unmixed_key(key) AS
    CASE WHEN typeof(key) = 'UBIGINT' THEN ec._unmixed_number(TRY_CAST(key AS UBIGINT))
         WHEN typeof(key) IN ('HUGEINT', 'UHUGEINT') THEN ec._unmixed_wide(key)
         ELSE ec._unmixed_number(ec._number_of_key(key)) END;
-- True, or an error; apart, because no error may stand in the ORDER BY of a window.
CREATE OR REPLACE MACRO ec._key_ok(key) AS
    CASE WHEN typeof(key) IN ('UBIGINT', 'HUGEINT', 'UHUGEINT', 'BOOLEAN', 'DATE', 'TIME', 'TIME_NS', 'TIMESTAMP',
                              'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS',
                              'INTERVAL')
         THEN true
         ELSE error('ec: buckets are of integers, strings, dates and times, not ' || typeof(key) || ': cast the key') IS NULL END;

-- 31 bits.
CREATE OR REPLACE MACRO ec._hash_of_text(t) AS ec._mixed_once(ec._unmixed_text(t)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_integer(x) AS ec._mixed(ec._unmixed_number(x)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_key(key) AS ec._mixed_once(ec._unmixed_key(key)) & 2147483647;

-- `kind` is the key again, for the overloads: an alias of the same SELECT, an aggregate and the parameter of another macro have no type
-- yet when the macro is expanded, and more than one overload would match them. They end up under "NULL", with the text for any type.
CREATE OR REPLACE MACRO ec._goes_by_text(type) AS type IN ('VARCHAR', 'JSON') OR starts_with(type, 'ENUM(');
CREATE OR REPLACE MACRO ec._goes_by_number(type) AS
    type IN ('BIGINT', 'INTEGER', 'SMALLINT', 'TINYINT', 'UINTEGER', 'USMALLINT', 'UTINYINT', 'INTEGER_LITERAL', '"NULL"');
CREATE OR REPLACE MACRO ec._hash_of_type(kind BIGINT, key) AS ec._hash_of_integer(CAST(key AS BIGINT)), (kind, key) AS ec._hash_of_key(key);
CREATE OR REPLACE MACRO ec._hash_of_kind(kind VARCHAR, key) AS ec._hash_of_text(CAST(key AS VARCHAR)), (kind, key) AS ec._hash_of_type(key, key);
CREATE OR REPLACE MACRO ec._hash(kind "NULL", key) AS
    CASE WHEN ec._goes_by_text(typeof(key)) THEN ec._hash_of_text(TRY_CAST(key AS VARCHAR))
         WHEN ec._goes_by_number(typeof(key)) THEN ec._hash_of_integer(TRY_CAST(key AS BIGINT))
         ELSE ec._hash_of_key(key) END,
(kind, key) AS ec._hash_of_kind(key, key);
CREATE OR REPLACE MACRO ec._kind_ok(key) AS ec._goes_by_text(typeof(key)) OR ec._goes_by_number(typeof(key)) OR ec._key_ok(key);
-- The same, or an error; no CASE around a text or an integer, where an argument that stands twice is worked out twice. (Without the 0
-- the optimizer would see NULL either way, where the key is nothing that has a hash, and drop the error.)
CREATE OR REPLACE MACRO ec._sure_hash_of_type(kind BIGINT, key) AS ec._hash_of_integer(CAST(key AS BIGINT)),
(kind, key) AS CASE WHEN ec._key_ok(key) THEN ec._hash_of_key(key) ELSE 0 END;
CREATE OR REPLACE MACRO ec._sure_hash_of_kind(kind VARCHAR, key) AS ec._hash_of_text(CAST(key AS VARCHAR)),
(kind, key) AS ec._sure_hash_of_type(key, key);
CREATE OR REPLACE MACRO ec._sure_hash(kind "NULL", key) AS CASE WHEN ec._kind_ok(key) THEN ec._hash(key, key) ELSE 0 END,
(kind, key) AS ec._sure_hash_of_kind(key, key);

CREATE OR REPLACE MACRO ec._n_buckets(name, n) AS
    CASE WHEN TRY_CAST(n AS UBIGINT) = n AND n BETWEEN 2 AND 1000 THEN CAST(n AS UBIGINT)
         ELSE CAST(error('ec: ' || name || ' is a whole number in 2..1000, not ' || coalesce(CAST(n AS VARCHAR), 'NULL')) AS UBIGINT)
         END;
CREATE OR REPLACE MACRO ec._bucket(hash, buckets) AS CAST(hash % ec._n_buckets('buckets', buckets) AS SMALLINT);
CREATE OR REPLACE MACRO ec._fold(hash, folds) AS
    CAST(coalesce(hash % ec._n_buckets('folds', folds), ec._n_buckets('folds', folds)) AS SMALLINT);
CREATE OR REPLACE MACRO ec._turn(key, hash, within, folds) AS
    CAST(CASE WHEN key IS NULL THEN ec._n_buckets('folds', folds)
              ELSE dense_rank() OVER (PARTITION BY within ORDER BY hash NULLS LAST) % ec._n_buckets('folds', folds) END AS SMALLINT);

CREATE OR REPLACE MACRO ec.bucket(key, buckets) AS ec._bucket(ec._sure_hash(key, key), buckets);
CREATE OR REPLACE MACRO ec.fold(key, folds) AS ec._fold(ec._sure_hash(key, key), folds);
CREATE OR REPLACE MACRO ec.stratified_fold(key, within, folds) AS
    CASE WHEN ec._kind_ok(key) THEN ec._turn(key, ec._hash(key, key), within, folds) END;
COMMENT ON MACRO ec.bucket IS 'Bucket, 0 .. buckets - 1, by a hash of a key, as that of Apache Iceberg: (murmur3(key) & 2147483647) % buckets; NULL for NULL';
COMMENT ON MACRO ec.fold IS 'Fold of cross-validation, 0 .. folds - 1: the bucket of the key, or folds where it is NULL; all rows of a key are in one';
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
