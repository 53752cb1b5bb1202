{# polars_ec.report: one SELECT that makes the report of a log of two classes, a row for each group, as text that can be a model or
   stand in parentheses after FROM. docs/integrations/dbt.md has the arguments. #}
{% macro report(
    relation, score, label, by=[], metrics=none, cost_fn=1, cost_fp=1, threshold=none, prior=none, score_type='posterior', weight=none,
    pos_label=none, classes=none, total=false, min_rows=none, interval=none, cluster=none, buckets=100
) %}
    {%- do polars_ec.refuse_unknown('report', kwargs, ['relation', 'score', 'label', 'metrics'] + polars_ec.shared_arguments()) -%}
    {%- set request = polars_ec.checked_report(
        relation, score, label, by, metrics, cost_fn, cost_fp, threshold, prior, score_type, weight, pos_label, classes, total, min_rows,
        interval, cluster, buckets) -%}
    {{ return(adapter.dispatch('report', 'polars_ec')(request)) }}
{% endmacro %}

{# What a report is asked for: a mapping of the arguments, checked, and what follows from them. #}
{% macro checked_report(
    relation, score, label, by, metrics, cost_fn, cost_fp, threshold, prior, score_type, weight, pos_label, classes, total, min_rows,
    interval, cluster, buckets
) %}
    {%- if score_type not in ['posterior', 'percent', 'log_odds', 'llr', 'decision'] -%}
        {%- do polars_ec.refuse('score_type=' ~ polars_ec.shown(score_type) ~ ' is none of posterior, percent, log_odds, llr, decision') -%}
    {%- endif -%}
    {%- do polars_ec.check_relation(relation) -%}
    {%- if threshold is not none -%}
        {%- set threshold = polars_ec.checked_number('threshold', threshold, 'pass a number without quotes; a threshold of each row is for the macros of DuckDB') -%}
        {%- if score_type == 'decision' -%}
            {%- do polars_ec.refuse('threshold=' ~ threshold ~ " is for scores, but score_type='decision' has decisions already: leave it out") -%}
        {%- endif -%}
    {%- endif -%}
    {%- set names = polars_ec.checked_metrics(metrics, score_type, threshold) -%}
    {%- set shares = polars_ec.checked_prior(prior) -%}
    {%- set parts = polars_ec.report_parts() -%}
    {%- if score_type == 'llr' and shares is none and (threshold is none or names | select('in', parts.losses) | list) -%}
        {%- do polars_ec.refuse("score_type='llr' needs prior for posteriors and Bayes decisions: pass a number, or threshold with metrics of decisions") -%}
    {%- endif -%}
    {%- if total is not boolean -%}
        {%- do polars_ec.refuse('total=' ~ polars_ec.shown(total) ~ ' is not true or false') -%}
    {%- endif -%}
    {%- if total and not by -%}
        {%- do polars_ec.refuse('total=true adds a row over all groups, but without groups there is only one: leave it out, or pass by') -%}
    {%- endif -%}
    {%- if interval is not none -%}
        {%- set way_out = 'pass a level such as 0.95, without quotes' -%}
        {%- set interval = polars_ec.checked_number('interval', interval, way_out) -%}
        {%- if not (interval > 0 and interval < 1) -%}
            {%- do polars_ec.refuse('interval=' ~ interval ~ ' is not between 0 and 1: ' ~ way_out) -%}
        {%- endif -%}
    {%- elif cluster is not none -%}
        {%- do polars_ec.refuse('cluster=' ~ polars_ec.shown(cluster) ~ ' is for intervals: pass interval=0.95 too, or leave it out') -%}
    {%- endif -%}
    {%- set request = {
        'relation': relation, 'metrics': names, 'usual': metrics is none, 'shares': shares, 'score_type': score_type,
        'cost_fn': polars_ec.checked_cost('cost_fn', cost_fn), 'cost_fp': polars_ec.checked_cost('cost_fp', cost_fp),
        'threshold': threshold, 'pos_label': pos_label, 'classes': classes, 'texts': [], 'total': total, 'interval': interval,
        'min_rows': polars_ec.checked_count('min_rows', min_rows, 0, none), 'buckets': polars_ec.checked_count('buckets', buckets, 2, 32767),
        'score': polars_ec.checked_expression('score', score), 'label': polars_ec.checked_expression('label', label),
        'weight': none if weight is none else polars_ec.checked_expression('weight', weight),
        'cluster': none if cluster is none else polars_ec.checked_expression('cluster', cluster)} -%}
    {%- do request.update({'by_row': request.cost_fn is string or request.cost_fp is string}) -%}
    {%- do request.update({'class_of_label': polars_ec.class_of_label(pos_label, classes, request.texts)}) -%}
    {%- do request.update({'columns': polars_ec.report_columns(request)}) -%}
    {%- do request.update({'keys': polars_ec.checked_keys(by, request.columns)}) -%}
    {{ return(request) }}
{% endmacro %}

{# The columns of the report beside the groups, in the order that Polars has. #}
{% macro report_columns(request) %}
    {%- set parts = polars_ec.report_parts() -%}
    {%- set columns = ['n'] -%}
    {%- for name in request.metrics -%}
        {%- set moved = request.shares is not none and name in parts.moved_by_prior -%}
        {%- for value in ([name, name ~ '_at_prior'] if moved else [name]) -%}
            {%- do columns.append(value) -%}
            {%- if request.interval is not none and name not in parts.cells -%}
                {%- do columns.extend([value ~ '_ci_low', value ~ '_ci_high']) -%}
                {%- if value == 'nec' -%}{%- do columns.append('nec_kinked') -%}{%- endif -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do columns.append('class_prior') -%}
    {%- if request.interval is not none or request.min_rows is not none -%}{%- do columns.append('small') -%}{%- endif -%}
    {%- if request.total -%}{%- do columns.append('total') -%}{%- endif -%}
    {{ return(columns + (parts.cells if request.usual else []) + ['n_missing', 'n_invalid']) }}
{% endmacro %}
