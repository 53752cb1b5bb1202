{# Made by `make sql` from polars_ec/sql/score_kinds.py. #}

{# What the sketch makes of each kind of score: conditions, and columns of the levels of its query. #}

{# Columns of every sketch. #}
{% macro sketch_columns() %}{{ return(['above', 'bin', 'brier', 'brier_square', 'brier_times_weight', 'class', 'error_cost', 'error_cost_square', 'error_cost_times_weight', 'log_loss', 'log_loss_square', 'log_loss_times_weight', 'n', 'posterior', 'table', 'weight', 'weight2']) }}{% endmacro %}

{% macro sketch_valid(score_type) -%}
    {%- if score_type == 'posterior' -%}
        ec_score >= 0 AND ec_score <= 1
    {%- elif score_type == 'percent' -%}
        ec_score >= 0 AND ec_score <= 100
    {%- elif score_type == 'raw' -%}
        1 / (1 + ABS(ec_score)) >= 0 AND 1 / (1 + ABS(ec_score)) <= 1
    {%- else -%}
        1 / (1 + ABS(ec_score)) >= 0 AND 1 / (1 + ABS(ec_score)) <= 1
    {%- endif -%}
{%- endmacro %}

{% macro sketch_usable(score_type) -%}
    {%- if score_type == 'posterior' -%}
        CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END AS ec_inner
    {%- elif score_type == 'percent' -%}
        CASE WHEN ec_class >= 0 AND (ec_score / 100) > 0 AND (ec_score / 100) < 1 THEN (ec_score / 100) END AS ec_inner
    {%- elif score_type == 'raw' -%}
        CASE WHEN ec_class >= 0 AND ABS(ec_score) > 0 AND ABS(ec_score) <= $1.7976931348623157e+308$ THEN ABS(ec_score) END AS ec_size
    {%- else -%}
        CASE WHEN ec_class >= 0 AND ec_score >= -$1.7976931348623157e+308$ AND ec_score <= $1.7976931348623157e+308$ THEN ec_score END AS ec_finite, CASE WHEN ec_class = 1 THEN -ec_score WHEN ec_class = 0 THEN ec_score END AS ec_against
    {%- endif -%}
{%- endmacro %}

{% macro sketch_logs(score_type) -%}
    {%- if score_type == 'posterior' -%}
        ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner) AS ec_loss_0, -LN(ec_inner) AS ec_loss_1
    {%- elif score_type == 'percent' -%}
        ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner) AS ec_loss_0, -LN(ec_inner) AS ec_loss_1
    {%- elif score_type == 'raw' -%}
        LN(ec_size) AS ec_log_size
    {%- else -%}
        ec_finite, ec_against, CASE WHEN ABS(ec_finite) < 745 THEN EXP(-ABS(ec_finite)) ELSE 0 END AS ec_exp
    {%- endif -%}
{%- endmacro %}

{% macro sketch_bin(score_type, resolution) -%}
    {%- if score_type == 'posterior' -%}
        CASE WHEN (ec_loss_0 - ec_loss_1) >= -64 AND (ec_loss_0 - ec_loss_1) < 64 THEN CAST(FLOOR((ec_loss_0 - ec_loss_1) * {{ resolution }}) AS $int$) WHEN (ec_loss_0 - ec_loss_1) < -64 THEN {{ -64 * resolution - 1 }} WHEN (ec_loss_0 - ec_loss_1) >= 64 THEN {{ 64 * resolution }} WHEN ec_used <= 0 THEN {{ -64 * resolution - 2 }} WHEN ec_used >= 1 THEN {{ 64 * resolution + 1 }} END
    {%- elif score_type == 'percent' -%}
        CASE WHEN (ec_loss_0 - ec_loss_1) >= -64 AND (ec_loss_0 - ec_loss_1) < 64 THEN CAST(FLOOR((ec_loss_0 - ec_loss_1) * {{ resolution }}) AS $int$) WHEN (ec_loss_0 - ec_loss_1) < -64 THEN {{ -64 * resolution - 1 }} WHEN (ec_loss_0 - ec_loss_1) >= 64 THEN {{ 64 * resolution }} WHEN (ec_used / 100) <= 0 THEN {{ -64 * resolution - 2 }} WHEN (ec_used / 100) >= 1 THEN {{ 64 * resolution + 1 }} END
    {%- elif score_type == 'raw' -%}
        CASE WHEN ec_log_size IS NOT NULL THEN CASE WHEN ec_used > 0 THEN CAST(FLOOR({{ resolution }} * ec_log_size) AS $int$) + {{ 746 * resolution + 1 }} ELSE -(CAST(FLOOR({{ resolution }} * ec_log_size) AS $int$) + {{ 746 * resolution + 1 }}) END WHEN ec_used > 0 THEN {{ 1492 * resolution + 2 }} WHEN ec_used < 0 THEN {{ -1492 * resolution - 2 }} WHEN ec_class >= 0 THEN 0 END
    {%- else -%}
        CASE WHEN ec_finite >= -64 AND ec_finite < 64 THEN CAST(FLOOR(ec_finite * {{ resolution }}) AS $int$) WHEN ec_finite < -64 THEN {{ -64 * resolution - 1 }} WHEN ec_finite >= 64 THEN {{ 64 * resolution }} WHEN ec_used < 0 THEN {{ -64 * resolution - 2 }} WHEN ec_used > 0 THEN {{ 64 * resolution + 1 }} END
    {%- endif -%}
{%- endmacro %}

{% macro sketch_sums(score_type) -%}
    {%- if score_type == 'posterior' -%}
        CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END AS ec_log_loss, CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END AS ec_error, ec_used AS ec_posterior
    {%- elif score_type == 'percent' -%}
        CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END AS ec_log_loss, CASE WHEN ec_class = 1 THEN 1 - (ec_used / 100) ELSE (ec_used / 100) END AS ec_error, (ec_used / 100) AS ec_posterior
    {%- elif score_type == 'raw' -%}
        
    {%- else -%}
        CASE WHEN ec_finite IS NOT NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END + LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END AS ec_log_loss, CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END AS ec_error, CASE WHEN ec_used >= 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END AS ec_posterior
    {%- endif -%}
{%- endmacro %}
