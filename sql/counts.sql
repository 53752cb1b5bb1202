-- polars_ec for DuckDB, file 2 of 12: sums of a group of rows, and the counts that are answers in themselves.
-- Load after rows. Everything here is plain sums of CASE: the engine shares equal ones, so ten metrics cost hardly more
-- than one. An aggregate is bound to a name with list_transform([aggregate], lambda s: ...)[1], because a subquery in a
-- macro would run once per row. Fields are written s['field'], for in HAVING DuckDB takes s.field for a column.

-- Sums ----------------------------------------------------------------------------------------------------------------

-- count_if over no rows is NULL.
CREATE OR REPLACE MACRO ec._count(condition) AS coalesce(count_if(condition), 0);

-- CASE, and not a product with 0 or 1: a row that misses its score or label may have any weight, NaN say.
CREATE OR REPLACE MACRO ec._sum_weights(condition, weight) AS
    CAST(coalesce(sum(CASE WHEN condition THEN weight ELSE 0 END), 0) AS DOUBLE);
-- Weights whose sum comes near the largest number make no metric, for what is made of it would overflow.
CREATE OR REPLACE MACRO ec._addable(total) AS total < 1e300;

-- A row of weight 0 counts as no row, whatever its value (0 * inf would be NaN).
CREATE OR REPLACE MACRO ec._weighted(value, weight "NULL") AS value,
(value, weight) AS CASE WHEN CAST(weight AS DOUBLE) = 0 THEN 0 ELSE value * CAST(weight AS DOUBLE) END;

-- A row of class i with nothing missing. Whether it is wrong need not be asked: one wrong row, and the metric is NULL.
CREATE OR REPLACE MACRO ec._of_class(i, score, label) AS ec._y(label) = i AND score IS NOT NULL;

-- A loss, weighted if there are weights, summed over the rows of class i; it is worked out for them only.
CREATE OR REPLACE MACRO ec._sum_loss(i, score, label, loss) AS
    sum(CASE WHEN ec._of_class(i, score, label) THEN loss ELSE 0 END);
-- The Brier loss of a posterior is finite and cheap: a product with 0 or 1 takes half the time of CASE. (Of an LLR it may be
-- NaN, where the prior is 0 or 1.)
CREATE OR REPLACE MACRO ec._sum_brier(i, score, label, loss, score_type "NULL") AS
    sum(CAST(ec._of_class(i, score, label) AS DOUBLE) * loss),
(i, score, label, loss, score_type) AS ec._sum_loss(i, score, label, loss);

-- Rows of a class, or their weights. Class 0 is counted as the rest of the rows that miss nothing, for the engine shares these
-- counts with other metrics; a label that is not a class is wrong, and leaves no metric. With weights a difference would lose digits.
CREATE OR REPLACE MACRO ec._size1(score, label, weight "NULL") AS ec._count(ec._of_class(1, score, label)),
(score, label, weight) AS ec._sum_weights(ec._of_class(1, score, label), weight);
CREATE OR REPLACE MACRO ec._size0(score, label, weight "NULL") AS
    count(*) - ec._count(ec._missing(score, label, weight)) - ec._size1(score, label, weight),
(score, label, weight) AS ec._sum_weights(ec._of_class(0, score, label), weight);

-- Nothing missing but something wrong, with a shorter text where no costs, no weight are given. There ec._number_ok is NULL
-- for a missing score, which is not counted.
CREATE OR REPLACE MACRO ec._label_wrong(score, label BOOLEAN) AS false,
(score, label) AS score IS NOT NULL AND label IS NOT NULL AND NOT coalesce(ec._class(label) BETWEEN 0 AND 1, false);
CREATE OR REPLACE MACRO ec._wrong(score, label, costs "NULL", score_type, weight "NULL") AS
    costs IS NULL AND weight IS NULL
    AND (label IS NOT NULL AND NOT ec._number_ok(score, 2, score_type) OR ec._label_wrong(score, label)),
(score, label, costs "NULL", score_type, weight) AS
    costs IS NULL AND (NOT ec._missing(score, label, weight) AND NOT (ec._number_ok(score, 2, score_type) AND ec._weight_ok(weight))
                       OR weight IS NOT NULL AND ec._label_wrong(score, label)),
