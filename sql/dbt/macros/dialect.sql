{# What the warehouses write differently, each in a macro that is dispatched. DataFusion has no adapter: default__ is what it reads. #}

{# Types ----------------------------------------------------------------------------------------------------------------- #}

{% macro sql_double() %}{{ return(adapter.dispatch('sql_double', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_double() %}{{ return('DOUBLE') }}{% endmacro %}
{% macro bigquery__sql_double() %}{{ return('FLOAT64') }}{% endmacro %}
{% macro clickhouse__sql_double() %}{{ return('Nullable(Float64)') }}{% endmacro %}
{% macro postgres__sql_double() %}{{ return('DOUBLE PRECISION') }}{% endmacro %}

{% macro sql_bigint() %}{{ return(adapter.dispatch('sql_bigint', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_bigint() %}{{ return('BIGINT') }}{% endmacro %}
{% macro bigquery__sql_bigint() %}{{ return('INT64') }}{% endmacro %}
{% macro clickhouse__sql_bigint() %}{{ return('Nullable(Int64)') }}{% endmacro %}

{% macro sql_int() %}{{ return(adapter.dispatch('sql_int', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_int() %}{{ return('INT') }}{% endmacro %}
{% macro bigquery__sql_int() %}{{ return('INT64') }}{% endmacro %}
{% macro clickhouse__sql_int() %}{{ return('Nullable(Int32)') }}{% endmacro %}
{% macro trino__sql_int() %}{{ return('INTEGER') }}{% endmacro %}

{% macro sql_smallint() %}{{ return(adapter.dispatch('sql_smallint', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_smallint() %}{{ return('SMALLINT') }}{% endmacro %}
{% macro bigquery__sql_smallint() %}{{ return('INT64') }}{% endmacro %}
{% macro clickhouse__sql_smallint() %}{{ return('Nullable(Int16)') }}{% endmacro %}

{% macro sql_text() %}{{ return(adapter.dispatch('sql_text', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_text() %}{{ return('VARCHAR') }}{% endmacro %}
{% macro bigquery__sql_text() %}{{ return('STRING') }}{% endmacro %}
{% macro clickhouse__sql_text() %}{{ return('Nullable(String)') }}{% endmacro %}
{% macro spark__sql_text() %}{{ return('STRING') }}{% endmacro %}

{# What ends a query of many CASEs, one on the other: see `Writer.settings` of polars_ec/output/dialects.py. #}
{% macro sql_settings() %}{{ return(adapter.dispatch('sql_settings', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_settings() %}{{ return('') }}{% endmacro %}
{% macro clickhouse__sql_settings() %}{{ return("\nSETTINGS short_circuit_function_evaluation = 'disable'") }}{% endmacro %}

{# Names and literals ---------------------------------------------------------------------------------------------------- #}

{# The name of a column, whatever it holds. #}
{% macro sql_name(name) %}{{ return(adapter.dispatch('sql_name', 'polars_ec')(name)) }}{% endmacro %}
{% macro default__sql_name(name) %}{{ return('"' ~ name.replace('"', '""') ~ '"') }}{% endmacro %}
{% macro bigquery__sql_name(name) %}{{ return('`' ~ name.replace('`', '``') ~ '`') }}{% endmacro %}
{% macro spark__sql_name(name) %}{{ return('`' ~ name.replace('`', '``') ~ '`') }}{% endmacro %}

{# A text as a literal. #}
{% macro sql_string(value) %}{{ return(adapter.dispatch('sql_string', 'polars_ec')(value)) }}{% endmacro %}
{% macro default__sql_string(value) %}{{ return("'" ~ value.replace("'", "''") ~ "'") }}{% endmacro %}
{% macro clickhouse__sql_string(value) %}{{ return("'" ~ value.replace('\\', '\\\\').replace("'", "''") ~ "'") }}{% endmacro %}
{% macro bigquery__sql_string(value) %}{{ return("'" ~ value.replace('\\', '\\\\').replace("'", "\\'") ~ "'") }}{% endmacro %}
{% macro snowflake__sql_string(value) %}{{ return("'" ~ value.replace('\\', '\\\\').replace("'", "\\'") ~ "'") }}{% endmacro %}
{% macro spark__sql_string(value) %}{{ return("'" ~ value.replace('\\', '\\\\').replace("'", "\\'") ~ "'") }}{% endmacro %}

{# A finite number as a 64-bit float: 0.1 without an exponent is a decimal number to half of the engines. #}
{% macro sql_number(value) %}{{ return(adapter.dispatch('sql_number', 'polars_ec')(value)) }}{% endmacro %}
{% macro default__sql_number(value) %}
    {%- set digits = value | float | string -%}
    {{ return(digits if 'e' in digits else digits ~ 'e0') }}
{%- endmacro %}
{# To Snowflake 5e-1 is a decimal number too. #}
{% macro snowflake__sql_number(value) %}
    {{ return("CAST('" ~ polars_ec.default__sql_number(value) ~ "' AS DOUBLE)") }}
{%- endmacro %}

{% macro sql_infinity() %}{{ return(adapter.dispatch('sql_infinity', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_infinity() %}{{ return("CAST('Infinity' AS " ~ polars_ec.sql_double() ~ ')') }}{% endmacro %}
{% macro snowflake__sql_infinity() %}{{ return("CAST('inf' AS DOUBLE)") }}{% endmacro %}

{# Functions and rules --------------------------------------------------------------------------------------------------- #}

{# The lesser of two numbers, and the greater. Of the lesser ones of metrics neither is NULL, or both are. #}
{% macro sql_least() %}{{ return(adapter.dispatch('sql_least', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_least() %}{{ return('LEAST') }}{% endmacro %}
{% macro snowflake__sql_least() %}{{ return('LEAST_IGNORE_NULLS') }}{% endmacro %}
{% macro sql_greatest() %}{{ return(adapter.dispatch('sql_greatest', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_greatest() %}{{ return('GREATEST') }}{% endmacro %}
{% macro snowflake__sql_greatest() %}{{ return('GREATEST_IGNORE_NULLS') }}{% endmacro %}

{# What follows a comparison that NaN fails. DuckDB does not compare where it holds of the least and the largest number of a Parquet
   file, and these pass over NaN. #}
{% macro and_not_nan(x) %}{{ return(adapter.dispatch('and_not_nan', 'polars_ec')(x)) }}{% endmacro %}
{% macro default__and_not_nan(x) %}{{ return('') }}{% endmacro %}
{% macro duckdb__and_not_nan(x) %}{{ return(' AND (ISFINITE(' ~ x ~ ') OR ISINF(' ~ x ~ '))') }}{% endmacro %}

{# PostgreSQL makes an error of a product that underflows or overflows: there the product of n factors in a report takes factors, costs
   and priors below `least` as 0, and sums of weights above `most` make no metric. none: there is no such rule. #}
{% macro least_factor() %}{{ return(adapter.dispatch('least_factor', 'polars_ec')()) }}{% endmacro %}
{% macro default__least_factor() %}{{ return(none) }}{% endmacro %}
{% macro postgres__least_factor() %}{{ return(1e-50) }}{% endmacro %}
{% macro most_weight() %}{{ return(adapter.dispatch('most_weight', 'polars_ec')()) }}{% endmacro %}
{% macro default__most_weight() %}{{ return(1e300) }}{% endmacro %}
{% macro postgres__most_weight() %}{{ return(1e50) }}{% endmacro %}

{# What has a WITH clause worked out once, where the warehouse would put its text in place of its name. #}
{% macro sql_materialized() %}{{ return(adapter.dispatch('sql_materialized', 'polars_ec')()) }}{% endmacro %}
{% macro default__sql_materialized() %}{{ return('') }}{% endmacro %}
{% macro duckdb__sql_materialized() %}{{ return('MATERIALIZED ') }}{% endmacro %}
{% macro postgres__sql_materialized() %}{{ return('MATERIALIZED ') }}{% endmacro %}
{% macro redshift__sql_materialized() %}{{ return('') }}{% endmacro %}
