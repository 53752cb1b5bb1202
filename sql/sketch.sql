-- polars_ec for DuckDB, file 6 of 12: the log reduced to counts and sums per bin of the score. Load after scoring_rules.
-- A table macro: the log is a table, view or WITH clause given by its name as text, score, label and weight are
-- expressions over its columns, groups the names of its group columns. Names within start with "ec: ", because a parameter's
-- name would hide a column of the log, and a column of the log one that is made here.

-- Bins ----------------------------------------------------------------------------------------------------------------

-- Log-odds: floor(lo R) for -64 <= lo < 64, and one open-ended bin on either side, into which lo is clamped. Infinite
-- log-odds (all equal) have bins of their own beyond these.
CREATE OR REPLACE MACRO ec._log_odds_bin(lo, resolution) AS
    floor(greatest(least(lo, CAST(64 AS DOUBLE)), -64 - CAST(0.5 AS DOUBLE) / resolution) * resolution);

-- Any real number: floor(R ln x), moved so that every x > 0 has a bin > 0; -x has the bin of x, negated; 0 and the
-- infinities have bins of their own.
CREATE OR REPLACE MACRO ec._raw_bin(x, resolution) AS
    CASE WHEN x = 0 THEN 0
         WHEN abs(x) = CAST('inf' AS DOUBLE) THEN sign(x) * (1492 * resolution + 2)
         ELSE sign(x) * (floor(resolution * ln(abs(x))) + 746 * resolution + 1) END;

CREATE OR REPLACE MACRO ec._bin_of_share(share, resolution) AS
    CASE WHEN share = 0 THEN -64 * resolution - 2 WHEN share = 1 THEN 64 * resolution + 1
         ELSE ec._log_odds_bin(ln(share) - ln(1 - share), resolution) END;

-- The bin of a usable score. (NULL must be asked for: least and greatest pass over it.)
CREATE OR REPLACE MACRO ec._bin(score, score_type, resolution) AS
    CAST(CASE WHEN score IS NULL THEN NULL
              WHEN score_type = 'raw' THEN ec._raw_bin(score, resolution)
              WHEN score_type = 'percent' THEN ec._bin_of_share(score / 100, resolution)
              WHEN score_type = 'posterior' THEN ec._bin_of_share(score, resolution)
              WHEN score = CAST('-inf' AS DOUBLE) THEN -64 * resolution - 2
              WHEN score = CAST('inf' AS DOUBLE) THEN 64 * resolution + 1
              ELSE ec._log_odds_bin(score, resolution) END AS INTEGER);

CREATE OR REPLACE MACRO ec._top_bin(score_type, resolution) AS
    CASE WHEN score_type = 'raw' THEN 1492 * resolution + 2 ELSE 64 * resolution + 1 END;

-- The bin of resolution 8 at most in which a bin lies, or where it lies in two the score does.
CREATE OR REPLACE MACRO ec._coarse(resolution) AS least(resolution, 8);
CREATE OR REPLACE MACRO ec._outer_bin(bin, score_type, resolution, coarse) AS
    CASE WHEN score_type = 'raw' AND abs(bin) = 1492 * resolution + 2 THEN sign(bin) * (1492 * coarse + 2)
         WHEN score_type = 'raw' THEN sign(bin) * (floor((abs(bin) - 1) / (resolution / coarse)) + 1)
         WHEN bin = -64 * resolution - 2 THEN -64 * coarse - 2
         WHEN bin = 64 * resolution + 1 THEN 64 * coarse + 1
         ELSE floor(bin / (resolution / coarse)) END;
CREATE OR REPLACE MACRO ec._coarse_bin(score, score_type, resolution) AS
    CASE WHEN resolution % ec._coarse(resolution) = 0
         THEN CAST(ec._outer_bin(ec._bin(score, score_type, resolution), score_type, resolution, ec._coarse(resolution)) AS INTEGER)
         ELSE ec._bin(score, score_type, ec._coarse(resolution)) END;

