-- polars_ec for DuckDB, file 5 of 12: expectations of scoring rules. Load after decisions.
-- Every one is sum_i P_i * mean over class i of a loss of the row: the files rows (losses) and counts (sums) do the rest.

-- Means of a loss, class by class -------------------------------------------------------------------------------------

-- Binary. sum1 and sum0 are the sums of the loss over the rows of class 1 and 0.
CREATE OR REPLACE MACRO ec._losses(score, label, prior, score_type, weight, sum1, sum0) AS
    list_transform([{
            'invalid': ec._count_invalid(ec._likely(score, score_type, prior), label, NULL, score_type, weight),
            'prior': ec._stated_prior(prior),
            'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight),
            's1': sum1, 's0': sum0}],
        lambda _s: CASE WHEN _s['invalid'] = 0 AND ec._addable(_s['n1'] + _s['n0']) THEN {
            'm1': ec._ratio(_s['s1'], _s['n1']), 'm0': ec._ratio(_s['s0'], _s['n0']),
            'p1': ec._prior_of_1(_s['n1'], _s['n0'], _s['prior']), 'p0': ec._prior_of_0(_s['n1'], _s['n0'], _s['prior'])} END);

-- K classes: class sums {n}, priors {p} and the expectation {e} of the loss. At the group's own priors it is the mean over all rows, and
-- no sum per class is needed.
CREATE OR REPLACE MACRO ec._loss_of_row(score, label, weight, loss) AS
    CASE WHEN NOT ec._missing_vector(score, label, weight) THEN ec._weighted(loss, weight) END;
CREATE OR REPLACE MACRO ec._losses_vector(score, label, prior "NULL", score_type, weight, loss) AS
    list_transform(list_transform([{
            'ok': bool_and(ec._list_losses_ok(prior, CAST(score_type AS VARCHAR))),
            'tally': ec._count_vector(ec._likely_list(score, score_type, prior), label, CAST(NULL AS DOUBLE[][]), score_type, weight),
            'n': ec._weight_by_class(score, label, weight), 'rows': ec._kept(NULL, score, label, weight, loss), 's': sum(loss)}],
        lambda _g: {'n': CASE WHEN _g['ok'] THEN ec._class_n(_g['tally'], _g['n'], _g['rows']) END, 's': _g['s']}),
        lambda _g: invoke(lambda _p: {'e': CASE WHEN _p IS NOT NULL THEN _g['s'] / list_sum(_g['n']) END, 'p': _p},
                          ec._class_priors(_g['n'], CASE WHEN prior IS NULL THEN CAST(NULL AS DOUBLE[]) END, CAST(NULL AS DOUBLE[])))),
(score, label, prior, score_type, weight, loss) AS
    list_transform(list_transform([{
            'ok': bool_and(ec._list_losses_ok(prior, CAST(score_type AS VARCHAR))),
            'tally': ec._count_vector(ec._likely_list(score, score_type, prior), label, CAST(NULL AS DOUBLE[][]), score_type, weight),
            'n': ec._weight_by_class(score, label, weight), 'rows': ec._kept(1, score, label, weight, loss),
            's': ec._sum_by_class(label, loss), 'low': min(ec._priors(prior)), 'high': max(ec._priors(prior))}],
        lambda _g: {'n': CASE WHEN _g['ok'] THEN ec._class_n(_g['tally'], _g['n'], _g['rows']) END,
                    's': ec._each_sum(_g['s'], _g['rows'], ec._tally_classes(_g['tally']), 's'), 'low': _g['low'], 'high': _g['high']}),
        lambda _g: invoke(lambda _p: {'e': ec._expect(_p, ec._each_mean(_g['n'], _g['s'])), 'p': _p},
                          ec._class_priors(_g['n'], _g['low'], _g['high'])));

-- Of losses l of one group, and of a list of one.
CREATE OR REPLACE MACRO ec._loss_of(l) AS ec._term(l['p1'], l['m1']) + ec._term(l['p0'], l['m0']);
CREATE OR REPLACE MACRO ec._mean_loss(losses) AS list_transform(losses, lambda _l: ec._loss_of(_l))[1];

-- What the prior itself scores: entropy, and the Brier score of the prior as a posterior. -ln(p) near 1 is made of the other
-- priors, for p has lost their digits.
CREATE OR REPLACE MACRO ec._nats(p, others) AS
    CASE WHEN p = 0 THEN 0e0 WHEN p > 0.5 THEN p * ec._minus_log1m(others) ELSE -p * ln(p) END;
