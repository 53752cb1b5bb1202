{# By the macros of DuckDB, which the plugin polars_ec.dbt installs. With vars: {polars_ec_macros: false} by plain SQL, as elsewhere. #}
{% macro duckdb__report(request) %}
    {%- if not var('polars_ec_macros', true) -%}{{ return(polars_ec.default__report(request)) }}{%- endif -%}
    {%- do polars_ec.check_macros() -%}
    {%- set label = request.label -%}
    {%- set texts = request.texts | list -%}
    {%- set table = polars_ec.relation_text(request.relation) -%}
    {%- set prefix = polars_ec.free_prefix((texts + [request.score, label, request.weight, request.cluster, table] + request['keys'].values() | list) | join('\n')) -%}

    {#- The macro takes the name of a table, and of its columns: what else is given goes into a table of the WITH clause. -#}
    {%- set columns, groups = [], {} -%}
    {%- for name, sql in request['keys'].items() -%}
        {%- if polars_ec.last_name(sql) == name and '.' not in sql -%}
            {%- do groups.update({name: name}) -%}
        {%- else -%}
            {%- do groups.update({name: prefix ~ 'key_' ~ loop.index0}) -%}
            {%- do columns.append(sql ~ ' AS ' ~ prefix ~ 'key_' ~ loop.index0) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set is_name = polars_ec.last_name(table) is not none -%}
    {%- set log = {'name': table | trim, 'text': ''} -%}
    {%- if columns or not is_name -%}
        {#- Ours come first: of two columns of a name DuckDB leaves the first as it is. -#}
        {%- do log.update({
            'name': prefix ~ 'log', 'text': 'WITH ' ~ prefix ~ 'log AS NOT MATERIALIZED (\nSELECT ' ~ (columns + ['*']) | join(', ') ~ '\nFROM ' ~ table ~ '\n)\n'}) -%}
    {%- endif -%}

    {%- if request.pos_label is not none or request.classes is not none -%}
        {%- set class = modules.re.sub('\\bec_label\\b', '$label$', request.class_of_label) -%}
        {%- set class = 'CASE WHEN $label$ IS NOT NULL THEN ' ~ class ~ ' END' -%}
        {%- do texts.append(label) -%}
        {%- set label = polars_ec.written_query(class, {'label': '$text ' ~ (texts | length - 1) ~ '$'}, texts) -%}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for name in groups.values() -%}{%- do names.append(polars_ec.sql_string(name)) -%}{%- endfor -%}
    {%- set metrics = [] -%}
    {%- for name in request.metrics -%}{%- do metrics.append(polars_ec.sql_string(name)) -%}{%- endfor -%}
    {%- set arguments = [
        polars_ec.sql_string(log.name), request.score, label, 'groups := [' ~ names | join(', ') ~ ']',
        'cost_fn := ' ~ polars_ec.sql_number(request.cost_fn), 'cost_fp := ' ~ polars_ec.sql_number(request.cost_fp),
        "score_type := '" ~ request.score_type ~ "'"] -%}
    {%- if not request.usual -%}{%- do arguments.append('metrics := [' ~ metrics | join(', ') ~ ']') -%}{%- endif -%}
    {%- if request.threshold is not none -%}{%- do arguments.append('threshold := ' ~ polars_ec.any_number(request.threshold)) -%}{%- endif -%}
    {%- if request.shares is not none -%}
        {%- do arguments.append('prior := [' ~ polars_ec.sql_number(request.shares[0]) ~ ', ' ~ polars_ec.sql_number(request.shares[1]) ~ ']') -%}
    {%- endif -%}
    {%- if request.weight is not none -%}{%- do arguments.append('weight := ' ~ request.weight) -%}{%- endif -%}
    {%- if request.min_rows is not none -%}{%- do arguments.append('min_rows := ' ~ request.min_rows) -%}{%- endif -%}
    {%- if request.total -%}{%- do arguments.append('total := true') -%}{%- endif -%}
    {%- if request.interval is not none -%}{%- do arguments.append('interval := ' ~ polars_ec.sql_number(request.interval)) -%}{%- endif -%}
    {%- if request.cluster is not none -%}
        {%- do arguments.extend(['cluster := ' ~ request.cluster, 'buckets := ' ~ request.buckets]) -%}
    {%- endif -%}

    {%- set result = [] -%}
    {%- for name, column in groups.items() -%}{%- do result.append(polars_ec.sql_name(column) ~ ' AS ' ~ polars_ec.sql_name(name)) -%}{%- endfor -%}
    {%- for name in request.columns -%}{%- do result.append(polars_ec.sql_name(name)) -%}{%- endfor -%}
    {{ return(log.text ~ 'SELECT ' ~ result | join(', ') ~ '\nFROM ec.report(\n    ' ~ arguments | join(',\n    ') ~ '\n)') }}
{% endmacro %}

{% macro any_number(value) %}
    {%- if value > polars_ec.largest_number() -%}{{ return(polars_ec.sql_infinity()) }}{%- endif -%}
    {{ return('-' ~ polars_ec.sql_infinity() if value < -polars_ec.largest_number() else polars_ec.sql_number(value)) }}
{% endmacro %}

{# The macros are in a schema ec, or in a database of that name. #}
{% macro check_macros() %}
    {%- if execute -%}
        {%- set found = run_query("SELECT count(*), count(*) FILTER (WHERE schema_name = 'ec') > 0 AND 'ec' IN (SELECT database_name FROM duckdb_databases()) FROM duckdb_functions() WHERE function_name = 'report' AND 'ec' IN (schema_name, database_name)") -%}
        {%- if found.rows[0][0] == 0 -%}
            {%- do polars_ec.refuse("DuckDB has no macro ec.report: put 'plugins: [{module: polars_ec.dbt}]' into the profile (pip install 'polars_ec[dbt]'), or 'vars: {polars_ec_macros: false}' into dbt_project.yml, which does without intervals") -%}
        {%- elif found.rows[0][1] -%}
            {%- do polars_ec.refuse('both a schema and an attached database are called ec, so that DuckDB cannot tell which one ec.report is in: attach the database under another alias') -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
