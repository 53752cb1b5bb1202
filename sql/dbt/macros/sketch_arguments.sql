{# What a sketch is asked for: a mapping of the arguments, checked. What the caller wrote is in `texts`, and tokens stand for it. #}
{% macro checked_sketch(
    relation, score, label, by, score_type, resolution, thresholds, weight, pos_label, classes, cluster, buckets
) %}
    {%- if score_type not in ['posterior', 'percent', 'log_odds', 'llr', 'raw'] -%}
        {%- do polars_ec.refuse('score_type=' ~ polars_ec.shown(score_type) ~ ' cannot be sketched: pass one of posterior, percent, log_odds, llr, raw') -%}
    {%- endif -%}
    {%- do polars_ec.check_relation(relation) -%}
    {%- for name, value, least, most in [('resolution', resolution, 1, 4096), ('buckets', buckets, 5, 1000)] -%}
        {%- if polars_ec.checked_count(name, value, least, most) is none -%}
            {%- do polars_ec.refuse(name ~ ' is none: leave it out, or pass a whole number from ' ~ least ~ ' to ' ~ most) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if cluster is none and buckets != 100 -%}
        {%- do polars_ec.refuse('buckets=' ~ buckets ~ ' is how many cluster= is dealt out to, and there is no cluster=') -%}
    {%- endif -%}
    {%- set texts = [] -%}
    {%- set request = {
        'relation': polars_ec.text_token(polars_ec.relation_text(relation), texts), 'keys': polars_ec.sketch_keys(by, cluster, texts),
        'score': polars_ec.text_token(polars_ec.checked_expression('score', score), texts),
        'label': polars_ec.text_token(polars_ec.checked_expression('label', label), texts),
        'weight': none if weight is none else polars_ec.text_token(polars_ec.checked_expression('weight', weight), texts),
        'cluster': none if cluster is none else polars_ec.text_token(polars_ec.checked_expression('cluster', cluster), texts),
        'class_of_label': polars_ec.class_of_label(pos_label, classes, texts),
        'has_classes': pos_label is not none or classes is not none, 'score_type': score_type, 'resolution': resolution,
        'thresholds': polars_ec.sketch_thresholds(thresholds), 'buckets': buckets, 'texts': texts} -%}
    {{ return(request) }}
{% endmacro %}

{# The SQL of the group columns by their quoted names in the result, tokens both. #}
{% macro sketch_keys(by, cluster, texts) %}
    {%- set own = polars_ec.sketch_columns() + (['bucket', 'hash'] if cluster is not none else []) -%}
    {%- set keys = {} -%}
    {%- for name, sql in polars_ec.checked_keys(by, []).items() -%}
        {%- if name | lower in own -%}
            {%- do polars_ec.refuse("by has a group column '" ~ name ~ "', which is also a column of the sketch: rename it, by={'" ~ name ~ "_': '" ~ sql ~ "'}") -%}
        {%- endif -%}
        {%- do keys.update({polars_ec.text_token(polars_ec.sql_name(name), texts): polars_ec.text_token(sql, texts)}) -%}
    {%- endfor -%}
    {{ return(keys) }}
{% endmacro %}

{# In ascending order, each once; 0 stands for -0 too. #}
{% macro sketch_thresholds(thresholds) %}
    {%- if thresholds is string or thresholds is mapping or thresholds is not sequence -%}
        {%- do polars_ec.refuse('thresholds=' ~ polars_ec.shown(thresholds) ~ ' is not a list of numbers: pass [' ~ polars_ec.shown(thresholds) ~ ']') -%}
    {%- endif -%}
    {%- set numbers = [] -%}
    {%- for threshold in thresholds -%}
        {%- do numbers.append(0.0 + polars_ec.checked_number('thresholds', threshold, 'pass a list of numbers without quotes')) -%}
    {%- endfor -%}
    {{ return(numbers | unique | sort) }}
{% endmacro %}
