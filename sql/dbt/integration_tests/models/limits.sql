{{ polars_ec.report(
    ref('scores'), 'p', 'late', by=['segment'], metrics=['nec', 'recall', 'nce', 'nbs'], interval=0.95, prior=0.2, weight='w', min_rows=20) }}