-- Bins in which all scores are equal, so that their order is known.
CREATE OR REPLACE MACRO ec._one_score(bin, score_type, resolution) AS
    CASE WHEN score_type = 'raw' THEN bin = 0 OR abs(bin) = 1492 * resolution + 2
         ELSE bin = 64 * resolution + 1 OR bin = -64 * resolution - 2 END;

-- Bins are 32-bit integers; this is folded into a constant.
CREATE OR REPLACE MACRO ec._resolution(resolution) AS
    CASE WHEN TRY_CAST(resolution AS INTEGER) = resolution AND resolution BETWEEN 1 AND 1000000 AND typeof(resolution) <> 'BOOLEAN'
         THEN CAST(resolution AS INTEGER)
         ELSE CAST(error('ec: resolution must be a number of bins per nat, a whole number in 1..1000000, not '
                         || coalesce(CAST(resolution AS VARCHAR), 'NULL')) AS INTEGER) END;

-- Rows ----------------------------------------------------------------------------------------------------------------

-- What kind of score a bin is made of: an LLR is binned like log-odds.
CREATE OR REPLACE MACRO ec._binned_of(score_type) AS
    CASE WHEN score_type = 'llr' THEN 'log_odds'
         WHEN score_type IN ('posterior', 'percent', 'log_odds', 'raw') THEN score_type
         ELSE error(format('ec: score_type ''{}'' is not one of posterior, percent, log_odds, llr, raw. Other arguments must be named, such as '
                           || 'resolution := 64', coalesce(score_type, 'NULL'))) END;
CREATE OR REPLACE MACRO ec._binned_type(score_type) AS ec._binned_of(CAST(score_type AS VARCHAR));

-- 0, 1, -1 for a wrong row, NULL for one with a part missing. Labels and weights are checked as everywhere else.
CREATE OR REPLACE MACRO ec._ranked_class(score, label, score_type, weight) AS
    CASE WHEN ec._missing(score, label, weight) THEN NULL
         WHEN ec._usable(score, label, NULL, CASE WHEN score_type IN ('posterior', 'percent') THEN score_type ELSE 'log_odds' END, weight)
         THEN CAST(ec._y(label) AS TINYINT) ELSE CAST(-1 AS TINYINT) END;

CREATE OR REPLACE MACRO ec._thresholds(thresholds) AS
    CASE WHEN list_count(thresholds) = len(thresholds) AND NOT coalesce(isnan(list_max(CAST(thresholds AS DOUBLE[]))), false)
         THEN list_sort(list_distinct(CAST(thresholds AS DOUBLE[])))
         ELSE [ec._fail('thresholds must be numbers, not ' || CAST(thresholds AS VARCHAR))] END;

-- How many thresholds the score exceeds. Up to eight comparisons written out, of which those with no threshold are folded
-- away: four times as fast as a lambda.
CREATE OR REPLACE MACRO ec._exceeds(score, t) AS coalesce(CAST(score > t AS SMALLINT), CAST(0 AS SMALLINT));
CREATE OR REPLACE MACRO ec._above(score, t) AS
    CAST(CASE WHEN len(t) > 8 THEN len(list_filter(t, lambda _t: score > _t))
              ELSE ec._exceeds(score, t[1]) + ec._exceeds(score, t[2]) + ec._exceeds(score, t[3]) + ec._exceeds(score, t[4])
                 + ec._exceeds(score, t[5]) + ec._exceeds(score, t[6]) + ec._exceeds(score, t[7]) + ec._exceeds(score, t[8])
         END AS SMALLINT);

-- Group columns -------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._is_group(name, groups) AS
    list_contains(list_transform(CAST(groups AS VARCHAR[]), lambda _g: lower(_g)), lower(name));