(score, label, costs, score_type, weight) AS
    NOT ec._missing(score, label, weight) AND NOT coalesce(ec._usable(score, label, costs, score_type, weight), false);

CREATE OR REPLACE MACRO ec._count_invalid(score, label, costs, score_type, weight) AS
    ec._count(ec._wrong(score, label, costs, score_type, weight));

-- Binary cells --------------------------------------------------------------------------------------------------------

-- The prior that is stated, a number or a list of two: a literal NULL where none is, NULL or NaN of a type where it is not a prior or
-- not one in the group. `kind` is the prior again, for the overloads, because a parameter that has a type casts its argument. An
-- aggregate has no type yet when the macro is expanded, and comes first; it is the group's already.
CREATE OR REPLACE MACRO ec._constant(low, high) AS CASE WHEN low = high THEN low END;
CREATE OR REPLACE MACRO ec._given_prior(kind DOUBLE, prior) AS
    ec._constant(min(kind), max(ec._number_prior(prior))),
(kind, prior) AS
    [ec._constant(min(ec._p0(prior)), max(ec._prior0(prior))), ec._constant(min(ec._p1(prior)), max(ec._prior1(prior)))];
CREATE OR REPLACE MACRO ec._prior_of_kind(kind "NULL", prior) AS prior, (kind, prior) AS ec._given_prior(prior, prior);
CREATE OR REPLACE MACRO ec._stated_prior(prior) AS ec._prior_of_kind(prior, prior);

-- P1 and P0 from the class sums n1 and n0 and the stated prior. P0 is not 1 - P1 of the group, which would lose the digits
-- of a rare negative class.
CREATE OR REPLACE MACRO ec._share(n, rest) AS n / nullif(n + rest, 0);
CREATE OR REPLACE MACRO ec._stated_1(prior DOUBLE) AS CASE WHEN ec._share_ok(prior) THEN prior END,
(prior) AS CASE WHEN ec._sums_to_1(CAST(prior AS DOUBLE[]), 2) THEN CAST(prior AS DOUBLE[])[2] END;
CREATE OR REPLACE MACRO ec._stated_0(prior DOUBLE) AS CASE WHEN ec._share_ok(prior) THEN 1 - prior END,
(prior) AS CASE WHEN ec._sums_to_1(CAST(prior AS DOUBLE[]), 2) THEN CAST(prior AS DOUBLE[])[1] END;
CREATE OR REPLACE MACRO ec._prior_of_1(n1, n0, prior "NULL") AS ec._share(n1, n0),
(n1, n0, prior) AS CASE WHEN n1 + n0 > 0 THEN ec._stated_1(prior) END;
CREATE OR REPLACE MACRO ec._prior_of_0(n1, n0, prior "NULL") AS ec._share(n0, n1),
(n1, n0, prior) AS CASE WHEN n1 + n0 > 0 THEN ec._stated_0(prior) END;

-- Rows that leave the group without a value: wrong ones, and those without the threshold that they were to have.
CREATE OR REPLACE MACRO ec._count_unusable(score, label, costs, prior, threshold "NULL", score_type, weight) AS
    coalesce(threshold, ec._count_invalid(ec._likely(score, score_type, prior), label, costs, score_type, weight)),
(score, label, costs, prior, threshold, score_type, weight) AS
    ec._count(ec._wrong(ec._likely(score, score_type, prior), label, costs, score_type, weight) OR ec._no_threshold(threshold, score_type));

