{# The log reduced to counts and sums per group, class and bin of the score: a SELECT whose rows `ec.Sketch.from_arrow` reads.
   docs/integrations/dbt.md has the arguments. #}
{% macro sketch(
    relation, score, label, by=[], score_type='posterior', resolution=64, thresholds=[], weight=none, pos_label=none, classes=none,
    cluster=none, buckets=100
) %}
    {%- do polars_ec.refuse_unknown('sketch', kwargs, [
        'relation', 'score', 'label', 'by', 'score_type', 'resolution', 'thresholds', 'weight', 'pos_label', 'classes', 'cluster',
        'buckets']) -%}
    {%- set request = polars_ec.checked_sketch(
        relation, score, label, by, score_type, resolution, thresholds, weight, pos_label, classes, cluster, buckets) -%}
    {{ return(polars_ec.written_query(adapter.dispatch('sketch', 'polars_ec')(request), {}, request.texts)) }}
{% endmacro %}

{# By the macros of DuckDB. They know the log and its groups by name, so these have names of their own. #}
{% macro duckdb__sketch(request) %}
    {%- if not polars_ec.has_macros('sketch') -%}{{ return(polars_ec.default__sketch(request)) }}{%- endif -%}
    {%- set groups, thresholds = [], [] -%}
    {%- for _ in request['keys'] -%}{%- do groups.append("'ec_key_" ~ loop.index0 ~ "'") -%}{%- endfor -%}
    {%- for threshold in request.thresholds -%}{%- do thresholds.append("CAST('" ~ threshold ~ "' AS DOUBLE)") -%}{%- endfor -%}
WITH ec_log AS (
    SELECT
        {%- for sql in request['keys'].values() %}
        {{ sql }} AS ec_key_{{ loop.index0 }},
        {%- endfor %}
        CAST({{ request.score }} AS DOUBLE) AS ec_score,
        {{ request.label }} AS ec_label
        {%- if request.weight %},
        CAST({{ request.weight }} AS DOUBLE) AS ec_weight
        {%- endif %}
        {%- if request.cluster %},
        {{ request.cluster }} AS ec_cluster
        {%- endif %}
    FROM {{ request.relation }}
)
SELECT
    {%- for name in request['keys'] %}
    ec_key_{{ loop.index0 }} AS {{ name }},
    {%- endfor %}
    *{% if groups %} EXCLUDE ({{ groups | join(', ') | replace("'", '') }}){% endif %}
FROM ec.sketch(
    'ec_log',
    ec_score,
    {{ 'CASE WHEN ec_label IS NOT NULL THEN ' ~ request.class_of_label ~ ' END' if request.has_classes else 'ec_label' }},
    {%- if request.cluster %}
    ec_cluster,
    buckets := {{ request.buckets }},
    {%- endif %}
    {%- if request.weight %}
    weight := ec_weight,
    {%- endif %}
    groups := [{{ groups | join(', ') }}],
    score_type := '{{ request.score_type }}',
    resolution := {{ request.resolution }},
    thresholds := [{{ thresholds | join(', ') }}]
)
{%- endmacro %}

{# The text of sketch_query: polars_ec/sql/sketch_query.py and log_rows.py say why each level is there. #}
{% macro default__sketch(request) %}
    {%- set score_type, resolution = request.score_type, request.resolution -%}
    {%- set weighted, clustered = request.weight is not none, request.cluster is not none -%}
    {%- set keys -%}{%- for _ in request['keys'] -%}ec_key_{{ loop.index0 }}, {% endfor -%}{%- endset -%}
    {%- set times = ', ec_times' if weighted else '' -%}
    {%- set bucket = ', ec_bucket' if clustered else '' -%}
    {%- set sums = polars_ec.sketch_sums(score_type) | trim -%}
    {%- set coarse = [resolution, 8] | min -%}
    {%- set is_cut = resolution % coarse != 0 -%}
WITH ec_rows AS (
    SELECT
        {%- for sql in request['keys'].values() %}
        {{ sql }} AS ec_key_{{ loop.index0 }},
        {%- endfor %}
        CAST({{ request.score }} AS $double$) AS ec_score,
        {{ request.label }} AS ec_label
        {%- if weighted %},
        CAST({{ request.weight }} AS $double$) AS ec_weight
        {%- endif %}
        {%- if clustered %},
        {{ request.cluster }} AS ec_cluster
        {%- endif %}
    FROM {{ request.relation }}
), ec_classes AS (
    SELECT
        {{ keys }}CASE
            WHEN ec_label IS NULL OR ec_score IS NULL{{ ' OR ec_weight IS NULL' if weighted }} THEN NULL
            WHEN {{ polars_ec.sketch_valid(score_type) | trim }}{{ polars_ec.and_not_nan('ec_score') }}
                {%- if weighted %}
                AND ec_weight >= 0 AND ec_weight <= ${{ polars_ec.largest_number() }}${{ polars_ec.and_not_nan('ec_weight') }}
                {%- endif %}
            THEN {{ request.class_of_label }}
            ELSE -1
        END AS ec_class,
        ec_score{{ ', ec_weight' if weighted }}
        {%- if clustered %},
        {{ polars_ec.sketch_md5('ec_cluster') }} AS ec_hashed
        {%- endif %}
    FROM ec_rows
), ec_usable AS (
    SELECT
        {{ keys }}ec_class,
        CASE WHEN ec_class >= 0 THEN ec_score END AS ec_used,
        {{ polars_ec.sketch_usable(score_type) | trim }}
        {%- if weighted %},
        CASE WHEN ec_class >= 0 THEN ec_weight END AS ec_times
        {%- endif %}
        {%- if clustered %},
        {{ polars_ec.sketch_bucket(request.buckets) | trim }} AS ec_bucket
        {%- endif %}
    FROM ec_classes
), ec_logs AS (
    SELECT {{ keys }}ec_class, ec_used, {{ polars_ec.sketch_logs(score_type) | trim }}{{ times }}{{ bucket }}
    FROM ec_usable
), ec_values AS (
    SELECT
        {{ keys }}ec_class,
        {{ polars_ec.sketch_bin(score_type, resolution) | trim }} AS ec_bin,
        {{ polars_ec.sketch_above(request.thresholds) | trim }} AS ec_above
        {%- if sums %},
        {{ sums }}
        {%- endif %}{{ times }}{{ bucket }}
        {%- if clustered and is_cut %},
        {{ polars_ec.sketch_bin(score_type, coarse) | trim }} AS ec_coarse
        {%- endif %}
    FROM ec_logs
)
{%- if clustered %}, ec_tables AS (
    SELECT 'cells' AS ec_table UNION ALL SELECT 'coarse' AS ec_table
), ec_both AS (
    SELECT
        {{ keys }}ec_class, ec_above{{ ', ec_log_loss, ec_error, ec_posterior' if sums }}{{ times }},
        ec_table,
        CASE WHEN ec_table = 'coarse' THEN ec_bucket END AS ec_in_bucket,
        CASE
            WHEN ec_table = 'coarse' THEN {{ 'ec_coarse' if is_cut else polars_ec.sketch_outer_bin(score_type, resolution, coarse) | trim }}
            ELSE ec_bin
        END AS ec_in_bin
    FROM ec_values CROSS JOIN ec_tables
    WHERE ec_table = 'cells' OR ec_class >= 0
)
{%- endif %}
SELECT
    {%- for name in request['keys'] %}
    ec_key_{{ loop.index0 }} AS {{ name }},
    {%- endfor %}
    {%- if clustered %}
    ec_table AS {{ polars_ec.sql_name('table') }},
    CAST(ec_in_bucket AS $smallint$) AS {{ polars_ec.sql_name('bucket') }},
    {%- endif %}
    CAST(ec_class AS $smallint$) AS {{ polars_ec.sql_name('class') }},
    CAST({{ 'ec_in_bin' if clustered else 'ec_bin' }} AS $int$) AS {{ polars_ec.sql_name('bin') }},
    CAST(ec_above AS $smallint$) AS {{ polars_ec.sql_name('above') }},
    CAST(COUNT(*) AS $bigint$) AS {{ polars_ec.sql_name('n') }},
    {%- set rows = 'CAST(CASE WHEN ec_class >= 0 THEN COUNT(*) ELSE 0 END AS $double$)' %}
    {{ 'COALESCE(SUM(ec_times), 0)' if weighted else rows }} AS {{ polars_ec.sql_name('weight') }},
    {{ polars_ec.sketch_sum(['ec_times', 'ec_times']) if weighted else rows }} AS {{ polars_ec.sql_name('weight2') }}
    {%- if sums %}
    {%- for name, factors in {'log_loss': ['ec_log_loss'], 'brier': ['ec_error', 'ec_error'], 'posterior': ['ec_posterior']}.items() %},
    {%- set sum = polars_ec.sketch_sum((['ec_times'] if weighted else []) + factors) %}
    {{ "CASE WHEN ec_table = 'cells' THEN " ~ sum ~ ' END' if clustered else sum }} AS {{ polars_ec.sql_name(name) }}
    {%- endfor %}
    {%- endif %}
    {%- if clustered %},
    CAST({{ polars_ec.sql_string('md5 by ' ~ adapter.type()) }} AS {{ polars_ec.sql_text() }}) AS {{ polars_ec.sql_name('hash') }}
    {%- endif %}
FROM {{ 'ec_both' if clustered else 'ec_values' }}
GROUP BY {{ keys }}{{ 'ec_table, ec_in_bucket, ec_class, ec_in_bin' if clustered else 'ec_class, ec_bin' }}, ec_above
{%- endmacro %}