-- True, or an error, or NULL of a log of no rows. COLUMNS(lambda) passes over a name that no column has, so the columns that it
-- finds are looked at, in the first row. It must find one, hence the 0.
CREATE OR REPLACE MACRO ec._columns_ok(log, groups, own) AS TABLE
    SELECT CASE WHEN len(list_filter(found, lambda _c: starts_with(_c, 'ec: '))) > 1
                THEN error('ec: the log has a column whose name starts with ''ec: '': ' || CAST(found AS VARCHAR)) IS NULL
                WHEN len(list_filter(own, lambda _c: ec._is_group(_c, groups))) > 0
                THEN error(format('ec: groups {} name a column that is also a column of the result: rename it', CAST(groups AS VARCHAR))) IS NULL
                WHEN len(found) - 1 < len(list_distinct(list_transform(CAST(groups AS VARCHAR[]), lambda _g: lower(_g))))
                THEN error(format('ec: groups {} name a column that the log does not have', CAST(groups AS VARCHAR))) IS NULL
                ELSE true END
    FROM (SELECT list_value(*COLUMNS(*)) AS found
          FROM (SELECT alias(COLUMNS(lambda _c: starts_with(_c, 'ec: ') OR ec._is_group(_c, groups)))
                FROM (SELECT 0 AS "ec: 0", * FROM query_table(log)) LIMIT 1));

-- Public --------------------------------------------------------------------------------------------------------------

-- A sum over the rows of one cell; 0 where they are wrong or miss a part. A row of weight 0 adds 0, whatever its value.
CREATE OR REPLACE MACRO ec._cell_sum(value, checked, weight) AS
    coalesce(sum(CASE WHEN ec._unset(weight) THEN value WHEN checked = 0 THEN 0 ELSE value * checked END), 0);

-- Without weights that of the usable rows is their number, and to count is cheaper than to add up.
CREATE OR REPLACE MACRO ec._weight_of(score, checked, weight "NULL") AS CAST(count(score) AS DOUBLE),
(score, checked, weight) AS coalesce(sum(checked), 0);
CREATE OR REPLACE MACRO ec._weight2_of(score, checked, weight "NULL") AS CAST(count(score) AS DOUBLE),
(score, checked, weight) AS coalesce(sum(checked * checked), 0);

CREATE OR REPLACE MACRO ec._number_per_row(score DOUBLE[]) AS
    CAST(error('ec: the scores are lists, so pass the number of classes and a reduction too, such as classes := 3, '
               || 'reduction := ''one_vs_rest'', ''top_label'' or ''decisions''') AS DOUBLE),
(score "NULL") AS CAST(NULL AS DOUBLE),
(score) AS CAST(score AS DOUBLE);

-- The log with the class, score and weight of each row. Scores of rows that are wrong or miss a part are NULL, so that they enter no
-- logarithm.
CREATE OR REPLACE MACRO ec._sketch_rows(log, score, label, score_type, weight) AS TABLE
    SELECT *, CASE WHEN "ec: class" >= 0 THEN ec._number_per_row(score) END AS "ec: score",
           CASE WHEN "ec: class" >= 0 THEN CAST(ec._weight(weight) AS DOUBLE) END AS "ec: weight"
    FROM (SELECT *, ec._ranked_class(ec._number_per_row(score), label, ec._binned_type(score_type), weight) AS "ec: class"
          FROM query_table(log));

-- COLUMNS(lambda) must find something even where there are no groups: it takes the class too, which comes last.
CREATE OR REPLACE MACRO ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight) AS TABLE
    SELECT COLUMNS(lambda _c: _c = 'ec: class' OR ec._is_group(_c, groups)),
           ec._bin("ec: score", ec._binned_type(score_type), ec._resolution(resolution)) AS bin,
           CASE WHEN "ec: class" >= 0 THEN ec._above("ec: score", ec._thresholds(thresholds)) END AS above,
           count(*) AS n,
           ec._weight_of("ec: score", "ec: weight", weight) AS weight,
           ec._weight2_of("ec: score", "ec: weight", weight) AS weight2,
           ec._cell_sum(CASE WHEN "ec: class" = 1 THEN ec._log_loss1("ec: score", ec._binned_type(score_type), NULL)
                             WHEN "ec: class" = 0 THEN ec._log_loss0("ec: score", ec._binned_type(score_type), NULL) END,
                        "ec: weight", weight) AS log_loss,
           ec._cell_sum(CASE WHEN "ec: class" = 1 THEN ec._brier1("ec: score", ec._binned_type(score_type), NULL)
                             WHEN "ec: class" = 0 THEN ec._brier0("ec: score", ec._binned_type(score_type), NULL) END,
                        "ec: weight", weight) AS brier,
           ec._cell_sum(ec._posterior("ec: score", ec._binned_type(score_type), NULL), "ec: weight", weight) AS posterior
    FROM ec._sketch_rows(log, score, label, score_type, weight) GROUP BY ALL;

