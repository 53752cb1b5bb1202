-- polars_ec for DuckDB, file 8 of 12: buckets and folds of keys, and calibrated posteriors. Load after ranking.

-- Buckets and folds ---------------------------------------------------------------------------------------------------

-- MurmurHash3 of 32 bits, as Apache Iceberg has it. Words and hashes are UBIGINT of which the lowest 32 bits count. DuckDB checks each
-- product and sum of integers for overflow, which takes ten times as long as an operation on bits or on DOUBLE: hence numbers below
-- 2^53 are multiplied and added as DOUBLE, which is exact, two words of a text are one number of 128 bits, and a word times 2^32 + 1
-- stands beside itself, so that a shift rotates it. What stands twice is named once by invoke(), for within a CASE or a lambda it
-- would be worked out twice.
CREATE OR REPLACE MACRO ec._word(x) AS (x) & 4294967295;
CREATE OR REPLACE MACRO ec._doubled(x) AS ec._word(x) * 4294967297;
-- The word is word * 3432918353, rotated by 15 bits, times 461845907; and the hash of it and those before, rotated by 13, times 5.
CREATE OR REPLACE MACRO ec._scrambled(word) AS
    invoke(lambda _x: CAST(CAST(_x & 131071 AS DOUBLE) * 2596896768e0 + CAST(_x >> 17 AS DOUBLE) * 461845907e0 AS UBIGINT),
           ec._word(word * 3432918353));
CREATE OR REPLACE MACRO ec._next(x) AS CAST(CAST(ec._doubled(x) >> 19 AS DOUBLE) * 5e0 + 3864292196e0 AS UBIGINT);
-- The same where `whole` is 1; x where it is 0, for the last word of a text, which may have less than four bytes.
CREATE OR REPLACE MACRO ec._next_if(x, whole) AS
    (ec._doubled(x) >> (32 - 13 * whole)) * (1 + 4 * whole) + 3864292196 * whole;
CREATE OR REPLACE MACRO ec._shifted_xor(x, bits) AS xor(x, x >> bits);
CREATE OR REPLACE MACRO ec._mixed(x) AS
    invoke(lambda _x: ec._shifted_xor(_x, 16),
        invoke(lambda _x: ec._word(ec._shifted_xor(_x, 13) * 3266489909),
            invoke(lambda _x: ec._word(ec._shifted_xor(_x, 16) * 2246822507), ec._word(x))));

CREATE OR REPLACE MACRO ec._unmixed_words(low, high) AS
    xor(ec._next(xor(ec._next(ec._scrambled(low)), ec._scrambled(high))), 8);
CREATE OR REPLACE MACRO ec._unmixed_number(x) AS
    ec._unmixed_words(CAST(ec._word(x) AS UBIGINT), CAST(ec._word(x >> 32) AS UBIGINT));

-- Texts are cut by the number of their bytes: first blocks of 16 bytes, numbers of 128 bits; then what is left, as such a number too, with
-- zeros after it. The first byte of a word is its lowest, and the highest of the number. `doubled` are words beside themselves.
CREATE OR REPLACE MACRO ec._bytes_reversed(doubled, even, odd) AS ((doubled >> 8) & even) | ((doubled >> 24) & odd);
-- Of the second and the fourth word of a block, each in 64 bits.
CREATE OR REPLACE MACRO ec._products(words) AS
    (invoke(lambda _x: ec._bytes_reversed(_x, 78919881707896124288626917120, 308280787921469235502448895), words * 4294967297)
     * 3432918353) & 79228162495817593524129366015;
CREATE OR REPLACE MACRO ec._scrambled_words(block) AS
    (((ec._products(block & 79228162495817593524129366015) * 4294967297) >> 17) & 79228162495817593524129366015) * 461845907;
CREATE OR REPLACE MACRO ec._high_word(words) AS CAST(words >> 64 AS UBIGINT);
CREATE OR REPLACE MACRO ec._low_word(words) AS CAST(words & 18446744073709551615 AS UBIGINT);
CREATE OR REPLACE MACRO ec._with_block(hash, block) AS
    invoke(lambda _h, _a, _b: ec._next(xor(ec._next(xor(ec._next(xor(ec._next(xor(_h, ec._high_word(_a))), ec._high_word(_b))), ec._low_word(_a))),
                                           ec._low_word(_b))),
           hash, ec._scrambled_words(block >> 32), ec._scrambled_words(block));
