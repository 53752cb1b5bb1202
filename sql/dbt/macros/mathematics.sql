{# The natural logarithm of a finite number above 0, which Jinja has not: a series in whole numbers, 10^40 to the unit, of which only the
   last division rounds. #}
{% macro natural_log(x) %}
    {%- set unit = 10 ** 40 -%}
    {#- x is 2^twos * above / below, and the fraction is near 1. -#}
    {%- set ratio = (x | float).as_integer_ratio() -%}
    {%- set number = namespace(above=ratio[0], below=ratio[1], twos=0) -%}
    {%- for _ in range(1100) -%}
        {%- if 3 * number.above > 4 * number.below -%}
            {%- set number.below = 2 * number.below -%}
            {%- set number.twos = number.twos + 1 -%}
        {%- elif 3 * number.above < 2 * number.below -%}
            {%- set number.above = 2 * number.above -%}
            {%- set number.twos = number.twos - 1 -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set of_rest = polars_ec.area_tangent(unit * (number.above - number.below) // (number.above + number.below), unit) -%}
    {{ return((2 * of_rest + 2 * number.twos * polars_ec.area_tangent(unit // 3, unit)) / unit) }}
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