-- ec._llr_shift and ec._positive, with a shorter text where no prior, no costs are given, and shorter yet for posteriors.
-- Decisions under costs that are not 2 x 2 are counted elsewhere, see ec._means: none is positive here.
CREATE OR REPLACE MACRO ec._shift(prior "NULL", score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior(score_type) ELSE 0 END,
(prior, score_type) AS ec._llr_shift(prior, score_type);
CREATE OR REPLACE MACRO ec._positives(score, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type "NULL") AS
    score > ec._posterior_threshold(threshold, cost_fn, cost_fp),
(score, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type) AS
    score > ec._threshold(ec._bayes_threshold(CAST(cost_fp AS DOUBLE), CAST(cost_fn AS DOUBLE), score_type) - ec._shift(prior, score_type),
                          threshold, score_type),
(score, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN ec._wide(costs) THEN nullif(score IS NULL, true)
         ELSE ec._positive(score, costs, cost_fn, cost_fp, prior, threshold, score_type) END;

CREATE OR REPLACE MACRO ec._cells_of(n1, n0, tn, fp, fn, tp, prior) AS {
    'n1': n1, 'n0': n0, 'tn': tn, 'fp': fp, 'fn': fn, 'tp': tp,
    'p1': ec._prior_of_1(n1, n0, prior), 'p0': ec._prior_of_0(n1, n0, prior)};
CREATE OR REPLACE MACRO ec._cells_of_sums(sums) AS
    list_transform(list_transform(sums, lambda _s: CASE WHEN _s['invalid'] = 0 THEN {
            'c': _s, 'n1': _s['fn'] + _s['tp'], 'n0': _s['tn'] + _s['fp'], 'prior': _s['prior']} END),
        lambda _g: CASE WHEN ec._addable(_g['n1'] + _g['n0']) THEN ec._cells_of(
            _g['n1'], _g['n0'], _g['c']['tn'], _g['c']['fp'], _g['c']['fn'], _g['c']['tp'], _g['prior']) END);

-- Cells and priors of a group, in a list of one: NULL when a row is wrong. A comparison with a missing score is NULL and not
-- counted. Counts take two sums of decisions, for the other two cells are the rest of their class, and the engine shares the
-- sums of the classes with the scoring rules. With weights each cell is summed by itself: a difference would lose digits.
CREATE OR REPLACE MACRO ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight "NULL") AS
    list_transform([{
            'invalid': ec._count_unusable(score, label, costs, prior, threshold, score_type, weight), 'prior': ec._stated_prior(prior),
            'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight),
            'fp': ec._count(ec._y(label) = 0 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type)),
            'tp': ec._count(ec._y(label) = 1 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type))}],
        lambda _s: CASE WHEN _s['invalid'] = 0 THEN
            ec._cells_of(_s['n1'], _s['n0'], _s['n0'] - _s['fp'], _s['fp'], _s['n1'] - _s['tp'], _s['tp'], _s['prior']) END),
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_of_sums([{
        'invalid': ec._count_unusable(score, label, costs, prior, threshold, score_type, weight), 'prior': ec._stated_prior(prior),
        'tn': ec._sum_weights(ec._y(label) = 0 AND NOT ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'fp': ec._sum_weights(ec._y(label) = 0 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'fn': ec._sum_weights(ec._y(label) = 1 AND NOT ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'tp': ec._sum_weights(ec._y(label) = 1 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight)}]);

CREATE OR REPLACE MACRO ec._posterior_cells(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, NULL, weight),
(score, label, costs, cost_fn, cost_fp, prior, threshold, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, 'posterior', weight);
CREATE OR REPLACE MACRO ec._cells_by(type "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, CAST(score_type AS VARCHAR), weight),
(type, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._posterior_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, weight);
CREATE OR REPLACE MACRO ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_by(ec._posterior_type(score_type), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);

-- K classes -----------------------------------------------------------------------------------------------------------

-- One integer for (number of classes, class, decision); -1 for a wrong row, NULL for a missing one: one histogram of it
-- holds every count of a group.
CREATE OR REPLACE MACRO ec._key(k, y, d) AS (CAST(k AS BIGINT) << 40) + (CAST(y AS BIGINT) << 20) + d;

-- A list of other classes than the costs' is not decided, but counted under the classes that it has: see ec._classes_ok.
CREATE OR REPLACE MACRO ec._undecided(threshold "NULL", score_type) AS threshold IS NOT NULL,
(threshold, score_type) AS ec._no_threshold(threshold, score_type);
CREATE OR REPLACE MACRO ec._key_of_row(score, label, matrix, prior, score_type, weight) AS
    invoke(lambda _v, _m, _c, _y: CASE
        WHEN ec._missing_vector(_v, label, weight) THEN NULL
        WHEN ec._vector_usable(_v, _y, _m, score_type, weight)
        THEN ec._key(ec._vector_classes(_v, _m, score_type), _y,
                     CASE WHEN ec._vector_fits(_v, _m, score_type) THEN ec._decide_vector(_v, _m, _c, prior, score_type) ELSE 0 END)
        ELSE -1 END, ec._likely_list(score, score_type, prior), matrix, ec._choices(matrix), ec._class(label));
CREATE OR REPLACE MACRO ec._key_by(type "NULL", score, label, matrix, prior, score_type, weight) AS
    ec._key_of_row(score, label, matrix, prior, score_type, weight),
(type, score, label, matrix, prior, score_type, weight) AS ec._key_of_row(score, label, matrix, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._vector_key(score, label, matrix, prior, threshold, score_type, weight) AS
    CASE WHEN ec._undecided(threshold, score_type) THEN -1
         WHEN ec._decisions_ok(matrix, prior, threshold, CAST(score_type AS VARCHAR))
         THEN ec._key_by(ec._posteriors_type(score_type), score, label, matrix, prior, CAST(score_type AS VARCHAR), weight) END;

-- The same without a decision.
CREATE OR REPLACE MACRO ec._class_key_of_row(score, label, matrix, score_type, weight) AS
    invoke(lambda _v, _m, _y: CASE
        WHEN ec._missing_vector(_v, label, weight) THEN NULL
        WHEN ec._vector_usable(_v, _y, _m, score_type, weight) THEN ec._key(ec._vector_classes(_v, _m, score_type), _y, 0)
        ELSE -1 END, score, matrix, ec._class(label));
CREATE OR REPLACE MACRO ec._class_key_by(type "NULL", score, label, matrix, score_type, weight) AS
    ec._class_key_of_row(score, label, matrix, score_type, weight),
(type, score, label, matrix, score_type, weight) AS ec._class_key_of_row(score, label, matrix, NULL, weight);
CREATE OR REPLACE MACRO ec._vector_class_key(score, label, matrix, score_type, weight) AS
    CASE WHEN ec._list_type_ok(matrix, CAST(score_type AS VARCHAR))
         THEN ec._class_key_by(ec._posteriors_type(score_type), score, label, matrix, CAST(score_type AS VARCHAR), weight) END;

-- A histogram of keys as a list of cells {k, y, d, n}; wrong rows have k = -1.
CREATE OR REPLACE MACRO ec._tally(histogram) AS
    list_transform(coalesce(map_entries(histogram), []), lambda _e: {
        'k': _e['key'] >> 40, 'y': (_e['key'] >> 20) & 1048575, 'd': _e['key'] & 1048575, 'n': CAST(_e['value'] AS DOUBLE)});

-- The same where each key carries a weight.
CREATE OR REPLACE MACRO ec._weighted_tally(histogram) AS
    list_transform(coalesce(map_entries(histogram), []), lambda _e: {
        'k': _e['key']['key'] >> 40, 'y': (_e['key']['key'] >> 20) & 1048575, 'd': _e['key']['key'] & 1048575, 'n': _e['key']['weight'] * _e['value']});

-- A wrong row's weight is of no interest, and may be NaN.
CREATE OR REPLACE MACRO ec._weighted_key(key, weight) AS
    invoke(lambda _k: CASE WHEN _k IS NULL THEN NULL
                           WHEN _k < 0 THEN {'key': _k, 'weight': 1e0}
                           ELSE {'key': _k, 'weight': ec._weight(weight)} END, key);

CREATE OR REPLACE MACRO ec._total(cells) AS coalesce(list_sum(list_transform(cells, lambda _c: _c['n'])), 0);

-- Rows whose length is not the costs', or else the group's largest, are wrong too.
CREATE OR REPLACE MACRO ec._tally_classes(tally) AS list_max(list_transform(tally, lambda _c: _c['k']));
CREATE OR REPLACE MACRO ec._tally_invalid(tally, k) AS
    list_transform([tally], lambda _t:
        ec._total(list_filter(_t, lambda _c: _c['k'] < 0 OR _c['k'] <> coalesce(k, ec._tally_classes(_t)))))[1];

-- True, or an error where all rows that are usable are of the same number of classes, and it is not k. A k of NULL is any.
CREATE OR REPLACE MACRO ec._classes_ok(tally, k) AS
    list_transform([list_filter(list_transform(tally, lambda _c: _c['k']), lambda _k: _k > 0)], lambda _k:
        CASE WHEN list_min(_k) = list_max(_k) AND list_max(_k) <> k
             THEN error(format('ec: the lists have {} classes, but this metric or its costs (cost_fn, cost_fp) have {}: '
                               || 'pass costs with one row per class, or the posterior of one class and label = that class',
                               list_max(_k), k)) IS NULL
             ELSE true END)[1];

-- Is any row wrong, or the sum of the weights too large? Weights may be 0, so this looks at the cells that are there; and once
-- over, for there may be many.
CREATE OR REPLACE MACRO ec._any_wrong(tally) AS
    list_transform([{'k': list_transform(tally, lambda _c: _c['k']), 'n': ec._total(tally)}], lambda _s:
        coalesce(list_min(_s['k']) < 0 OR list_min(_s['k']) <> list_max(_s['k']) OR NOT ec._addable(_s['n']), false))[1];

CREATE OR REPLACE MACRO ec._count_vector(score, label, matrix, score_type, weight) AS
    ec._tally(histogram(ec._vector_class_key(score, label, matrix, score_type, weight)));
CREATE OR REPLACE MACRO ec._two_classes(score, label, score_type, weight) AS
    ec._classes_ok(ec._count_vector(score, label, CAST(NULL AS DOUBLE[][]), score_type, weight), 2);

-- Sums per class of a value of the row, NULL for a row that misses a part. The number of classes is not known while the macro is written,
-- so there are 32 sums; of lists of more classes the rows of a group are kept, {y class, w weight, s value}.
CREATE OR REPLACE MACRO ec._sum_class(i, label, value) AS sum(invoke(lambda _x: CASE WHEN ec._y(label) = i THEN _x END, value));
CREATE OR REPLACE MACRO ec._sum_by_class(label, value) AS [
    ec._sum_class(0, label, value), ec._sum_class(1, label, value), ec._sum_class(2, label, value), ec._sum_class(3, label, value),
    ec._sum_class(4, label, value), ec._sum_class(5, label, value), ec._sum_class(6, label, value), ec._sum_class(7, label, value),
    ec._sum_class(8, label, value), ec._sum_class(9, label, value), ec._sum_class(10, label, value), ec._sum_class(11, label, value),
    ec._sum_class(12, label, value), ec._sum_class(13, label, value), ec._sum_class(14, label, value), ec._sum_class(15, label, value),
    ec._sum_class(16, label, value), ec._sum_class(17, label, value), ec._sum_class(18, label, value), ec._sum_class(19, label, value),
    ec._sum_class(20, label, value), ec._sum_class(21, label, value), ec._sum_class(22, label, value), ec._sum_class(23, label, value),
    ec._sum_class(24, label, value), ec._sum_class(25, label, value), ec._sum_class(26, label, value), ec._sum_class(27, label, value),
    ec._sum_class(28, label, value), ec._sum_class(29, label, value), ec._sum_class(30, label, value), ec._sum_class(31, label, value)];
CREATE OR REPLACE MACRO ec._kept(prior "NULL", score, label, weight "NULL", value) AS CAST(NULL AS STRUCT(y INTEGER, w DOUBLE, s DOUBLE)[]),
(prior, score, label, weight, value) AS
    list({'y': ec._y(label), 'w': CAST(ec._weight(weight) AS DOUBLE), 's': CAST(value AS DOUBLE)}) FILTER (WHERE len(score) > 32);
CREATE OR REPLACE MACRO ec._of_kept(rows, k, part) AS
    list_transform(range(k), lambda _i: list_sum(list_transform(list_filter(rows, lambda _r: _r['y'] = _i AND _r['s'] IS NOT NULL), lambda _r: _r[part])));
CREATE OR REPLACE MACRO ec._each_sum(sums, rows, k, part) AS
    list_transform(CASE WHEN k > 32 THEN ec._of_kept(rows, k, part) ELSE sums[1:k] END, lambda _x: coalesce(_x, 0));

-- 1 for a row that misses nothing, else NULL.
CREATE OR REPLACE MACRO ec._whole_row(score, label, weight) AS
    invoke(lambda _v: CASE WHEN NOT ec._missing_vector(_v, label, weight) THEN 1e0 END, score);

-- Weights per class; nothing is summed where no weight is given: then the histogram has the counts.
CREATE OR REPLACE MACRO ec._weight_by_class(score, label, weight "NULL") AS CAST(NULL AS DOUBLE[]),
(score, label, weight) AS
    ec._sum_by_class(label, invoke(lambda _v: CASE WHEN NOT ec._missing_vector(_v, label, weight) THEN CAST(weight AS DOUBLE) END, score));

-- Any metric is sum_i P_i * (s_i / n_i): class sums n and s of the group, and priors p. A term with prior 0 is 0; a class
-- with prior > 0 and no rows makes the whole NULL (list_reduce keeps NULL, list_sum would skip it).
CREATE OR REPLACE MACRO ec._term(p, x) AS CASE WHEN p = 0 THEN 0e0 ELSE p * x END;
CREATE OR REPLACE MACRO ec._ratio(x, y) AS x / nullif(y, 0);
CREATE OR REPLACE MACRO ec._plus(terms) AS list_reduce(terms, lambda _a, _b: _a + _b, 0e0);
CREATE OR REPLACE MACRO ec._each_mean(n, s) AS list_transform(n, lambda _x, _i: ec._ratio(s[_i], _x));
CREATE OR REPLACE MACRO ec._expect(p, means) AS
    invoke(lambda _p, _m: ec._plus(list_transform(_p, lambda _x, _i: ec._term(_x, _m[_i]))), p, means);

-- Is a stated prior one list in the group?
CREATE OR REPLACE MACRO ec._priors_hold(prior "NULL") AS prior IS NULL,
(prior) AS coalesce(min(ec._priors(prior)) = max(ec._priors(prior)) AND NOT coalesce(isnan(max(ec._priors(prior))[1]), false), false);

-- Priors of K classes: stated, uniform, or n/N. NULL for a prior that is none or not one list in the group.
CREATE OR REPLACE MACRO ec._class_priors(n, low, high) AS invoke(lambda _n, _low, _high:
    CASE WHEN list_sum(_n) = 0 OR NOT ec._addable(list_sum(_n)) THEN NULL
         WHEN _high IS NULL THEN list_transform(_n, lambda _x: _x / list_sum(_n))
         WHEN _low <> _high THEN NULL
         WHEN len(CAST(_high AS DOUBLE[])) = 0 THEN list_transform(_n, lambda _x: 1e0 / len(_n))
         WHEN isnan(CAST(_high AS DOUBLE[])[1]) THEN NULL
         WHEN len(CAST(_high AS DOUBLE[])) = len(_n) THEN CAST(_high AS DOUBLE[])
         ELSE [ec._fail('prior has ' || CAST(len(CAST(_high AS DOUBLE[])) AS VARCHAR) || ' numbers for ' || CAST(len(_n) AS VARCHAR)
                        || ' classes: ' || CAST(_high AS VARCHAR))] END, n, low, high);

-- Lists of the values of each key, 0 .. n - 1, given both sorted by the key; NULL for a key that does not occur.
CREATE OR REPLACE MACRO ec._runs(values_, keys, n) AS
    invoke(lambda _v, _k, _r: list_transform(range(n), lambda _i: CASE WHEN list_position(_k, _i) IS NOT NULL
               THEN _v[list_position(_k, _i) : len(_k) + 1 - list_position(_r, _i)] END), values_, keys, list_reverse(keys));
CREATE OR REPLACE MACRO ec._part(cells, part) AS list_transform(cells, lambda _c: _c[part]);
CREATE OR REPLACE MACRO ec._cells_by_class(tally, k) AS ec._runs(tally, ec._part(tally, 'y'), k);
CREATE OR REPLACE MACRO ec._tally_n(tally, k) AS
    list_transform(ec._runs(ec._part(tally, 'n'), ec._part(tally, 'y'), k), lambda _n: coalesce(list_sum(_n), 0));

-- Class sums n of a group of list rows; NULL when a row is wrong. Without weights there are no sums of them.
CREATE OR REPLACE MACRO ec._class_n(tally, sums, rows) AS
    CASE WHEN len(tally) = 0 OR ec._any_wrong(tally) THEN NULL
         WHEN sums IS NULL THEN ec._tally_n(tally, ec._tally_classes(tally))
         ELSE ec._each_sum(sums, rows, ec._tally_classes(tally), 'w') END;

CREATE OR REPLACE MACRO ec._tally_cell(tally, i, j) AS ec._total(list_filter(tally, lambda _c: _c['y'] = i AND _c['d'] = j));
CREATE OR REPLACE MACRO ec._matrix(tally, k, m) AS
    list_transform(ec._cells_by_class(tally, k), lambda _t:
        list_transform(ec._runs(coalesce(ec._part(_t, 'n'), []), coalesce(ec._part(_t, 'd'), []), m), lambda _n: coalesce(list_sum(_n), 0)));

-- Binary metrics of costs that are not a 2 x 2 matrix are errors.
CREATE OR REPLACE MACRO ec._two_by_two(costs) AS
    CASE WHEN ec._wide(costs)
         THEN error('ec: a single score needs 2 x 2 costs. For other costs pass a list: [1 - q, q], or [decision] with score_type ''decision''') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._two_rows(m) AS
    CASE WHEN len(m) > 2
         THEN error('ec: a single score and a single prior are for 2 classes. For more pass a list: posteriors, or [decision] with score_type ''decision''') IS NULL
         ELSE true END;

-- Costs of which a count needs the shape only.
CREATE OR REPLACE MACRO ec._shape_ok(costs "NULL") AS costs IS NULL, (costs) AS ec._costs_ok(costs, 1, 1);

-- Decided cells {k, y, d, n} of lists of scores. With weights the histogram has one entry for each different weight: a
-- sketch has few, a log with a weight of its own in each row many, and they are held in memory.
CREATE OR REPLACE MACRO ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    list_transform([{
            'counts': histogram(CASE WHEN ec._unset(weight) THEN
                          ec._vector_key(score, label, matrix, prior, threshold, score_type, weight) END),
            'weights': histogram(CASE WHEN ec._unset(weight) THEN NULL ELSE ec._weighted_key(
                           ec._vector_key(score, label, matrix, prior, threshold, score_type, weight), weight) END)}],
        lambda _s: list_concat(ec._tally(_s['counts']), ec._weighted_tally(_s['weights'])))[1];

-- Cells of lists of two scores.
CREATE OR REPLACE MACRO ec._cells_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    ec._cells_of_sums(list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight),
            'prior': ec._stated_prior(prior)}],
        lambda _s: CASE WHEN ec._classes_ok(_s['t'], 2) THEN {'invalid': len(list_filter(_s['t'], lambda _c: _c['k'] <> 2)), 'prior': _s['prior'],
                   'tn': ec._tally_cell(_s['t'], 0, 0), 'fp': ec._tally_cell(_s['t'], 0, 1),
                   'fn': ec._tally_cell(_s['t'], 1, 0), 'tp': ec._tally_cell(_s['t'], 1, 1)} END));

-- Rows that lack the costs that they were to have.
CREATE OR REPLACE MACRO ec._count_uncosted(cost_fn, cost_fp) AS
    ec._count(NOT coalesce(ec._binary_costs_ok(cost_fn, cost_fp), false));

-- The cells of scores and of lists of two, where the costs are 2 x 2.
CREATE OR REPLACE MACRO ec._cells_of_costs(kind "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp)
         THEN ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) END,
(kind, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            'uncosted': ec._count_uncosted(cost_fn, cost_fp)}],
        lambda _g: CASE WHEN _g['uncosted'] = 0 THEN _g['c'] END);
