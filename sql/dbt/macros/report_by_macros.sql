{# By the macros of DuckDB, which the plugin polars_ec.dbt installs, or by plain SQL, as elsewhere. #}
{% macro duckdb__report(request) %}
    {%- if not polars_ec.has_macros('report') -%}{{ return(polars_ec.default__report(request)) }}{%- endif -%}
    {#- The macro takes names of a table and of its columns, which a WITH clause gives to whatever the caller has. -#}
    {%- set texts = request.texts | list -%}
    {%- set columns, groups = {}, {} -%}
    {%- for name, sql in request['keys'].items() -%}
        {%- do groups.update({name: 'ec_key_' ~ loop.index0}) -%}
        {%- do columns.update({'ec_key_' ~ loop.index0: polars_ec.text_token(sql, texts)}) -%}
    {%- endfor -%}
    {%- for name in ['score', 'label', 'weight', 'cluster'] if request[name] is not none -%}
        {%- do columns.update({'ec_' ~ name: polars_ec.text_token(request[name], texts)}) -%}
    {%- endfor -%}
    {%- set costs = [] -%}
    {%- for name in ['cost_fn', 'cost_fp'] -%}
        {%- set by_row = request[name] is string -%}
        {%- if by_row -%}{%- do columns.update({'ec_' ~ name: polars_ec.text_token(request[name], texts)}) -%}{%- endif -%}
        {%- do costs.append(name ~ ' := ' ~ ('ec_' ~ name if by_row else polars_ec.sql_number(request[name]))) -%}
    {%- endfor -%}
    {%- set log = polars_ec.select_columns(columns, polars_ec.text_token(polars_ec.relation_text(request.relation), texts)) -%}
    {%- set has_classes = request.pos_label is not none or request.classes is not none -%}
    {%- set label = 'CASE WHEN ec_label IS NOT NULL THEN ' ~ request.class_of_label ~ ' END' if has_classes else 'ec_label' -%}
    {%- set names = [] -%}
    {%- for name in groups.values() -%}{%- do names.append(polars_ec.sql_string(name)) -%}{%- endfor -%}
    {%- set metrics = [] -%}
    {%- for name in request.metrics -%}{%- do metrics.append(polars_ec.sql_string(name)) -%}{%- endfor -%}
    {%- set arguments = [
        "'ec_log'", 'ec_score', label, 'groups := [' ~ names | join(', ') ~ ']',
        costs | join(', '),
        "score_type := '" ~ request.score_type ~ "'"] -%}
    {%- if not request.usual -%}{%- do arguments.append('metrics := [' ~ metrics | join(', ') ~ ']') -%}{%- endif -%}
    {%- if request.threshold is not none -%}{%- do arguments.append('threshold := ' ~ polars_ec.any_number(request.threshold)) -%}{%- endif -%}
    {%- if request.shares is not none -%}
        {%- do arguments.append('prior := [' ~ polars_ec.sql_number(request.shares[0]) ~ ', ' ~ polars_ec.sql_number(request.shares[1]) ~ ']') -%}
    {%- endif -%}
    {%- if request.weight is not none -%}{%- do arguments.append('weight := ec_weight') -%}{%- endif -%}
    {%- if request.min_rows is not none -%}{%- do arguments.append('min_rows := ' ~ request.min_rows) -%}{%- endif -%}
    {%- if request.total -%}{%- do arguments.append('total := true') -%}{%- endif -%}
    {%- if request.interval is not none -%}{%- do arguments.append('"interval" := ' ~ polars_ec.sql_number(request.interval)) -%}{%- endif -%}
    {%- if request.cluster is not none -%}
        {%- do arguments.extend(['cluster := ec_cluster', 'buckets := ' ~ request.buckets]) -%}
    {%- endif -%}

    {%- set result = {} -%}
    {%- for name, column in groups.items() -%}{%- do result.update({polars_ec.text_token(polars_ec.sql_name(name), texts): column}) -%}{%- endfor -%}
    {%- for name in request.columns -%}{%- do result.update({polars_ec.sql_name(name): polars_ec.sql_name(name)}) -%}{%- endfor -%}
    {%- set report = 'ec.report(\n    ' ~ arguments | join(',\n    ') ~ '\n)' -%}
    {%- set query = 'WITH ec_log AS NOT MATERIALIZED (\n' ~ log ~ '\n)\n' ~ polars_ec.select_columns(result, report) -%}
    {{ return(polars_ec.written_query(query, {}, texts)) }}
{% endmacro %}

{% macro any_number(value) %}
    {%- if value > polars_ec.largest_number() -%}{{ return(polars_ec.sql_infinity()) }}{%- endif -%}
    {{ return('-' ~ polars_ec.sql_infinity() if value < -polars_ec.largest_number() else polars_ec.sql_number(value)) }}
{% endmacro %}

{# Whether to call the macros of DuckDB: unless vars: {polars_ec_macros: false}, or this is dbt Fusion and nothing else has
   put them there. They are in a schema ec, or in a database of that name. #}
{% macro has_macros(name) %}
    {%- if not var('polars_ec_macros', true) -%}{{ return(false) }}{%- endif -%}
    {%- if execute -%}
        {%- set found = run_query("SELECT count(*), count(*) FILTER (WHERE schema_name = 'ec') > 0 AND 'ec' IN (SELECT database_name FROM duckdb_databases()) FROM duckdb_functions() WHERE function_name = '" ~ name ~ "' AND 'ec' IN (schema_name, database_name)") -%}
        {%- if found.rows[0][0] == 0 -%}
            {%- set in_plain_sql = {
                'report': 'plain SQL, which has all but cluster= and total=true',
                'sketch': 'plain SQL, which has all of it, and assigns clusters to buckets by another hash'}[name] -%}
            {%- if polars_ec.is_fusion() -%}
                {%- do exceptions.warn('polars_ec: dbt ' ~ dbt_version ~ ' does not run the plugin polars_ec.dbt, and DuckDB has no macro ec.' ~ name ~ ': this is ' ~ in_plain_sql ~ ". To hide this warning put 'vars: {polars_ec_macros: false}' into dbt_project.yml") -%}
                {{ return(false) }}
            {%- endif -%}
            {%- do polars_ec.refuse("DuckDB has no macro ec." ~ name ~ ": put 'plugins: [{module: polars_ec.dbt}]' into the profile (pip install 'polars_ec[dbt]'), or 'vars: {polars_ec_macros: false}' into dbt_project.yml: " ~ in_plain_sql) -%}
        {%- elif found.rows[0][1] -%}
            {%- do polars_ec.refuse('both a schema and an attached database are called ec, so DuckDB cannot tell which one ec.' ~ name ~ ' is in: attach the database under another alias') -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(true) }}
{% endmacro %}
