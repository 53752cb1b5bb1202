{{ config(enabled=target.name == 'duckdb') }}
{{ polars_ec.report(
    ref('scores'), 'p', 'late', by=['segment'], cost_fn=5, prior=0.2, total=true, interval=0.9, cluster="date_part('month', ts)", buckets=7) }}