-- The block is named first, because it would be worked out twice.
CREATE OR REPLACE MACRO ec._with_words(hash, block, n) AS
    invoke(lambda _h, _x, _1, _2, _3:
               invoke(lambda _a, _b: xor(ec._next_if(xor(ec._next_if(xor(ec._next_if(xor(_h, ec._high_word(_a)), _1), ec._high_word(_b)), _2),
                                                         ec._low_word(_a)), _3), ec._low_word(_b)),
                      ec._scrambled_words(_x >> 32), ec._scrambled_words(_x)),
           hash, block, CAST(n > 3 AS UBIGINT), CAST(n > 7 AS UBIGINT), CAST(n > 11 AS UBIGINT));
CREATE OR REPLACE MACRO ec._with_left(hash, bytes, n) AS
    CASE WHEN n < 4
         THEN xor(hash, ec._scrambled(invoke(lambda _x: ec._bytes_reversed(_x, 4278255360, 16711935),
                                             ec._doubled(CAST(CAST(bytes AS BIT) AS UBIGINT) << CAST(32 - 8 * n AS UBIGINT)))))
         ELSE ec._with_words(hash, CAST(CAST(bytes AS BIT) AS UHUGEINT) << CAST(128 - 8 * n AS UHUGEINT), n) END;
-- To cut a text that has as many characters as bytes is faster than to cut bytes.
CREATE OR REPLACE MACRO ec._bytes(t, since, n) AS
    CASE WHEN length(t) = strlen(t) THEN encode(substring(t, since, n)) ELSE encode(t)[since:since + n - 1] END;
CREATE OR REPLACE MACRO ec._block(t, since) AS CAST(CAST(ec._bytes(t, since, 16) AS BIT) AS UHUGEINT);
CREATE OR REPLACE MACRO ec._with_blocks(t, n) AS
    CASE WHEN n < 16 THEN CAST(0 AS UBIGINT)
         WHEN n < 32 THEN invoke(lambda _block: ec._with_block(CAST(0 AS UBIGINT), _block), ec._block(t, 1))
         ELSE list_reduce(list_transform(range(1, n - 14, 16), lambda _i: ec._block(t, _i)),
                          lambda _hash, _block: ec._with_block(_hash, _block), CAST(0 AS UBIGINT)) END;
CREATE OR REPLACE MACRO ec._bytes_left(t, n) AS
    CASE WHEN n & 15 = 0 THEN '\x00'::BLOB WHEN n < 16 THEN encode(t) ELSE ec._bytes(t, n - (n & 15) + 1, 15) END;
CREATE OR REPLACE MACRO ec._unmixed_text_of(t, n) AS
    xor(ec._with_left(ec._with_blocks(t, n), ec._bytes_left(t, n), n & 15), CAST(n AS UBIGINT));
CREATE OR REPLACE MACRO ec._unmixed_text(t) AS ec._unmixed_text_of(t, strlen(t));

-- Microseconds, rounded down; casts round to the nearest. DuckDB 1 has no TIMESTAMPTZ_NS: its text has the nanoseconds.
CREATE OR REPLACE MACRO ec._micros(nanos) AS nanos // 1000 - CAST(nanos % 1000 < 0 AS BIGINT);
CREATE OR REPLACE MACRO ec._number_of_key(key) AS
    CASE typeof(key)
         WHEN 'BOOLEAN' THEN TRY_CAST(key AS BIGINT)
         WHEN 'DATE' THEN TRY_CAST(key AS DATE) - DATE '1970-01-01'
         WHEN 'TIME' THEN epoch_us(TRY_CAST(key AS TIME))
         WHEN 'TIME_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIME_NS)))
         WHEN 'TIMESTAMP_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIMESTAMP_NS)))
         WHEN 'TIMESTAMPTZ_NS' THEN epoch_us(TRY_CAST(regexp_replace(CAST(key AS VARCHAR), '(\.\d{6})\d+', '\1') AS TIMESTAMPTZ))
         WHEN 'TIMESTAMP WITH TIME ZONE' THEN epoch_us(TRY_CAST(key AS TIMESTAMPTZ))
         WHEN 'INTERVAL' THEN epoch_us(TRY_CAST(key AS INTERVAL))
         ELSE epoch_us(TRY_CAST(key AS TIMESTAMP)) END;
