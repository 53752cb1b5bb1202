{{ polars_ec.report(
    ref('scores'), 'p', 'outcome', by={'segment': 'segment', 'month': "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"},
    pos_label="it's late", prior='uniform', min_rows=20) }}