CREATE OR REPLACE MACRO ec._loss_over_entropy(l) AS ec._ratio(ec._loss_of(l), ec._nats(l['p1'], l['p0']) + ec._nats(l['p0'], l['p1']));
CREATE OR REPLACE MACRO ec._mean_over_entropy(losses) AS list_transform(losses, lambda _l: ec._loss_over_entropy(_l))[1];
CREATE OR REPLACE MACRO ec._loss_over_spread(l) AS ec._ratio(ec._loss_of(l), l['p1'] * l['p0']);
CREATE OR REPLACE MACRO ec._mean_over_spread(losses) AS list_transform(losses, lambda _l: ec._loss_over_spread(_l))[1];
-- 1 - P_i without loss of digits.
CREATE OR REPLACE MACRO ec._others(p, i) AS list_sum(list_transform(p, lambda _y, _j: CASE WHEN _j = i THEN 0 ELSE _y END));
CREATE OR REPLACE MACRO ec._expected_loss(losses) AS list_transform(losses, lambda _l: _l['e'])[1];
CREATE OR REPLACE MACRO ec._entropy(p) AS ec._plus(list_transform(p, lambda _x, _i: ec._nats(_x, ec._others(p, _i))));
CREATE OR REPLACE MACRO ec._expected_over_entropy(losses) AS
    list_transform(losses, lambda _l: ec._ratio(_l['e'], ec._entropy(_l['p'])))[1];
-- The sum of P_i (1 - P_i).
CREATE OR REPLACE MACRO ec._spread(p) AS list_sum(list_transform(p, lambda _x, _i: _x * ec._others(p, _i))) / len(p);
CREATE OR REPLACE MACRO ec._expected_over_spread(losses) AS
    list_transform(losses, lambda _l: ec._ratio(_l['e'], ec._spread(_l['p'])))[1];

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._sum_log_losses(score, label, prior, score_type, weight "NULL") AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_loss(1, score, label, ec._log_loss1(score, score_type, prior)),
               ec._sum_loss(0, score, label, ec._log_loss0(score, score_type, prior))),
(score, label, prior, score_type, weight) AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_loss(1, score, label, ec._weighted(ec._log_loss1(score, score_type, prior), weight)),
               ec._sum_loss(0, score, label, ec._weighted(ec._log_loss0(score, score_type, prior), weight)));
CREATE OR REPLACE MACRO ec._log_losses_by(type "NULL", score, label, prior, score_type, weight) AS
    ec._sum_log_losses(score, label, prior, CAST(score_type AS VARCHAR), weight),
(type, score, label, prior, score_type, weight) AS ec._sum_log_losses(score, label, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._log_losses(score, label, prior, score_type, weight) AS
    ec._log_losses_by(ec._posterior_type(score_type), score, label, prior, score_type, weight);
CREATE OR REPLACE MACRO ec._log_loss_of_row(type "NULL", score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_log_loss(_v, ec._y(label), CAST(score_type AS VARCHAR), prior)), score),
(type, score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_log_loss(_v, ec._y(label), NULL, prior)), score);
CREATE OR REPLACE MACRO ec._log_losses_vector(score, label, prior, score_type, weight) AS
    ec._losses_vector(score, label, prior, score_type, weight,
                      ec._log_loss_of_row(ec._posteriors_type(score_type), score, label, prior, score_type, weight));
CREATE OR REPLACE MACRO ec._sum_briers(score, label, prior, score_type, weight "NULL") AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_brier(1, score, label, ec._brier1(score, score_type, prior), score_type),
               ec._sum_brier(0, score, label, ec._brier0(score, score_type, prior), score_type)),
(score, label, prior, score_type, weight) AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_brier(1, score, label, ec._weighted(ec._brier1(score, score_type, prior), weight), score_type),
               ec._sum_brier(0, score, label, ec._weighted(ec._brier0(score, score_type, prior), weight), score_type));
CREATE OR REPLACE MACRO ec._briers_by(type "NULL", score, label, prior, score_type, weight) AS
    ec._sum_briers(score, label, prior, CAST(score_type AS VARCHAR), weight),
