{# The natural logarithm of a finite number above 0, which Jinja has not: a series in whole numbers, 10^40 to the unit, of which only the
   last division rounds. #}
{% macro natural_log(x) %}
    {%- if polars_ec.is_fusion() -%}
        {%- do polars_ec.refuse('LLRs, log-odds and intervals need integers of any size, which dbt ' ~ dbt_version ~ ' (Fusion) lacks: run dbt Core 1, or leave them out') -%}
    {%- endif -%}
    {%- set unit = 10 ** 40 -%}
    {#- x is 2^twos * above / below, and the fraction is from 1/2 to 2. -#}
    {%- set above, below = (x | float).as_integer_ratio() -%}
    {%- set twos = above.bit_length() - below.bit_length() -%}
    {%- set above, below = above * 2 ** [-twos, 0] | max, below * 2 ** [twos, 0] | max -%}
    {%- set of_rest = polars_ec.area_tangent(unit * (above - below) // (above + below), unit) -%}
    {{ return((2 * of_rest + 2 * twos * polars_ec.area_tangent(unit // 3, unit)) / unit) }}
{% endmacro %}

{# y + y^3 / 3 + y^5 / 5 + ..., y from -1/2 to 1/2. #}
{% macro area_tangent(y, unit) %}
    {%- set square = y * y // unit -%}
    {%- set series = namespace(power=y, sum=0) -%}
    {%- for k in range(70) -%}
        {%- set series.sum = series.sum + series.power // (2 * k + 1) -%}
        {%- set series.power = series.power * square // unit -%}
    {%- endfor -%}
    {{ return(series.sum) }}
{% endmacro %}
