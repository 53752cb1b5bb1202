{# The groups of a report whose metric is beyond a limit: their columns of the report, and the limit. `kwargs` are further arguments of
   the report. #}
{% macro failing_groups(model, score, label, metric, at_least, at_most, fail_on_null) %}
    {%- set limit_name = 'at_least' if at_most is none else 'at_most' -%}
    {%- set limit = polars_ec.checked_number(limit_name, at_least if at_most is none else at_most, 'pass a number without quotes') -%}
    {%- if fail_on_null is not boolean -%}
        {%- do polars_ec.refuse('fail_on_null=' ~ polars_ec.shown(fail_on_null) ~ ' is not true or false') -%}
    {%- endif -%}
    {%- set parts = polars_ec.report_parts() -%}
    {%- set name = (metric | string).removesuffix('_at_prior') -%}
    {%- if name != metric and kwargs['prior'] is none -%}
        {%- do polars_ec.refuse('metric=' ~ polars_ec.shown(metric) ~ ' needs a reference prior: pass prior too') -%}
    {%- endif -%}
    {%- if name != metric and name in parts.metrics and name not in parts.moved_by_prior -%}
        {%- do polars_ec.refuse('metric=' ~ polars_ec.shown(metric) ~ ' does not depend on the prior: pass ' ~ name) -%}
    {%- endif -%}
    {%- if name in parts.cells -%}
        {%- do polars_ec.refuse('metric=' ~ polars_ec.shown(metric) ~ ' is a number of rows: pass a rate, such as fpr or recall') -%}
    {%- endif -%}
    {%- set request = polars_ec.checked_report(relation=model, score=score, label=label, metrics=[name], **kwargs) -%}
    {%- set value = name ~ '_at_prior' if name ~ '_at_prior' in request.columns else name -%}
    {%- if request.interval is not none -%}
        {%- set judged = polars_ec.sql_name(value ~ ('_ci_high' if at_most is none else '_ci_low')) -%}
    {%- else -%}
        {%- set judged = polars_ec.sql_name(value) -%}
    {%- endif -%}
    {%- set condition = judged ~ (' < ' if at_most is none else ' > ') ~ polars_ec.any_number(limit) -%}
    {%- if fail_on_null -%}
        {%- set condition = '(' ~ judged ~ ' IS NULL OR ' ~ condition ~ ')' -%}
    {%- elif 'small' in request.columns -%}
        {%- set condition = condition ~ ' AND NOT ' ~ polars_ec.sql_name('small') -%}
    {%- endif -%}
    {{ return(polars_ec.groups_where(request, condition, {limit_name: limit}, fail_on_null)) }}
{% endmacro %}

{# The groups that have more rows than these that are wrong, or missing. #}
{% macro groups_with_invalid_rows(model, score, label, at_most, missing_at_most, by, score_type, weight, pos_label, classes) %}
    {%- if at_most is none -%}
        {%- do polars_ec.refuse('at_most=None is not a whole number, at least 0') -%}
    {%- endif -%}
    {%- set limits = {'at_most': polars_ec.checked_count('at_most', at_most, 0, none)} -%}
    {#- A metric that needs no more than decisions, which a threshold gives to scores of any type. -#}
    {%- set request = polars_ec.checked_report(
        model, score, label, by, ['recall'], 1, 1, none if score_type == 'decision' else 0, none, score_type, weight, pos_label, classes,
        false, none, none, none, 100) -%}
    {%- set condition = polars_ec.sql_name('n_invalid') ~ ' > ' ~ at_most -%}
    {%- if missing_at_most is not none -%}
        {%- do limits.update({'missing_at_most': polars_ec.checked_count('missing_at_most', missing_at_most, 0, none)}) -%}
        {%- set condition = condition ~ ' OR ' ~ polars_ec.sql_name('n_missing') ~ ' > ' ~ missing_at_most -%}
    {%- endif -%}
    {{ return(polars_ec.groups_where(request, condition, limits, false)) }}
{% endmacro %}

{# The report's rows for which a condition holds, beside the limits. An empty report is one row of nulls where that is to fail too. #}
{% macro groups_where(request, condition, limits, or_empty) %}
    {%- set columns = [] -%}
    {%- for name in request['keys'] | list + request.columns -%}
        {%- do columns.append('ec_report.' ~ polars_ec.sql_name(name)) -%}
    {%- endfor -%}
    {%- for name, limit in limits.items() -%}
        {%- do columns.append(polars_ec.any_number(limit) ~ ' AS ' ~ polars_ec.sql_name(name)) -%}
    {%- endfor -%}
    {%- set report = '(\n' ~ adapter.dispatch('report', 'polars_ec')(request) ~ '\n)' -%}
    {%- if or_empty -%}
        {%- set source = '(SELECT 1 AS ec_one) AS ec_always LEFT JOIN (SELECT ec_groups.*, 1 AS ec_one FROM ' ~ report ~ ' AS ec_groups) AS ec_report ON ec_always.ec_one = ec_report.ec_one' -%}
    {%- else -%}
        {%- set source = report ~ ' AS ec_report' -%}
    {%- endif -%}
    {{ return('SELECT ' ~ columns | join(', ') ~ '\nFROM ' ~ source ~ '\nWHERE ' ~ condition) }}
{% endmacro %}