-- True, or an error; apart, because no error may stand in the ORDER BY of a window.
CREATE OR REPLACE MACRO ec._key_ok(key) AS
    CASE WHEN typeof(key) IN ('UBIGINT', 'HUGEINT', 'UHUGEINT', 'BOOLEAN', 'DATE', 'TIME', 'TIME_NS', 'TIMESTAMP',
                              'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS',
                              'INTERVAL')
         THEN true
         ELSE error('ec: a bucket key must be an integer, string, date or time, not ' || typeof(key) || ': cast the key') IS NULL END;

-- `kind` is the key again, for the overloads: an alias of the same SELECT, an aggregate and the parameter of another macro have no type
-- yet when the macro is expanded, and more than one overload would match them. They end up under "NULL", with the text for any type.
CREATE OR REPLACE MACRO ec._goes_by_text(type) AS type IN ('VARCHAR', 'JSON') OR starts_with(type, 'ENUM(');
CREATE OR REPLACE MACRO ec._goes_by_number(type) AS
    type IN ('BIGINT', 'INTEGER', 'SMALLINT', 'TINYINT', 'UINTEGER', 'USMALLINT', 'UTINYINT', 'INTEGER_LITERAL', '"NULL"');
-- A number that needs more than 64 bits goes by its digits, as a text.
CREATE OR REPLACE MACRO ec._goes_by_digits(key) AS
    typeof(key) IN ('HUGEINT', 'UHUGEINT')
    AND coalesce(TRY_CAST(key AS HUGEINT) NOT BETWEEN -9223372036854775808 AND 18446744073709551615, key IS NOT NULL);
-- Of keys of any type; a text stands once, for it is long.
CREATE OR REPLACE MACRO ec._unmixed_key(key) AS
    CASE WHEN ec._goes_by_text(typeof(key)) OR ec._goes_by_digits(key) THEN ec._unmixed_text(TRY_CAST(key AS VARCHAR))
         WHEN ec._goes_by_number(typeof(key)) THEN ec._unmixed_number(TRY_CAST(key AS BIGINT))
         WHEN typeof(key) IN ('UBIGINT', 'HUGEINT', 'UHUGEINT') THEN ec._unmixed_number(TRY_CAST(key AS HUGEINT))
         ELSE ec._unmixed_number(ec._number_of_key(key)) END;