(type, score, label, prior, score_type, weight) AS ec._sum_briers(score, label, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._briers(score, label, prior, score_type, weight) AS
    ec._briers_by(ec._posterior_type(score_type), score, label, prior, score_type, weight);
CREATE OR REPLACE MACRO ec._brier_of_row(type "NULL", score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_brier(_v, ec._y(label), CAST(score_type AS VARCHAR), prior)), score),
(type, score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_brier(_v, ec._y(label), NULL, prior)), score);
CREATE OR REPLACE MACRO ec._briers_vector(score, label, prior, score_type, weight) AS
    ec._losses_vector(score, label, prior, score_type, weight,
                      ec._brier_of_row(ec._posteriors_type(score_type), score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec.cross_entropy(score DOUBLE, label, score_type, prior, weight) AS
    ec._mean_loss(ec._log_losses(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type, prior, weight) AS
    ec._expected_loss(ec._log_losses_vector(score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec.nce(score DOUBLE, label, score_type, prior, weight) AS
    ec._mean_over_entropy(ec._log_losses(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type, prior, weight) AS
    ec._expected_over_entropy(ec._log_losses_vector(score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec.brier(score DOUBLE, label, score_type, prior, weight) AS
    ec._mean_loss(ec._briers(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type, prior, weight) AS
    ec._expected_loss(ec._briers_vector(score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec.nbs(score DOUBLE, label, score_type, prior, weight) AS
    ec._mean_over_spread(ec._briers(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type, prior, weight) AS
    ec._expected_over_spread(ec._briers_vector(score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec._not_decided(score_type) AS
    CASE WHEN score_type = 'decision'
         THEN error('ec: bayes_risk makes its own decisions: for given decisions use expected_cost') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec.bayes_risk(score DOUBLE, label, costs, cost_fn, cost_fp, prior, score_type, weight) AS
    CASE WHEN ec._not_decided(score_type)
         THEN ec._expected_cost(score, label, costs, cost_fn, cost_fp, prior, NULL, score_type, weight) END,
(score DOUBLE[], label, costs, cost_fn, cost_fp, prior, score_type, weight) AS
    CASE WHEN ec._not_decided(score_type) AND ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._expected(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, NULL,
                                            score_type, weight, 'cost')) END;

CREATE OR REPLACE MACRO ec._llr_only(score_type) AS
    CASE WHEN CAST(score_type AS VARCHAR) = 'llr' THEN score_type
         ELSE error(concat('ec: cllr needs score_type := ''llr'', not ''', score_type, ''': ec.llr(score, prior) computes LLRs')) END;
CREATE OR REPLACE MACRO ec.cllr(score DOUBLE, label, score_type, weight) AS
    list_transform(ec._losses(score, label, NULL, ec._llr_only(score_type), weight,
                              ec._sum_loss(1, score, label, ec._weighted(ec._softplus(-score), weight)),
                              ec._sum_loss(0, score, label, ec._weighted(ec._softplus(score), weight))),
                   lambda _l: (_l['m1'] + _l['m0']) / (2 * ln(2e0)))[1];

-- epsr ----------------------------------------------------------------------------------------------------------------

-- I(q) = integral of t^(a-2) (1-t)^(b-1) from q to 1; x = 1 - q comes along so that neither tail loses digits. Every
-- series is in a number <= 1/2, and has enough terms for 1e-16 while a, b <= 20; its coefficients are constants.
CREATE OR REPLACE MACRO ec._terms(a, b) AS 60 + 3 * CAST(ceil(greatest(a, b)) AS INTEGER);

-- (u)_k / (v)_(k+1), highest k first.
CREATE OR REPLACE MACRO ec._rising(u, v, n) AS
    list_transform(range(n), lambda _k: coalesce(list_product(list_transform(range(n - 1 - _k),
        lambda _j: (u + _j) / (v + 1 + _j))), 1) / v);
-- (1-b)_k / k! / (a-1+k) for k = 1..n, highest k first.
CREATE OR REPLACE MACRO ec._binomial(a, b, n) AS
    list_transform(range(n), lambda _k: list_product(list_transform(range(n - _k),
        lambda _j: (1 - b + _j) / (1 + _j))) / (a - 1 + n - _k));
CREATE OR REPLACE MACRO ec._horner(coefficients, x) AS list_reduce(coefficients, lambda _s, _c: _s * x + _c);

-- q >= 1/2: positive terms.
CREATE OR REPLACE MACRO ec._integral_high(q, x, a, b) AS
    pow(x, b) * pow(q, a - 1) * ec._horner(ec._rising(a + b - 1, b, ec._terms(a, b)), x);
-- q < 1/2 and a > 1: the whole integral less that from 0 to q, positive terms again.
CREATE OR REPLACE MACRO ec._integral_from_0(q, x, a, b) AS
    pow(q, a - 1) * pow(x, b) * ec._horner(ec._rising(a + b - 1, a - 1, ec._terms(a, b)), q);
-- q < 1/2 and a about 1 or less: from q to 1/2 term by term of (1-t)^(b-1). The first term is ln(1/2q) at a = 1 and near
-- it (exp(z) - 1)/z, z = (a-1) ln 2q, where sinh keeps the digits.
CREATE OR REPLACE MACRO ec._first_term(q, c) AS
    CASE WHEN c = 0 THEN -ln(2 * q)
         WHEN abs(c * ln(2 * q)) < 1
         THEN -pow(0.5e0, c) * 2 * sinh(c * ln(2 * q) / 2) * exp(c * ln(2 * q) / 2) / c
         ELSE (pow(0.5e0, c) - pow(q, c)) / c END;
CREATE OR REPLACE MACRO ec._integral_low(q, a, b) AS
    ec._integral_high(0.5e0, 0.5e0, a, b) + ec._first_term(q, a - 1)
    + pow(0.5e0, a) * ec._horner(ec._binomial(a, b, ec._terms(a, b)), 0.5e0)
    - pow(q, a) * ec._horner(ec._binomial(a, b, ec._terms(a, b)), q);

CREATE OR REPLACE MACRO ec._beta(a, b) AS exp(lgamma(a) + lgamma(b) - lgamma(a + b));
CREATE OR REPLACE MACRO ec._epsr_loss(q, x, a, b) AS
    CASE WHEN NOT (a >= 0.001 AND b >= 0.001 AND a <= 20 AND b <= 20) THEN NULL
         WHEN a = 2 AND b = 2 THEN 3 * x * x
         WHEN a = 1 AND b = 1 THEN CASE WHEN q < 0.5 THEN -ln(q) ELSE ec._minus_log1m(x) END
         WHEN q >= 0.5 THEN ec._integral_high(q, x, a, b) / ec._beta(a, b)
         WHEN a > 1.1 THEN (a + b - 1) / (a - 1) - ec._integral_from_0(q, x, a, b) / ec._beta(a, b)
         ELSE ec._integral_low(q, a, b) / ec._beta(a, b) END;

-- Seen from class 0 the roles of q and 1 - q, a and b are exchanged.
CREATE OR REPLACE MACRO ec._sum_epsr(i, score, label, q, x, a, b, weight) AS
    sum(invoke(lambda _q, _x: ec._weighted(ec._epsr_loss(_q, _x, a, b), weight),
               CASE WHEN ec._of_class(i, score, label) THEN q END, CASE WHEN ec._of_class(i, score, label) THEN x END));
CREATE OR REPLACE MACRO ec._epsr(score, label, a, b, prior, score_type, weight) AS
    ec._mean_loss(ec._losses(score, label, prior, score_type, weight,
        ec._sum_epsr(1, score, label, ec._posterior(score, score_type, prior), ec._q0(score, score_type, prior), a, b, weight),
        ec._sum_epsr(0, score, label, ec._q0(score, score_type, prior), ec._posterior(score, score_type, prior), b, a, weight)));
CREATE OR REPLACE MACRO ec._beta_ok(x, name) AS
    ec._number_is(x >= 0.001 AND x <= 20, x, format('epsr needs {} from 0.001 to 20', name));
CREATE OR REPLACE MACRO ec.epsr(score DOUBLE, label, a, b, score_type, prior, weight) AS
    CASE WHEN ec._beta_ok(a, 'a') AND ec._beta_ok(b, 'b')
         THEN ec._epsr(score, label, CAST(a AS DOUBLE), CAST(b AS DOUBLE), prior, score_type, weight) END,
(score DOUBLE[], label, a, b, score_type, prior, weight) AS
    CASE WHEN ec._beta_ok(a, 'a') AND ec._beta_ok(b, 'b') AND ec._two_classes(score, label, score_type, weight)
         THEN ec._epsr(ec._pair(score, score_type), label, CAST(a AS DOUBLE), CAST(b AS DOUBLE), prior,
                       ec._pair_type(score_type), weight) END;
COMMENT ON MACRO ec.epsr IS 'Mean Bayes risk under the costs [[0, 1/(1-t)], [1/t, 0]] with t ~ Beta(a, b), lower is better: a = b = 1 is CE, a = b = 2 is 3 BS.';