-- The usable rows once more, by bucket and at a coarser resolution.
CREATE OR REPLACE MACRO ec._sketch_coarse(log, score, label, groups, score_type, resolution, thresholds, weight, cluster, buckets) AS TABLE
    SELECT COLUMNS(lambda _c: _c = 'ec: class' OR ec._is_group(_c, groups)), "ec: bucket",
           ec._coarse_bin("ec: score", ec._binned_type(score_type), ec._resolution(resolution)) AS bin,
           ec._above("ec: score", ec._thresholds(thresholds)) AS above,
           count(*) AS n,
           ec._weight_of("ec: score", "ec: weight", weight) AS weight,
           ec._weight2_of("ec: score", "ec: weight", weight) AS weight2
    FROM (SELECT *, ec._bucket_of_cluster(cluster, buckets) AS "ec: bucket" FROM ec._sketch_rows(log, score, label, score_type, weight))
    WHERE "ec: class" >= 0 GROUP BY ALL;

CREATE OR REPLACE MACRO ec._buckets_of_clusters(buckets) AS
    CASE WHEN TRY_CAST(buckets AS UBIGINT) = buckets AND buckets BETWEEN 5 AND 1000 THEN CAST(buckets AS UBIGINT)
         ELSE CAST(error('ec: buckets must be a whole number in 5..1000, not '
                         || coalesce(CAST(buckets AS VARCHAR), 'NULL')) AS UBIGINT) END;

-- With clusters two tables, one below the other: "table" says which one a row is of.
CREATE OR REPLACE MACRO ec._sketch_tables(log, score, label, cluster, groups, score_type, resolution, thresholds, weight, buckets) AS TABLE
    -- One name at a time: of several DuckDB does not keep the order in a file, and the macros would seem others than those written.
    SELECT * RENAME ("ec: table" AS "table"), 'murmur3' AS hash
    FROM (SELECT * RENAME ("ec: bucket" AS bucket)
          FROM (SELECT * RENAME ("ec: class" AS class)
                FROM (SELECT 'cells' AS "ec: table", CAST(NULL AS SMALLINT) AS "ec: bucket", *
                      FROM ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight)
                      UNION ALL BY NAME
                      SELECT 'coarse' AS "ec: table", *
                      FROM ec._sketch_coarse(log, score, label, groups, score_type, resolution, thresholds, weight, cluster, buckets))));

-- Lists of K posteriors, reduced to two classes ------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._reduction(reduction) AS
    CASE WHEN reduction IN ('one_vs_rest', 'top_label', 'decisions') THEN CAST(reduction AS VARCHAR)
         ELSE error(format('ec: reduction ''{}'' is not one of one_vs_rest, top_label, decisions', coalesce(CAST(reduction AS VARCHAR), 'NULL'))) END;
CREATE OR REPLACE MACRO ec._number_of_classes(classes) AS
    CASE WHEN TRY_CAST(classes AS INTEGER) = classes AND classes >= 2 AND typeof(classes) <> 'BOOLEAN' THEN CAST(classes AS INTEGER)
         ELSE CAST(error('ec: classes must be the number of classes, a whole number from 2, not '
                         || coalesce(CAST(classes AS VARCHAR), 'NULL')) AS INTEGER) END;

-- The posteriors of a row, NULL if one is missing and an empty list if they are wrong.
CREATE OR REPLACE MACRO ec._checked_posteriors(score, classes, score_type) AS
    CASE WHEN score_type NOT IN ('posterior', 'posteriors', 'log_posteriors')
         THEN error(format('ec: score_type ''{}'' is not one of posteriors, log_posteriors for a sketch of lists',
                           coalesce(CAST(score_type AS VARCHAR), 'NULL')))
         WHEN score IS NULL OR list_position(score, NULL) IS NOT NULL THEN NULL
         WHEN len(score) = classes AND ec._vector_ok(score, NULL, score_type) THEN ec._posteriors(score, score_type, NULL)
         ELSE [] END;

