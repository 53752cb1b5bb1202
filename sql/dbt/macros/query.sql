{# A query as levels, each a SELECT from the one before, of texts with tokens: `$double$` and the like for what the warehouses write
   differently, `$text 0$` for what the caller wrote. Names within the query begin with ec_. #}

{# A SELECT of columns by their names. #}
{% macro select_columns(columns, source) %}
    {%- set texts = [] -%}
    {%- for name, sql in columns.items() -%}
        {%- do texts.append(sql if sql == name else sql ~ ' AS ' ~ name) -%}
    {%- endfor -%}
    {{ return('SELECT\n    ' ~ texts | join(',\n    ') ~ '\nFROM ' ~ source) }}
{% endmacro %}

{# The query whose SELECTs, by their names, end with `last`; those in `once` are worked out once where the warehouse can be told so. #}
{% macro with_levels(levels, last, once) %}
    {%- set texts = [] -%}
    {%- for name, text in levels.items() -%}{%- do texts.append(name ~ ' AS ' ~ (polars_ec.sql_materialized() if name in once else '') ~ '(\n' ~ text ~ '\n)') -%}{%- endfor -%}
    {{ return('WITH ' ~ texts | join(', ') ~ '\n' ~ last) }}
{% endmacro %}

{# One mapping of several; of equal names the last one counts. #}
{% macro merged(mappings) %}
    {%- set all = {} -%}
    {%- for one in mappings -%}{%- do all.update(one) -%}{%- endfor -%}
    {{ return(all) }}
{% endmacro %}

{# What stands for a text of the caller's, which `texts` takes. #}
{% macro text_token(text, texts) %}
    {%- do texts.append(text) -%}
    {{ return('$text ' ~ (texts | length - 1) ~ '$') }}
{% endmacro %}

{# The query in the dialect at hand: `values` are texts and numbers by their tokens, which may hold tokens of the dialect. The names of
   the query begin otherwise where the caller has such names. #}
{% macro written_query(text, values, texts) %}
    {%- set query = namespace(text=text) -%}
    {%- for token, value in values.items() -%}
        {%- set query.text = query.text.replace('$' ~ token ~ '$', value if value is string else '$' ~ value ~ '$') -%}
    {%- endfor -%}
    {%- for x in modules.re.findall('\\$not_nan (\\w+)\\$', query.text) | unique -%}
        {%- set query.text = query.text.replace('$not_nan ' ~ x ~ '$', polars_ec.and_not_nan(x)) -%}
    {%- endfor -%}
    {%- for number in modules.re.findall('\\$(-?[0-9][-+.0-9e]*)\\$', query.text) | unique -%}
        {%- set query.text = query.text.replace('$' ~ number ~ '$', polars_ec.sql_number(number | float)) -%}
    {%- endfor -%}
    {%- set written = {
        'infinity': polars_ec.sql_infinity(), 'least': polars_ec.sql_least(), 'greatest': polars_ec.sql_greatest(), 'double': polars_ec.sql_double(),
        'bigint': polars_ec.sql_bigint(), 'smallint': polars_ec.sql_smallint(), 'int': polars_ec.sql_int()} -%}
    {%- for token, sql in written.items() -%}
        {%- set query.text = query.text.replace('$' ~ token ~ '$', sql) -%}
    {%- endfor -%}
    {%- set prefix = polars_ec.free_prefix(texts | join('\n')) -%}
    {%- set pieces = modules.re.sub('\\bec_', prefix, query.text).split('$text ') -%}
    {%- set all = [pieces[0]] -%}
    {%- for piece in pieces[1:] -%}
        {%- set index = piece.split('$')[0] -%}
        {%- do all.append(texts[index | int] ~ piece[index | length + 1:]) -%}
    {%- endfor -%}
    {{ return(all | join) }}
{% endmacro %}

{# What no name begins with in the caller's texts. #}
{% macro free_prefix(texts) %}
    {%- for prefix in polars_ec.prefixes() if not modules.re.search('(?i)\\b' ~ prefix, texts) -%}
        {{ return(prefix) }}
    {%- endfor -%}
    {%- do polars_ec.refuse('the names in the arguments use all of the prefixes ' ~ polars_ec.prefixes() | join(', ') ~ ', and the query needs one of them for its own names: rename the columns') -%}
{% endmacro %}

{% macro prefixes() %}
    {%- set all = ['ec_'] -%}
    {%- for i in range(1, 10) -%}{%- do all.append('ec' ~ i ~ '_') -%}{%- endfor -%}
    {{ return(all) }}
{% endmacro %}

{# Whether the score of a usable row is above a threshold that is below infinity. #}
{% macro exceeds(threshold) %}
    {%- set largest = polars_ec.largest_number() -%}
    {{ return('ec_used >= -$' ~ largest ~ '$' if threshold < -largest else 'ec_used > $' ~ threshold ~ '$') }}
{% endmacro %}
