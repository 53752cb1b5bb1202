{# The arguments of a report, checked before anything is asked of the warehouse. Errors name the value and the way out. #}

{% macro refuse(message) %}{{ exceptions.raise_compiler_error('polars_ec: ' ~ message) }}{% endmacro %}

{# Whether this is dbt Fusion, which runs no plugins and has no integers above 128 bits. #}
{% macro is_fusion() %}{{ return(dbt_version.split('.')[0] | int >= 2) }}{% endmacro %}

{% macro shown(value) %}{{ return("'" ~ value ~ "'" if value is string else value | string) }}{% endmacro %}

{# Refuse arguments that a macro does not have, which Jinja hands over in `unknown`, and name those that it has. #}
{% macro refuse_unknown(name, unknown, arguments) %}
    {%- if unknown -%}
        {%- do polars_ec.refuse(name ~ ' has no argument ' ~ unknown | list | join(', ') ~ ': its arguments are ' ~ arguments | join(', ')) -%}
    {%- endif -%}
{% endmacro %}

{# The arguments that the report and its tests have. #}
{% macro shared_arguments() %}
    {{ return([
        'by', 'cost_fn', 'cost_fp', 'threshold', 'prior', 'score_type', 'weight', 'pos_label', 'classes', 'total', 'min_rows', 'interval',
        'cluster', 'buckets']) }}
{% endmacro %}

{# A number, which may be infinite. #}
{% macro checked_number(name, value, way_out) %}
    {%- if value is string or value is boolean or value is not number or value != value -%}
        {%- set is_text_to_yaml = value is string and modules.re.fullmatch('[-+]?[0-9]*[.]?[0-9]*[eE][-+]?[0-9]+', value) -%}
        {%- set of_yaml = '; a text is what YAML takes ' ~ value ~ ' for: in YAML write a dot and the sign of the exponent, 1000.0 or 1.0e+3' if is_text_to_yaml else '' -%}
        {%- do polars_ec.refuse(name ~ '=' ~ polars_ec.shown(value) ~ ' is not a number: ' ~ way_out ~ of_yaml) -%}
    {%- endif -%}
    {{ return(value | float) }}
{% endmacro %}

{# A number, or the column or SQL expression with the cost of each row. #}
{% macro checked_cost(name, value) %}
    {%- if value is string and not modules.re.fullmatch('[-+]?[0-9]*[.]?[0-9]*([eE][-+]?[0-9]+)?', value.strip()) -%}
        {{ return(polars_ec.checked_expression(name, value)) }}
    {%- endif -%}
    {%- set way_out = 'pass a finite number that is not negative, without quotes, or the column with the cost of each row' -%}
    {%- set cost = polars_ec.checked_number(name, value, way_out) -%}
    {%- if not (cost >= 0 and cost <= polars_ec.largest_number()) -%}
        {%- do polars_ec.refuse(name ~ '=' ~ value ~ ' is not a cost: ' ~ way_out) -%}
    {%- endif -%}
    {{ return(cost) }}
{% endmacro %}

{% macro largest_number() %}{{ return(1.7976931348623157e308) }}{% endmacro %}

{# [share of the negative class, share of the positive class], or none. #}
{% macro checked_prior(prior) %}
    {%- if prior is none -%}{{ return(none) }}{%- endif -%}
    {%- if prior == 'uniform' -%}{{ return([0.5, 0.5]) }}{%- endif -%}
    {%- set way_out = "pass the share of the positive class, the shares of both (the negative class first), or 'uniform'" -%}
    {%- if prior is mapping or prior is string or prior is boolean or (prior is not number and prior is not sequence) -%}
        {%- do polars_ec.refuse('prior=' ~ polars_ec.shown(prior) ~ ' is not a prior in numbers: ' ~ way_out) -%}
    {%- endif -%}
    {%- set shares = [1 - prior, prior] if prior is number else prior | list -%}
    {%- if shares | length != 2 -%}
        {%- do polars_ec.refuse('prior=' ~ prior ~ ' has ' ~ shares | length ~ ' shares, but there are 2 classes: ' ~ way_out) -%}
    {%- endif -%}
    {%- for share in shares | reverse -%}
        {%- if share is string or share is boolean or share is not number or not (share >= 0 and share <= 1) -%}
            {%- do polars_ec.refuse('prior=' ~ prior ~ ': ' ~ polars_ec.shown(share) ~ ' is not a share between 0 and 1: ' ~ way_out) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set off = shares[0] + shares[1] - 1 -%}
    {%- if off > 1e-6 or off < -1e-6 -%}
        {%- do polars_ec.refuse('prior=' ~ prior ~ ' sums to ' ~ (shares[0] + shares[1]) ~ ', not 1: ' ~ way_out) -%}
    {%- endif -%}
    {{ return([shares[0] | float, shares[1] | float]) }}
{% endmacro %}

{% macro check_relation(relation) %}
    {%- if relation is none or not relation | string | trim -%}
        {%- do polars_ec.refuse('relation=' ~ polars_ec.shown(relation) ~ " is not a table: pass ref('...') or source('...', '...')") -%}
    {%- endif -%}
{% endmacro %}

{# A name or an expression of the caller, as it stands in a query: in parentheses where it is no plain column. #}
{% macro checked_expression(name, sql) %}
    {%- if sql is not string or not sql.strip() -%}
        {%- do polars_ec.refuse(name ~ '=' ~ polars_ec.shown(sql) ~ ' is not a name or an expression in SQL') -%}
    {%- endif -%}
    {%- if polars_ec.last_name(sql) is not none -%}{{ return(sql) }}{%- endif -%}
    {%- set end = '\n' if '--' in sql or '#' in sql or '//' in sql else '' -%}
    {{ return('(' ~ sql ~ end ~ ')') }}
{% endmacro %}

{# The name of a column without its table and quotes; none for another expression. #}
{% macro last_name(sql) %}
    {%- set part = '(?:[^\\W\\d][\\w$]*|"(?:[^"]|"")+"|`[^`]+`)' -%}
    {%- if not modules.re.fullmatch('\\s*' ~ part ~ '(?:\\.' ~ part ~ ')*\\s*', sql) -%}{{ return(none) }}{%- endif -%}
    {%- set last = modules.re.findall(part, sql)[-1] -%}
    {%- if last.startswith('"') -%}{{ return(last[1:-1].replace('""', '"')) }}{%- endif -%}
    {{ return(last[1:-1] if last.startswith('`') else last) }}
{% endmacro %}

{# The SQL of the group columns by their names in the result, beside `own` columns. #}
{% macro checked_keys(by, own) %}
    {%- set keys = {} -%}
    {%- set pairs = [] -%}
    {%- if by is mapping -%}
        {%- for name, sql in by.items() -%}{%- do pairs.append([name, sql]) -%}{%- endfor -%}
    {%- elif by is string or (by is sequence and by is not none) -%}
        {%- for sql in ([by] if by is string else by) -%}
            {%- set name = polars_ec.last_name(sql) if sql is string else none -%}
            {%- if name is none -%}
                {%- do polars_ec.refuse('by has ' ~ polars_ec.shown(sql) ~ ", which is not a column's name: to group by an expression pass {'name': '" ~ sql ~ "'}, a name in quotes as '\"my column\"'") -%}
            {%- endif -%}
            {%- do pairs.append([name, sql]) -%}
        {%- endfor -%}
    {%- elif by is not none -%}
        {%- do polars_ec.refuse('by=' ~ by ~ ' is not a list of names or a mapping from name to SQL expression') -%}
    {%- endif -%}
    {%- for name, sql in pairs -%}
        {%- if name is not string or not name.strip() -%}
            {%- do polars_ec.refuse('by has ' ~ polars_ec.shown(name) ~ ' for a name: pass names, or a mapping from name to SQL expression') -%}
        {%- endif -%}
        {%- if name | lower in own -%}
            {%- do polars_ec.refuse("by has a group column '" ~ name ~ "', which is also a column of the report: rename it, by={'" ~ name ~ "_': '" ~ sql ~ "'}") -%}
        {%- endif -%}
        {%- if name | lower in keys | map('lower') | list -%}
            {%- do polars_ec.refuse("by has the group column '" ~ name ~ "' twice") -%}
        {%- endif -%}
        {%- do keys.update({name: polars_ec.checked_expression("by['" ~ name ~ "']", sql)}) -%}
    {%- endfor -%}
    {{ return(keys) }}
{% endmacro %}

{# The names of the metrics, or the usual ones. #}
{% macro checked_metrics(metrics, score_type, threshold) %}
    {%- set parts = polars_ec.report_parts() -%}
    {%- set decided = score_type == 'decision' -%}
    {%- if metrics is none -%}
        {{ return(parts.usual | reject('in', parts.losses) | list if decided else parts.usual) }}
    {%- endif -%}
    {%- if metrics is string or metrics is mapping or metrics is not sequence -%}
        {%- do polars_ec.refuse('metrics=' ~ polars_ec.shown(metrics) ~ ' is not a list of names: pass [' ~ polars_ec.shown(metrics) ~ ']') -%}
    {%- endif -%}
    {%- if not metrics -%}
        {%- do polars_ec.refuse('metrics=[] is empty: leave it out for the default metrics') -%}
    {%- endif -%}
    {%- for name in metrics -%}
        {%- set holds = 'metrics holds ' ~ polars_ec.shown(name) ~ ', which ' -%}
        {%- if name in parts.others -%}
            {%- do polars_ec.refuse(holds ~ 'every report has already: leave it out') -%}
        {%- elif name not in parts.metrics -%}
            {%- do polars_ec.refuse(holds ~ 'is not a metric of this report: for ranking metrics and ece make a sketch (polars_ec.sketch). The metrics are ' ~ parts.metrics | join(', ')) -%}
        {%- elif decided and (name in parts.losses or name == 'bayes_risk') -%}
            {%- do polars_ec.refuse(holds ~ "needs posteriors, and score_type='decision' has none") -%}
        {%- elif name == 'bayes_risk' and threshold is not none -%}
            {%- do polars_ec.refuse(holds ~ 'uses Bayes decisions: leave threshold out, or use expected_cost') -%}
        {%- endif -%}
        {%- if name in metrics[:loop.index0] -%}
            {%- do polars_ec.refuse("metrics has '" ~ name ~ "' twice") -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(metrics | list) }}
{% endmacro %}

{# None of them, or a whole number. #}
{% macro checked_count(name, value, least, most) %}
    {%- if value is none -%}{{ return(none) }}{%- endif -%}
    {%- if value is boolean or value is not integer or value < least or (most is not none and value > most) -%}
        {%- do polars_ec.refuse(name ~ '=' ~ polars_ec.shown(value) ~ ' is not a whole number from ' ~ least ~ (' to ' ~ most if most is not none else ' on')) -%}
    {%- endif -%}
    {{ return(value) }}
{% endmacro %}

{# The condition that makes a label 0, 1, or -1 where it is no class, as a text with tokens; `texts` takes what the caller wrote. #}
{% macro class_of_label(pos_label, classes, texts) %}
    {%- if pos_label is not none and classes is not none -%}
        {%- do polars_ec.refuse('pass pos_label=' ~ polars_ec.shown(pos_label) ~ ' or classes=' ~ classes ~ ', not both') -%}
    {%- endif -%}
    {%- if classes is not none -%}
        {%- if classes is string or classes is mapping or classes is not sequence or classes | length != 2 -%}
            {%- do polars_ec.refuse('classes=' ~ polars_ec.shown(classes) ~ ' is not a list of two labels, the negative class first') -%}
        {%- endif -%}
        {%- if classes[0] == classes[1] -%}
            {%- do polars_ec.refuse('classes=' ~ classes ~ ' has ' ~ polars_ec.shown(classes[0]) ~ ' twice') -%}
        {%- endif -%}
        {%- set negative = polars_ec.label_literal('classes', classes[0], texts) -%}
        {%- set positive = polars_ec.label_literal('classes', classes[1], texts) -%}
        {{ return('CASE WHEN ec_label = ' ~ positive ~ ' THEN 1 WHEN ec_label = ' ~ negative ~ ' THEN 0 ELSE -1 END') }}
    {%- endif -%}
    {%- if pos_label is none -%}
        {{ return('CASE WHEN ec_label = TRUE THEN 1 WHEN ec_label = FALSE THEN 0 ELSE -1 END') }}
    {%- endif -%}
    {%- set positive = polars_ec.label_literal('pos_label', pos_label, texts) -%}
    {%- if pos_label is boolean or pos_label is string -%}
        {{ return('CASE WHEN ec_label = ' ~ positive ~ ' THEN 1 ELSE 0 END') }}
    {%- endif -%}
    {%- set size = '1 / (1 + ABS(CAST(ec_label AS $double$)))' -%}
    {{ return('CASE WHEN ec_label = ' ~ positive ~ ' THEN 1 WHEN ' ~ size ~ ' >= 0 AND ' ~ size ~ ' <= 1' ~ polars_ec.and_not_nan('CAST(ec_label AS $double$)') ~ ' THEN 0 ELSE -1 END') }}
{% endmacro %}

{% macro label_literal(name, value, texts) %}
    {%- if value is boolean -%}{{ return('TRUE' if value else 'FALSE') }}{%- endif -%}
    {%- if value is string -%}
        {{ return(polars_ec.text_token(polars_ec.sql_string(value), texts)) }}
    {%- endif -%}
    {%- if value is integer -%}{{ return(value | string) }}{%- endif -%}
    {%- if value is float and value - value == 0 -%}{{ return('$' ~ value ~ '$') }}{%- endif -%}
    {%- do polars_ec.refuse(name ~ ' holds ' ~ polars_ec.shown(value) ~ ", which is not a string, finite number or Boolean: pass a condition as the label, such as \"shipped = DATE '2026-01-31'\"") -%}
{% endmacro %}