-- The log with a score and a label of two classes for each row and, of each class against the rest, for each class. A label that is no
-- class is -1, which is wrong, and so is NaN as a score.
CREATE OR REPLACE MACRO ec._reduced_rows(log, score, label, classes, reduction, score_type) AS TABLE
    SELECT *, CASE WHEN "ec: posteriors" IS NULL THEN NULL
                   WHEN len("ec: posteriors") = 0 THEN CAST('nan' AS DOUBLE)
                   WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN least(list_max("ec: posteriors"), CAST(1 AS DOUBLE))
                   ELSE least("ec: posteriors"["ec: target" + 1], CAST(1 AS DOUBLE)) END AS "ec: reduced score",
           CASE WHEN "ec: label" IS NULL THEN NULL
                WHEN len("ec: posteriors") = 0 OR NOT "ec: label" BETWEEN 0 AND ec._number_of_classes(classes) - 1 THEN -1
                WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN CAST(ec._first_of_most("ec: posteriors") = "ec: label" AS INTEGER)
                ELSE CAST("ec: label" = "ec: target" AS INTEGER) END AS "ec: reduced label"
    FROM (SELECT *, CASE WHEN label IS NULL THEN NULL ELSE coalesce(ec._class(label), -1) END AS "ec: label",
                 ec._checked_posteriors(CAST(score AS DOUBLE[]), ec._number_of_classes(classes), score_type) AS "ec: posteriors",
                 unnest(CASE WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN [0] ELSE range(ec._number_of_classes(classes)) END) AS "ec: target"
          FROM query_table(log));

-- The Bayes decisions of these rows and their losses, in place of two classes.
CREATE OR REPLACE MACRO ec._costs_of_classes(costs, classes) AS
    CASE WHEN ec._costs_ok(costs, 1, 1) AND (ec._unset(costs) OR len(ec._given_costs(costs)) = ec._number_of_classes(classes)) THEN ec._given_costs(costs)
         ELSE error(format('ec: costs has {} rows, but classes := {}', len(ec._given_costs(costs)), classes)) END;
-- The one cost of all rows, which goes into the table: decisions of several costs would be taken for those of one.
CREATE OR REPLACE MACRO ec._one_cost(log, classes, costs, reduction) AS TABLE
    SELECT CASE WHEN min("ec: costs") IS DISTINCT FROM max("ec: costs") OR count("ec: costs") NOT IN (0, count(*))
                THEN CAST(error('ec: costs differ between rows, but a sketch in SQL has one cost for all: pass constants, or use polars-ec sketch --cost-fn')
                          AS DOUBLE[][])
                ELSE coalesce(min("ec: costs"), list_transform(range(ec._number_of_classes(classes)), lambda _i: list_transform(
                    range(ec._number_of_classes(classes)), lambda _j: CAST(_i <> _j AS DOUBLE)))) END AS "ec: costs"
    FROM (SELECT ec._costs_of_classes(costs, classes) AS "ec: costs" FROM query_table(log) WHERE reduction = 'decisions');
CREATE OR REPLACE MACRO ec._decided_rows(log, score, classes, costs, score_type, weight) AS TABLE
    SELECT *, CASE WHEN "ec: checked" >= 0 THEN CAST("ec: label" AS INTEGER) ELSE CAST("ec: checked" AS INTEGER) END AS "ec: class",
           CASE WHEN "ec: checked" >= 0
                THEN CAST(ec._decide_vector("ec: posteriors", ec._costs_of_classes(costs, classes), ec._choices(ec._costs_of_classes(costs, classes)),
                                            NULL, NULL) AS INTEGER) END AS "ec: decision",
           CASE WHEN "ec: checked" >= 0 THEN CAST(ec._weight(weight) AS DOUBLE) END AS "ec: weight",
           CASE WHEN "ec: checked" >= 0 THEN ec._vector_log_loss(CAST(score AS DOUBLE[]), "ec: label", CAST(score_type AS VARCHAR), NULL) END AS "ec: log_loss",
           CASE WHEN "ec: checked" >= 0 THEN ec._vector_brier("ec: posteriors", "ec: label", NULL, NULL) END AS "ec: brier"
    FROM (SELECT *, ec._ranked_class("ec: reduced score", "ec: reduced label", 'posterior', weight) AS "ec: checked" FROM query_table(log));

