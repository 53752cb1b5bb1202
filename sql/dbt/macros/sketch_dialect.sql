{# What the warehouses write differently in a sketch, each in a macro that is dispatched. #}

{# The sum over the rows of a product of columns. PostgreSQL makes an error of one that underflows. #}
{% macro sketch_sum(factors) %}{{ return('COALESCE(SUM(' ~ adapter.dispatch('sketch_product', 'polars_ec')(factors) ~ '), 0)') }}{% endmacro %}
{% macro default__sketch_product(factors) %}{{ return(factors | join(' * ')) }}{% endmacro %}
{% macro postgres__sketch_product(factors) %}
    {%- if factors | length == 1 -%}{{ return(factors[0]) }}{%- endif -%}
    {%- set least = '$' ~ 1e-300 ** (1 / (factors | length)) ~ '$' -%}
    {%- set checked = [] -%}
    {%- for name in factors -%}
        {%- do checked.append('CASE WHEN ABS(' ~ name ~ ') >= ' ~ least ~ ' THEN ' ~ name ~ ' ELSE 0 END') -%}
    {%- endfor -%}
    {{ return(checked | join(' * ')) }}
{%- endmacro %}

{# A key's MD5, in lower-case hexadecimal digits. #}
{% macro sketch_md5(key) %}{{ return(adapter.dispatch('sketch_md5', 'polars_ec')('CAST(' ~ key ~ ' AS ' ~ polars_ec.sql_text() ~ ')')) }}{% endmacro %}
{% macro default__sketch_md5(text) %}{{ return('MD5(' ~ text ~ ')') }}{% endmacro %}
{% macro bigquery__sketch_md5(text) %}{{ return('TO_HEX(MD5(' ~ text ~ '))') }}{% endmacro %}
{% macro clickhouse__sketch_md5(text) %}{{ return('LOWER(HEX(MD5(' ~ text ~ ')))') }}{% endmacro %}
{% macro trino__sketch_md5(text) %}{{ return('LOWER(TO_HEX(MD5(TO_UTF8(' ~ text ~ '))))') }}{% endmacro %}

{# The bucket, which the first six digits of ec_hashed say. #}
{% macro sketch_bucket(buckets) %}
    {%- set digits = [] -%}
    {%- for i in range(6) -%}
        {%- do digits.append('(' ~ adapter.dispatch('sketch_digit', 'polars_ec')(i + 1) ~ ' - 1) * ' ~ 16 ** i) -%}
    {%- endfor -%}
    {{ return('CASE WHEN ec_hashed IS NOT NULL THEN ' ~ adapter.dispatch('sketch_remainder', 'polars_ec')('(' ~ digits | join(' + ') ~ ')', buckets) ~ ' END') }}
{%- endmacro %}

{# One digit of ec_hashed, and one more. #}
{% macro default__sketch_digit(i) %}{{ return("STRPOS('0123456789abcdef', SUBSTRING(ec_hashed, " ~ i ~ ', 1))') }}{% endmacro %}
{% macro bigquery__sketch_digit(i) %}{{ return("INSTR('0123456789abcdef', SUBSTRING(ec_hashed, " ~ i ~ ', 1))') }}{% endmacro %}
{% macro clickhouse__sketch_digit(i) %}{{ return("POSITION('0123456789abcdef', SUBSTRING(ec_hashed, " ~ i ~ ', 1))') }}{% endmacro %}
{% macro snowflake__sketch_digit(i) %}{{ return('CHARINDEX(SUBSTRING(ec_hashed, ' ~ i ~ ", 1), '0123456789abcdef')") }}{% endmacro %}
{% macro spark__sketch_digit(i) %}{{ return('LOCATE(SUBSTRING(ec_hashed, ' ~ i ~ ", 1), '0123456789abcdef')") }}{% endmacro %}

{% macro default__sketch_remainder(number, divisor) %}{{ return(number ~ ' % ' ~ divisor) }}{% endmacro %}
{% macro bigquery__sketch_remainder(number, divisor) %}{{ return('MOD(' ~ number ~ ', ' ~ divisor ~ ')') }}{% endmacro %}

{# How many of the ascending thresholds the score exceeds. #}
{% macro sketch_above(thresholds) %}
    {%- set ranks = [] -%}
    {%- for threshold in thresholds -%}
        {%- if threshold <= polars_ec.largest_number() -%}
            {%- do ranks.append('WHEN ' ~ polars_ec.exceeds(threshold) ~ ' THEN ' ~ loop.index ~ ' ') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('CASE ' ~ ranks | reverse | join ~ 'WHEN ec_class >= 0 THEN 0 END') }}
{%- endmacro %}

{# The bin of a coarser resolution that ec_bin lies in, where none lies in two. #}
{% macro sketch_outer_bin(score_type, resolution, coarse) %}
    {%- set finer = resolution // coarse -%}
    {%- if score_type == 'raw' -%}
        {%- set steps = 'CAST(FLOOR(CAST(ABS(ec_bin) - 1 AS $double$) / ' ~ finer ~ ') AS $int$) + 1' -%}
        {{ return(
            'CASE WHEN ec_bin = ' ~ (-1492 * resolution - 2) ~ ' THEN ' ~ (-1492 * coarse - 2)
            ~ ' WHEN ec_bin = ' ~ (1492 * resolution + 2) ~ ' THEN ' ~ (1492 * coarse + 2)
            ~ ' WHEN ec_bin > 0 THEN ' ~ steps ~ ' WHEN ec_bin < 0 THEN -(' ~ steps ~ ') WHEN ec_bin = 0 THEN 0 END'
        ) }}
    {%- endif -%}
    {{ return(
        'CASE WHEN ec_bin = ' ~ (-64 * resolution - 2) ~ ' THEN ' ~ (-64 * coarse - 2)
        ~ ' WHEN ec_bin = ' ~ (64 * resolution + 1) ~ ' THEN ' ~ (64 * coarse + 1)
        ~ ' WHEN ec_bin > ' ~ (-64 * resolution - 2)
        ~ ' THEN CAST(FLOOR(CAST(ec_bin AS $double$) / ' ~ finer ~ ') AS $int$) END'
    ) }}
{%- endmacro %}