-- 31 bits.
CREATE OR REPLACE MACRO ec._hash_of_text(t) AS ec._mixed(ec._unmixed_text(t)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_integer(x) AS ec._mixed(ec._unmixed_number(x)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_key(key) AS ec._mixed(ec._unmixed_key(key)) & 2147483647;
CREATE OR REPLACE MACRO ec._kind_ok(key) AS ec._goes_by_text(typeof(key)) OR ec._goes_by_number(typeof(key)) OR ec._key_ok(key);
-- The same, or an error; no CASE around a text or an integer, where an argument that stands twice is worked out twice. (Without the 0
-- the optimizer would see NULL either way, where the key is nothing that has a hash, and drop the error.)
CREATE OR REPLACE MACRO ec._sure_hash_of_type(kind BIGINT, key) AS ec._hash_of_integer(CAST(key AS BIGINT)),
(kind, key) AS CASE WHEN ec._key_ok(key) THEN ec._hash_of_key(key) ELSE 0 END;
CREATE OR REPLACE MACRO ec._sure_hash_of_kind(kind VARCHAR, key) AS ec._hash_of_text(CAST(key AS VARCHAR)),
(kind, key) AS ec._sure_hash_of_type(key, key);
CREATE OR REPLACE MACRO ec._sure_hash(kind "NULL", key) AS CASE WHEN ec._kind_ok(key) THEN ec._hash_of_key(key) ELSE 0 END,
(kind, key) AS ec._sure_hash_of_kind(key, key);

CREATE OR REPLACE MACRO ec._n_buckets(name, n) AS
    CASE WHEN TRY_CAST(n AS UBIGINT) = n AND n BETWEEN 2 AND 1000 THEN CAST(n AS UBIGINT)
         ELSE CAST(error('ec: ' || name || ' must be a whole number in 2..1000, not ' || coalesce(CAST(n AS VARCHAR), 'NULL')) AS UBIGINT)
         END;
CREATE OR REPLACE MACRO ec._bucket(hash, buckets) AS CAST(hash % ec._n_buckets('buckets', buckets) AS SMALLINT);
CREATE OR REPLACE MACRO ec._fold(hash, folds) AS
    CAST(coalesce(hash % ec._n_buckets('folds', folds), ec._n_buckets('folds', folds)) AS SMALLINT);
CREATE OR REPLACE MACRO ec._turn(key, hash, within, folds) AS
    CAST(CASE WHEN key IS NULL THEN ec._n_buckets('folds', folds)
              ELSE dense_rank() OVER (PARTITION BY within ORDER BY hash NULLS LAST) % ec._n_buckets('folds', folds) END AS SMALLINT);

CREATE OR REPLACE MACRO ec.bucket(key, buckets) AS ec._bucket(ec._sure_hash(key, key), buckets);
-- The name of a column in quotes would make one cluster of all rows.
CREATE OR REPLACE MACRO ec._bucket_of_cluster(cluster, buckets) AS
    CASE WHEN starts_with(alias(cluster), '''') THEN error('ec: cluster := ' || alias(cluster) || ' is text, not a column: leave out the quotes')
         ELSE ec.bucket(cluster, ec._buckets_of_clusters(buckets)) END;
CREATE OR REPLACE MACRO ec.fold(key, folds) AS ec._fold(ec._sure_hash(key, key), folds);
CREATE OR REPLACE MACRO ec.stratified_fold(key, within, folds) AS
    CASE WHEN ec._kind_ok(key) THEN ec._turn(key, ec._hash_of_key(key), within, folds) END;
COMMENT ON MACRO ec.bucket IS 'Bucket of a key by the hash of Apache Iceberg, from 0 to buckets - 1: (murmur3(key) & 2147483647) % buckets. NULL for a NULL key.';
COMMENT ON MACRO ec.fold IS 'Fold of cross-validation, from 0 to folds - 1: the bucket of the key, or folds for a NULL key. All rows of a key are in one fold.';
COMMENT ON MACRO ec.stratified_fold IS 'Fold of cross-validation, from 0 to folds - 1: the folds of each stratum differ by at most one key in size.';

-- Calibrated posteriors -----------------------------------------------------------------------------------------------

-- An LLR is calibrated as log-odds are.
CREATE OR REPLACE MACRO ec._calibrated_type(score_type) AS
    CASE WHEN score_type = 'llr' THEN 'log_odds' ELSE score_type END;
CREATE OR REPLACE MACRO ec._affine(x, alpha, beta) AS
    invoke(lambda _x, _alpha, _beta: CASE WHEN isfinite(_alpha) AND isfinite(_beta) AND _x IS NOT NULL
                                          THEN ec._sigmoid(CASE WHEN _alpha = 0 THEN _beta ELSE _alpha * _x + _beta END) END,
           x, alpha, beta);

CREATE OR REPLACE MACRO ec._parameter(x) AS
    CASE WHEN typeof(x) = 'BOOLEAN' THEN ec._fail('alpha and beta must be numbers, not ' || CAST(x AS VARCHAR)) ELSE CAST(x AS DOUBLE) END;
CREATE OR REPLACE MACRO ec.affine(score DOUBLE, alpha, beta, score_type) AS
    ec._affine(ec._row_log_odds(score, ec._calibrated_type(score_type), NULL), ec._parameter(alpha), ec._parameter(beta)),
(score DOUBLE[], alpha, beta, score_type) AS
    ec._affine(ec._row_log_odds(ec._pair(score, score_type), ec._calibrated_type(ec._pair_type(score_type)), NULL),
               ec._parameter(alpha), ec._parameter(beta));