CREATE OR REPLACE MACRO ec._decision_cells(log, costs_of_log, units, weight) AS TABLE
    SELECT "ec: costs" AS decision_costs, "ec: cells".*
    FROM query_table(costs_of_log), (
        SELECT COLUMNS(lambda _c: _c IN ('ec: class', 'ec: decision') OR ec._is_group(_c, units)),
               count(*) AS n,
               ec._weight_of("ec: decision", "ec: weight", weight) AS weight,
               ec._weight2_of("ec: decision", "ec: weight", weight) AS weight2,
               ec._cell_sum("ec: log_loss", "ec: weight", weight) AS log_loss,
               ec._cell_sum("ec: brier", "ec: weight", weight) AS brier,
               ec._cell_sum("ec: log_loss" * "ec: log_loss" * "ec: weight", "ec: weight", weight) AS log_loss_square,
               ec._cell_sum("ec: log_loss" * "ec: weight", "ec: weight", weight) AS log_loss_times_weight,
               ec._cell_sum("ec: brier" * "ec: brier" * "ec: weight", "ec: weight", weight) AS brier_square,
               ec._cell_sum("ec: brier" * "ec: weight", "ec: weight", weight) AS brier_times_weight
        FROM query_table(log) GROUP BY ALL) AS "ec: cells"
    WHERE "ec: costs" IS NOT NULL;

-- What a sketch of lists has beside its groups: other columns where it is of decisions.
CREATE OR REPLACE MACRO ec._of_decisions() AS ['decision_costs', 'class', 'decision', 'n', 'weight', 'weight2', 'log_loss', 'brier',
                                               'log_loss_square', 'log_loss_times_weight', 'brier_square', 'brier_times_weight'];
CREATE OR REPLACE MACRO ec._of_bins() AS ['target', 'class', 'bin', 'above', 'n', 'weight', 'weight2', 'log_loss', 'brier', 'posterior'];
CREATE OR REPLACE MACRO ec._of_reduction(reduction) AS
    CASE WHEN reduction = 'decisions' THEN ec._of_decisions() WHEN reduction = 'top_label' THEN ec._of_bins()[2:] ELSE ec._of_bins() END;
CREATE OR REPLACE MACRO ec._is_shown(name, groups, reduction) AS
    ec._is_group(name, groups) OR name IN ('table', 'bucket', 'hash') OR list_contains(ec._of_reduction(reduction), name);

CREATE OR REPLACE MACRO ec._with_target(groups) AS list_concat(CAST(groups AS VARCHAR[]), ['ec: target']);

CREATE OR REPLACE MACRO ec.sketch(log, score, label, groups := [], score_type := 'posterior', resolution := 64,
    thresholds := [], weight := NULL) AS TABLE (
    SELECT COLUMNS(lambda _c: CAST(score_type AS VARCHAR) <> 'raw' OR _c NOT IN ('log_loss', 'brier', 'posterior'))
    FROM (SELECT * RENAME ("ec: class" AS class)
          FROM ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight))
    WHERE coalesce((FROM ec._columns_ok(log, groups, ['class', 'bin', 'above', 'n', 'weight', 'weight2', 'log_loss', 'brier',
                                                      'posterior'])), true)),
(log, score, label, cluster, groups := [], score_type := 'posterior', resolution := 64, thresholds := [], weight := NULL,
    buckets := 100) AS TABLE (
    SELECT COLUMNS(lambda _c: CAST(score_type AS VARCHAR) <> 'raw' OR _c NOT IN ('log_loss', 'brier', 'posterior'))
    FROM ec._sketch_tables(log, score, label, cluster, groups, score_type, resolution, thresholds, weight, buckets)
    WHERE coalesce((FROM ec._columns_ok(log, groups, ['table', 'bucket', 'hash', 'class', 'bin', 'above', 'n', 'weight', 'weight2',
                                                      'log_loss', 'brier', 'posterior'])), true)),
