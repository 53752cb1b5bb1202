-- polars_ec for DuckDB, file 10 of 12: quantiles of the normal distribution and of t. Load after ece.

-- The algorithm is that of polars_ec/inference/confidence.py, which says why it is right; the nodes and weights are those of its rules.

-- Wichura 1988, algorithm AS 241 (PPND16).
CREATE OR REPLACE MACRO ec._normal_in_the_middle(r) AS
    (((((((2509.0809287301227e0 * r + 33430.57558358813e0) * r + 67265.7709270087e0) * r + 45921.95393154987e0) * r + 13731.69376550946e0) * r
         + 1971.5909503065513e0) * r + 133.14166789178438e0) * r + 3.3871328727963665e0)
    / (((((((5226.495278852546e0 * r + 28729.085735721943e0) * r + 39307.89580009271e0) * r + 21213.794301586597e0) * r + 5394.196021424751e0) * r
         + 687.1870074920579e0) * r + 42.31333070160091e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_beyond(r) AS
    (((((((0.0007745450142783414e0 * r + 0.022723844989269184e0) * r + 0.2417807251774506e0) * r + 1.2704582524523684e0) * r + 3.6478483247632045e0) * r
         + 5.769497221460691e0) * r + 4.630337846156546e0) * r + 1.4234371107496835e0)
    / (((((((1.0507500716444169e-09 * r + 0.0005475938084995345e0) * r + 0.015198666563616457e0) * r + 0.14810397642748008e0) * r + 0.6897673349851e0) * r
         + 1.6763848301838038e0) * r + 2.053191626637759e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_far_out(r) AS
    (((((((2.0103343992922881e-07 * r + 2.7115555687434876e-05) * r + 0.0012426609473880784e0) * r + 0.026532189526576124e0) * r + 0.29656057182850487e0) * r
         + 1.7848265399172913e0) * r + 5.463784911164114e0) * r + 6.657904643501103e0)
    / (((((((2.0442631033899397e-15 * r + 1.421511758316446e-07) * r + 1.8463183175100548e-05) * r + 0.0007868691311456133e0) * r + 0.014875361290850615e0) * r
         + 0.1369298809227358e0) * r + 0.599832206555888e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_outside(p, r) AS
    sign(p - 0.5e0) * CASE WHEN r <= 5 THEN invoke(lambda _x: ec._normal_beyond(_x), r - 1.6e0)
                           ELSE invoke(lambda _x: ec._normal_far_out(_x), r - 5) END;
CREATE OR REPLACE MACRO ec._normal_quantile(p) AS
    CASE WHEN p IS NULL THEN NULL
         WHEN p = 0 THEN -1e0 / 0
         WHEN p = 1 THEN 1e0 / 0
         WHEN NOT p BETWEEN 0 AND 1 THEN CAST('nan' AS DOUBLE)
         WHEN abs(p - 0.5e0) <= 0.425e0
         THEN (p - 0.5e0) * invoke(lambda _r: ec._normal_in_the_middle(_r), 0.180625e0 - (p - 0.5e0) * (p - 0.5e0))
         ELSE invoke(lambda _r: ec._normal_outside(p, _r), sqrt(-ln(least(p, 1 - p)))) END;

-- 1 - e^-x without loss of digits (DuckDB has no expm1), and the ratio of it to x that is the density's part beside the normal one.
CREATE OR REPLACE MACRO ec._lost(x) AS 2 / (1 + 1 / tanh(x / 2));
CREATE OR REPLACE MACRO ec._h(x) AS sqrt(x / 2 * (1 + 1 / tanh(x / 2)));

-- Gamma((n + 1) / 2) / Gamma(n / 2) sqrt(2 / n), by its logarithm's series at x = n / 2 + 10.
CREATE OR REPLACE MACRO ec._gamma_series(x) AS
    sqrt(x) * exp(((((-31e0 / 18432 / (x * x) + 17e0 / 14336) / (x * x) - 1e0 / 640) / (x * x) + 1e0 / 192) / (x * x) - 1e0 / 8) / x);
CREATE OR REPLACE MACRO ec._t_constant(n) AS
    ec._gamma_series(n / 2 + 10) * sqrt(2 / n)
    * n / (n + 1) * (n + 2) / (n + 3) * (n + 4) / (n + 5) * (n + 6) / (n + 7) * (n + 8) / (n + 9)
    * (n + 10) / (n + 11) * (n + 12) / (n + 13) * (n + 14) / (n + 15) * (n + 16) / (n + 17) * (n + 18) / (n + 19);

-- The mass between 0 and z, by Gauss and Legendre; the logarithm of that beyond z, by Gauss and Laguerre.
CREATE OR REPLACE MACRO ec._t_middle(z, n, k) AS
    k / sqrt(2 * pi()) * z * list_dot_product(
    [0.12793819534675202e0, 0.12583745634682825e0, 0.1216704729278033e0, 0.11550566805372552e0, 0.10744427011596556e0, 0.09761865210411393e0,
     0.0861901615319532e0, 0.07334648141108016e0, 0.05929858491543636e0, 0.04427743881741941e0, 0.02853138862893356e0, 0.01234122979998869e0],
    list_transform(
    [0.06405689286260563e0, 0.1911188674736163e0, 0.3150426796961634e0, 0.4337935076260451e0, 0.5454214713888396e0, 0.6480936519369755e0,
     0.7401241915785544e0, 0.820001985973903e0, 0.8864155270044011e0, 0.9382745520027328e0, 0.9747285559713095e0, 0.9951872199970213e0],
        lambda _x: exp(-(z * _x) * (z * _x) / 2) * ec._h((z * _x) * (z * _x) / n)));
CREATE OR REPLACE MACRO ec._t_log_tail(z, n, k) AS
    ln(k / sqrt(2 * pi()) * list_dot_product(
    [0.10921834195242515e0, 0.2104431079387924e0, 0.23521322966984298e0, 0.19590333597287354e0, 0.1299837862860684e0, 0.07057862386571556e0,
     0.03176091250917397e0, 0.011918214834838204e0, 0.003738816294611417e0, 0.0009808033066149246e0, 0.0002148649188013578e0, 3.920341967987801e-05,
     5.934541612868448e-06, 7.41640457866734e-07, 7.604567879120552e-08, 6.350602226625618e-09, 4.281382971040738e-10, 2.305899491891237e-11,
     9.799379288726772e-13, 3.2378016577291567e-14],
    list_transform(
    [0.04448936583326739e0, 0.23452610951961825e0, 0.5768846293018863e0, 1.072448753817818e0, 1.7224087764446456e0, 2.5283367064257942e0,
     3.492213273021994e0, 4.616456769749767e0, 5.903958504174244e0, 7.358126733186241e0, 8.982940924212597e0, 10.78301863253997e0,
     12.763697986742725e0, 14.931139755522558e0, 17.292454336715316e0, 19.855860940336054e0, 22.630889013196775e0, 25.628636022459247e0,
     28.862101816323474e0, 32.346629153964734e0],
        lambda _x: 1 / sqrt(n * ec._lost((z * z + 2 * _x) / n))))) - z * z / 2;
CREATE OR REPLACE MACRO ec._t_density(z, n, k) AS k * exp(-z * z / 2) / sqrt(2 * pi()) * ec._h(z * z / n);
CREATE OR REPLACE MACRO ec._t_log_slope(z, n) AS 1 / z - z / (2 * n) * (1 / tanh(z * z / n / 2) - 1) - z;

-- Halley's steps. Each part has a name, for ec.report_query takes them one by one.
CREATE OR REPLACE MACRO ec._t_start(normal, n) AS abs(normal) * (8 * n + 3) / (8 * n + 1);
CREATE OR REPLACE MACRO ec._t_hazard(z, log_tail, n, k) AS ec._t_density(z, n, k) / exp(log_tail);
CREATE OR REPLACE MACRO ec._t_tail_step(log_tail, hazard, beyond) AS (log_tail - ln(beyond)) / hazard;
CREATE OR REPLACE MACRO ec._t_middle_step(z, mass, n, k) AS (mass - ec._t_middle(z, n, k)) / ec._t_density(z, n, k);
CREATE OR REPLACE MACRO ec._t_step(z, step, hazard, n) AS z + step / (1 + step * (ec._t_log_slope(z, n) + hazard) / 2);
CREATE OR REPLACE MACRO ec._t_of(z, n) AS exp(z * z / n / 2) * sqrt(n * ec._lost(z * z / n));
CREATE OR REPLACE MACRO ec._t_from_tail(z, beyond, n, k) AS
    list_reduce([0e0, 0e0, 0e0], lambda _z, _i: invoke(lambda _log_tail:
        invoke(lambda _hazard: invoke(lambda _step: ec._t_step(_z, _step, _hazard, n), ec._t_tail_step(_log_tail, _hazard, beyond)),
               ec._t_hazard(_z, _log_tail, n, k)),
        ec._t_log_tail(_z, n, k)), z);
CREATE OR REPLACE MACRO ec._t_from_middle(z, mass, n, k) AS
    list_reduce([0e0, 0e0, 0e0], lambda _z, _i: invoke(lambda _step: ec._t_step(_z, _step, 0, n), ec._t_middle_step(_z, mass, n, k)), z);
CREATE OR REPLACE MACRO ec._t_quantile(p, normal, n, k) AS
    CASE WHEN p IS NULL OR n IS NULL THEN NULL
         WHEN isnan(n) THEN n
         WHEN p = 0.5e0 OR NOT isfinite(normal) THEN normal
         ELSE sign(p - 0.5e0) * invoke(lambda _z: ec._t_of(_z, n),
            CASE WHEN least(p, 1 - p) < 0.03e0
                 THEN ec._t_from_tail(ec._t_start(normal, n), least(p, 1 - p), n, k)
                 ELSE ec._t_from_middle(ec._t_start(normal, n), abs(p - 0.5e0), n, k) END) END;
CREATE OR REPLACE MACRO ec._degrees(df) AS
    CASE WHEN df > 0 AND NOT isnan(df) THEN greatest(least(df, 1e30), 1e0) WHEN df IS NOT NULL THEN CAST('nan' AS DOUBLE) END;

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.normal_quantile(p) AS invoke(lambda _p: ec._normal_quantile(_p), CAST(p AS DOUBLE));
CREATE OR REPLACE MACRO ec.t_quantile(p, df) AS
    invoke(lambda _p, _n: invoke(lambda _normal, _k: ec._t_quantile(_p, _normal, _n, _k), ec._normal_quantile(_p), ec._t_constant(_n)),
           CAST(p AS DOUBLE), ec._degrees(CAST(df AS DOUBLE)));
COMMENT ON MACRO ec.normal_quantile IS 'Quantile of the normal distribution: the z with probability p below it. Infinite at 0 and 1, NaN outside.';
COMMENT ON MACRO ec.t_quantile IS 'Quantile of the t distribution with df degrees of freedom: the t with probability p below it. A df below 1 counts as 1, infinity gives the normal quantile, NaN gives NaN.';