CREATE OR REPLACE MACRO ec._binary_cells(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_of_costs(ec._column_type(cost_fn, cost_fp), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            'm': ec._given_costs(costs)}],
        lambda _g: CASE WHEN ec._one_way(cost_fn, cost_fp) AND ec._two_rows(_g['m']) AND ec._two_by_two(_g['m'])
                             AND ec._matrix_ok(_g['m'], costs) THEN _g['c'] END);
CREATE OR REPLACE MACRO ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._two_by_two(costs) AND ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._cells_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight) END;

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.n_rows(score DOUBLE, label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(
        count(*) - ec._count(ec._missing(score, label, weight)) - ec._count_invalid(score, label, costs, score_type, weight) AS BIGINT) END,
(score DOUBLE[], label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN
        list_transform([{'t': ec._count_vector(score, label, ec._given_costs(costs), score_type, weight), 'c': ec._given_costs(costs)}],
                       lambda _s: CAST(ec._total(_s['t']) - ec._tally_invalid(_s['t'], len(_s['c'])) AS BIGINT))[1] END;
COMMENT ON MACRO ec.n_rows IS 'Number of valid rows: no missing value, no invalid value.';

CREATE OR REPLACE MACRO ec.n_missing(score DOUBLE, label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count(ec._missing(score, label, weight)) AS BIGINT) END,
(score DOUBLE[], label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count(ec._missing_vector(score, label, weight)) AS BIGINT) END;
COMMENT ON MACRO ec.n_missing IS 'Number of rows with missing values, which are left out: label, score (or an element of it) or weight is NULL.';

CREATE OR REPLACE MACRO ec.n_invalid(score DOUBLE, label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count_invalid(score, label, costs, score_type, weight) AS BIGINT) END,
(score DOUBLE[], label, costs, score_type, weight) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._tally_invalid(
        ec._count_vector(score, label, ec._given_costs(costs), score_type, weight), len(ec._given_costs(costs))) AS BIGINT) END;
COMMENT ON MACRO ec.n_invalid IS 'Number of invalid rows: NaN, a posterior outside 0..1, a label that is not a class, or a negative or infinite weight.';

CREATE OR REPLACE MACRO ec.class_prior(score DOUBLE, label, costs, score_type, weight) AS
    list_transform([{'invalid': ec._count_invalid(score, label, costs, score_type, weight),
                     'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight)}],
        lambda _s: CASE WHEN ec._shape_ok(costs) AND ec._two_rows(ec._given_costs(costs)) AND _s['invalid'] = 0
                             AND ec._addable(_s['n1'] + _s['n0'])
                        THEN ec._share(_s['n1'], _s['n0']) END)[1],
(score DOUBLE[], label, costs, score_type, weight) AS
    list_transform([{'tally': ec._count_vector(score, label, ec._given_costs(costs), score_type, weight),
                     'n': ec._weight_by_class(score, label, weight),
                     'rows': ec._kept(NULL, score, label, weight, ec._whole_row(score, label, weight)), 'c': ec._given_costs(costs)}],
        lambda _s: CASE WHEN ec._shape_ok(costs) AND ec._classes_ok(_s['tally'], len(_s['c']))
                        THEN ec._class_priors(ec._class_n(_s['tally'], _s['n'], _s['rows']), NULL, NULL) END)[1];
COMMENT ON MACRO ec.class_prior IS 'Base rate of the positive class, N_1/N. For lists, also of two numbers: [N_0/N, ..., N_(K-1)/N].';

-- A value of the type of counts: BIGINT, or with weights that of their sum with 0, DOUBLE as a rule.
CREATE OR REPLACE MACRO ec._count_type(weight "NULL") AS CAST(0 AS BIGINT),
(weight) AS any_value(coalesce(weight, CAST(0 AS BIGINT)));
CREATE OR REPLACE MACRO ec._confusion_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight), 'c': CAST(matrix AS DOUBLE[][]),
            'k': max(len(score)), 'w': ec._count_type(weight), 'prior': ec._priors_hold(prior)}],
        lambda _s: CASE WHEN _s['prior'] AND ec._classes_ok(_s['t'], len(_s['c'])) AND NOT ec._any_wrong(_s['t']) THEN
            list_transform(ec._matrix(_s['t'], coalesce(len(_s['c']), _s['k']), coalesce(len(_s['c'][1]), _s['k'])),
                           lambda _r: list_transform(_r, lambda _x: cast_to_type(_x, _s['w']))) END)[1];
CREATE OR REPLACE MACRO ec.confusion(score DOUBLE, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{'c': ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
                     'w': ec._count_type(weight)}],
        lambda _s: CASE WHEN _s['c']['p1'] IS NOT NULL OR _s['c']['n1'] + _s['c']['n0'] = 0 THEN {
            'tn': cast_to_type(_s['c']['tn'], _s['w']), 'fp': cast_to_type(_s['c']['fp'], _s['w']),
            'fn': cast_to_type(_s['c']['fn'], _s['w']), 'tp': cast_to_type(_s['c']['tp'], _s['w'])} END)[1],
(score DOUBLE[], label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._confusion_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight) END;
COMMENT ON MACRO ec.confusion IS 'Confusion matrix: the counts N_ij of rows of class i with decision j. STRUCT(tn, fp, fn, tp), for lists a K x M list of rows. BIGINT, with weights DOUBLE.';