(log, score, label, classes, reduction VARCHAR, groups := [], score_type := 'posteriors', resolution := 64, thresholds := [], weight := NULL,
    costs := NULL) AS TABLE (
    WITH "ec: reduced" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type)),
         -- Read apart, because DuckDB holds in memory what two queries read.
         "ec: read" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type) WHERE reduction = 'decisions'),
         "ec: one cost" AS (FROM ec._one_cost(log, classes, costs, reduction)),
         "ec: decided" AS (FROM ec._decided_rows('ec: read', score, classes, costs, score_type, weight))
    SELECT COLUMNS(lambda _c: ec._is_shown(_c, groups, reduction))
    FROM (SELECT * RENAME ("ec: target" AS target)
          FROM (SELECT * RENAME ("ec: class" AS class)
                FROM ec._sketch_cells('ec: reduced', "ec: reduced score", "ec: reduced label", ec._with_target(groups), 'posterior',
                                      resolution, thresholds, weight))
          WHERE ec._reduction(reduction) <> 'decisions'
          UNION ALL BY NAME
          SELECT * RENAME ("ec: decision" AS decision)
          FROM (SELECT * RENAME ("ec: class" AS class) FROM ec._decision_cells('ec: decided', 'ec: one cost', groups, weight)))
    WHERE coalesce((FROM ec._columns_ok(log, groups, ec._of_reduction(reduction))), true)),
(log, score, label, classes, reduction VARCHAR, cluster, groups := [], score_type := 'posteriors', resolution := 64, thresholds := [],
    weight := NULL, buckets := 100, costs := NULL) AS TABLE (
    WITH "ec: reduced" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type)),
         "ec: read" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type) WHERE reduction = 'decisions'),
         "ec: one cost" AS (FROM ec._one_cost(log, classes, costs, reduction)),
         "ec: decided" AS (SELECT *, ec._bucket_of_cluster(cluster, buckets) AS "ec: bucket"
                           FROM ec._decided_rows('ec: read', score, classes, costs, score_type, weight)),
         "ec: used" AS (FROM "ec: decided" WHERE "ec: class" >= 0)
    SELECT COLUMNS(lambda _c: ec._is_shown(_c, groups, reduction))
    FROM (SELECT * RENAME ("ec: target" AS target)
          FROM ec._sketch_tables('ec: reduced', "ec: reduced score", "ec: reduced label", cluster, ec._with_target(groups), 'posterior',
                                 resolution, thresholds, weight, buckets)
          WHERE ec._reduction(reduction) <> 'decisions'
          UNION ALL BY NAME
          SELECT * RENAME ("ec: table" AS "table"), 'murmur3' AS hash
          FROM (SELECT * RENAME ("ec: bucket" AS bucket)
                FROM (SELECT * RENAME ("ec: decision" AS decision)
                      FROM (SELECT * RENAME ("ec: class" AS class)
                            FROM (SELECT 'cells' AS "ec: table", CAST(NULL AS SMALLINT) AS "ec: bucket", *
                                  FROM ec._decision_cells('ec: decided', 'ec: one cost', groups, weight)
                                  UNION ALL BY NAME
                                  SELECT 'coarse' AS "ec: table", *
                                  FROM ec._decision_cells('ec: used', 'ec: one cost', list_concat(CAST(groups AS VARCHAR[]), ['ec: bucket']), weight))))))
    WHERE coalesce((FROM ec._columns_ok(log, groups, list_concat(['table', 'bucket', 'hash'], ec._of_reduction(reduction)))), true));
COMMENT ON MACRO TABLE ec.sketch IS 'Sketch of a log: counts and sums per group, class and bin of the score, bin = floor(resolution ln(q1/q0)). With cluster := also per bucket. Lists of posteriors take classes := 3, reduction := one_vs_rest, top_label or decisions (counts and sums per group, class and Bayes decision, at costs := a K x M list).';
