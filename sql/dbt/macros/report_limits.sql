{# Limits of the metrics of a report, of rows that are independent: the levels of polars_ec/sql/report_limits.py, which says why each is
   there. The formulas are in formulas.sql. #}

{# The levels after `source`, by their names; `shown` are the formulas of a group's columns by their names within the query. #}
{% macro limit_levels(request, metrics, shown, keys, source, least) %}
    {%- set parts = polars_ec.limit_parts() -%}
    {%- set losses, halves = [], {} -%}
    {%- for metric in metrics -%}{%- do losses.append('ec_' ~ parts.families[metric.name] ~ '_known') -%}{%- endfor -%}
    {%- for name, sql in parts.halves.items() -%}
        {%- if not name.endswith('_known') or name in losses -%}{%- do halves.update({name: sql}) -%}{%- endif -%}
    {%- endfor -%}
    {%- set levels = polars_ec.adding_levels({'ec_rows_of_class': polars_ec.merged([shown, parts.known]), 'ec_halves': halves}, source) -%}
    {%- if not metrics -%}{{ return(levels) }}{%- endif -%}
    {%- set taken = polars_ec.as_they_are(shown | list + ['ec_small']) -%}
    {%- set groups = polars_ec.merged([keys, {'ec_metric': 'ec_metric'}, taken]) -%}
    {%- set stated = request.shares is not none -%}
    {%- set of_metric = polars_ec.as_they_are((['ec_q0', 'ec_q1'] if stated else []) + ['ec_metric', 'ec_name', 'ec_scale', 'ec_at_prior', 'ec_u']) -%}
    {%- set moments = polars_ec.merged([keys, taken, of_metric, polars_ec.limit_moments(metrics, parts, least)]) -%}
    {%- do levels.update({
        'ec_metrics': polars_ec.limited_table(metrics, parts),
        'ec_moments': polars_ec.select_columns(moments, 'ec_halves CROSS JOIN ec_metrics'),
        'ec_stencil': parts.stencil}) -%}

    {%- set values = [] -%}
    {%- for name in metrics | map(attribute='name') | unique -%}{%- do values.append("WHEN ec_name = '" ~ name ~ "' THEN " ~ parts['values'][name]) -%}{%- endfor -%}
    {%- set added = {
        'ec_changed': parts.changed,
        'ec_rates': parts['rates' ~ ('_stated' if stated else '')],
        'ec_metric_values': {'ec_at_step': 'CASE ' ~ values | join(' ') ~ ' END'},
        'ec_numbers': parts['numbers' ~ ('_from_least' if least is not none else '')]} -%}
    {%- do levels.update(polars_ec.adding_levels(added, 'ec_moments CROSS JOIN ec_stencil')) -%}
    {%- set by_metric = '\nGROUP BY ' ~ groups | join(', ') ~ ', ec_value' -%}
    {%- set kept = polars_ec.merged([groups, {'ec_value': 'ec_value'}]) -%}
    {%- do levels.update({'ec_slopes': polars_ec.select_columns(polars_ec.merged([kept, parts.slopes]), 'ec_numbers') ~ by_metric}) -%}
    {%- set spread = polars_ec.merged([parts.before_t, polars_ec.levels_of_t(request.interval, parts), parts.after_t]) -%}
    {%- do levels.update(polars_ec.adding_levels(spread, 'ec_slopes')) -%}
    {%- do levels.update({'ec_settled': polars_ec.select_columns(polars_ec.merged([kept, parts.settled]), levels | last) ~ by_metric}) -%}
    {%- do levels.update(polars_ec.adding_levels(parts.ends, 'ec_settled')) -%}

    {%- set limits = {} -%}
    {%- for metric in metrics -%}
        {%- set of_metric = 'MAX(CASE WHEN ec_metric = ' ~ loop.index0 ~ ' THEN ' -%}
        {%- if metric.is_kink -%}
            {%- do limits.update({'ec_kinked': of_metric ~ 'ec_near END)'}) -%}
        {%- else -%}
            {%- set cost = polars_ec.sql_number([request.cost_fn, request.cost_fp] | max) -%}
            {%- set most = {'brier': polars_ec.sql_number(1.0), 'expected_cost': cost, 'bayes_risk': cost}.get(metric.name) -%}
            {%- set above = 'WHEN ec_high > ' ~ most ~ ' AND ec_value <= ' ~ most ~ ' THEN ' ~ most ~ ' ' if most else '' -%}
            {%- set high = 'MAX(CASE WHEN ec_metric <> ' ~ loop.index0 ~ ' THEN NULL ' ~ above ~ 'ELSE ec_high END)' -%}
            {%- do limits.update({'ec_low_' ~ loop.index0: of_metric ~ 'ec_low END)', 'ec_high_' ~ loop.index0: high}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set by_group = polars_ec.merged([keys, taken]) -%}
    {%- do levels.update({'ec_limits': polars_ec.select_columns(polars_ec.merged([by_group, limits]), levels | last) ~ '\nGROUP BY ' ~ by_group | join(', ')}) -%}
    {{ return(levels) }}
{% endmacro %}

{# SELECTs that add columns, each to the one before. #}
{% macro adding_levels(columns_of_levels, source) %}
    {%- set levels = {} -%}
    {%- for name, columns in columns_of_levels.items() -%}
        {%- do levels.update({name: polars_ec.select_columns(polars_ec.merged([{'*': '*'}, columns]), source if loop.first else levels | last)}) -%}
    {%- endfor -%}
    {{ return(levels) }}
{% endmacro %}

{% macro as_they_are(names) %}
    {%- set columns = {} -%}
    {%- for name in names -%}{%- do columns.update({name: name}) -%}{%- endfor -%}
    {{ return(columns) }}
{% endmacro %}

{# The columns of a group by their names in the report: [name within the query, formula]. #}
{% macro shown_columns(request, parts) %}
    {%- set shown = {} -%}
    {%- for name in request.columns if not polars_ec.is_of_limits(name) -%}
        {%- do shown.update({name: ['ec_column_' ~ loop.index0, polars_ec.formula_of(name, parts, request)]}) -%}
    {%- endfor -%}
    {{ return(shown) }}
{% endmacro %}

{% macro is_of_limits(name) %}{{ return(name in ['small', 'nec_kinked'] or name.endswith('_ci_low') or name.endswith('_ci_high')) }}{% endmacro %}

{# What has limits, in the order of the columns, and where NEC has its kink. #}
{% macro limited_metrics(request, shown) %}
    {%- set metrics = [] -%}
    {%- for column in request.columns if column.endswith('_ci_low') -%}
        {%- set value = column.removesuffix('_ci_low') -%}
        {%- do metrics.append({
            'name': value.removesuffix('_at_prior'), 'at_prior': value.endswith('_at_prior') | int, 'estimate': shown[value][0],
            'value': value, 'is_kink': false}) -%}
    {%- endfor -%}
    {%- if 'nec_ci_low' in request.columns -%}
        {%- do metrics.append({'name': 'ec: kink', 'at_prior': 0, 'is_kink': true}) -%}
    {%- endif -%}
    {{ return(metrics) }}
{% endmacro %}

{# The columns of the report by the names that they have in it. #}
{% macro limited_columns(request, metrics, shown) %}
    {%- set columns = {} -%}
    {%- for name, column in shown.items() -%}{%- do columns.update({name: column[0]}) -%}{%- endfor -%}
    {%- for metric in metrics if not metric.is_kink -%}
        {%- do columns.update({metric.value ~ '_ci_low': 'ec_low_' ~ loop.index0, metric.value ~ '_ci_high': 'ec_high_' ~ loop.index0}) -%}
    {%- endfor -%}
    {%- if 'nec_kinked' in request.columns -%}
        {%- do columns.update({'nec_kinked': 'CASE WHEN NOT ' ~ columns.nec_ci_low ~ ' IS NULL THEN ec_kinked = 1 END'}) -%}
    {%- endif -%}
    {%- do columns.update({'small': 'ec_small = 1'}) -%}
    {%- set ordered = {} -%}
    {%- for name in request.columns -%}{%- do ordered.update({polars_ec.sql_name(name): columns[name]}) -%}{%- endfor -%}
    {{ return(ordered) }}
{% endmacro %}

{% macro limited_table(metrics, parts) %}
    {%- set rows = [] -%}
    {%- for metric in metrics -%}
        {%- set family = parts.families[metric.name] -%}
        {%- do rows.append(
            'SELECT ' ~ loop.index0 ~ " AS ec_metric, '" ~ metric.name ~ "' AS ec_name, '" ~ family ~ "' AS ec_family, '" ~ parts.scales[metric.name]
            ~ "' AS ec_scale, " ~ metric.at_prior ~ ' AS ec_at_prior, ' ~ (family == 'decisions') | int ~ ' AS ec_u') -%}
    {%- endfor -%}
    {{ return(rows | join(' UNION ALL ')) }}
{% endmacro %}

{# The sums that a metric is made of, and its value. #}
{% macro limit_moments(metrics, parts, least) %}
    {%- set families, moments, estimates = [], {}, [] -%}
    {%- for metric in metrics -%}
        {%- if parts.families[metric.name] not in families -%}{%- do families.append(parts.families[metric.name]) -%}{%- endif -%}
        {%- if not metric.is_kink -%}{%- do estimates.append('WHEN ec_metric = ' ~ loop.index0 ~ ' THEN ' ~ metric.estimate) -%}{%- endif -%}
    {%- endfor -%}
    {%- for name in parts.moments.constant -%}
        {%- set cases = [] -%}
        {%- for family in families -%}
            {%- set rows = 'ec_some' if family in ['decisions', 'constant'] else 'ec_' ~ family ~ '_known' -%}
            {%- do cases.append("WHEN ec_family = '" ~ family ~ "' AND " ~ rows ~ ' = 1 THEN ' ~ parts.moments[family][name]) -%}
        {%- endfor -%}
        {%- set moment = 'CASE ' ~ cases | join(' ') ~ ' END' -%}
        {%- if least is not none -%}
            {%- set moment = parts['within_sums' if name.startswith('ec_x') else 'within_squares'].replace('$x$', moment) -%}
        {%- endif -%}
        {%- do moments.update({name: moment}) -%}
    {%- endfor -%}
    {%- do moments.update({'ec_value': 'CASE ' ~ estimates | join(' ') ~ ' END'}) -%}
    {{ return(moments) }}
{% endmacro %}

{# What the formulas of t have of the level. #}
{% macro numbers_of_level(level) %}
    {%- set p = 0.5 + level / 2 -%}
    {{ return({'normal': polars_ec.normal_quantile(p), 'beyond': 1 - p, 'mass': p - 0.5}) }}
{% endmacro %}

{# The levels that make ec_t, the quantile of t, of the degrees of freedom. #}
{% macro levels_of_t(level, parts) %}
    {%- set beyond = 1 - (0.5 + level / 2) -%}
    {%- if beyond == 0.5 or beyond == 0 -%}{{ return({'ec_t_end': {'ec_t': '$infinity$' if beyond == 0 else '$0.0$'}}) }}{%- endif -%}
    {{ return(parts['t_tail' if beyond < parts.tail else 't_middle']) }}
{% endmacro %}

{# The quantile of the normal distribution at p from 1/2 to 1; at 1 none. #}
{% macro normal_quantile(p) %}
    {%- set ratios, q = polars_ec.limit_parts().normal_quantile, p - 0.5 -%}
    {%- if p == 1 -%}{{ return(none) }}{%- endif -%}
    {%- if q <= 0.425 -%}{{ return(q * polars_ec.ratio_of_polynomials(ratios.middle, 0.180625 - q * q)) }}{%- endif -%}
    {%- set r = (-polars_ec.natural_log(1 - p)) ** 0.5 -%}
    {{ return(polars_ec.ratio_of_polynomials(ratios.beyond, r - 1.6) if r <= 5 else polars_ec.ratio_of_polynomials(ratios.far_out, r - 5)) }}
{% endmacro %}

{% macro ratio_of_polynomials(both, x) %}
    {%- set values = [] -%}
    {%- for factors in both -%}
        {%- set sum = namespace(value=0) -%}
        {%- for factor in factors -%}{%- set sum.value = sum.value * x + factor -%}{%- endfor -%}
        {%- do values.append(sum.value) -%}
    {%- endfor -%}
    {{ return(values[0] / values[1]) }}
{% endmacro %}
