{{ polars_ec.report(
    ref('scores'), 'p', 'late', by=['segment'], metrics=['nec', 'expected_cost', 'recall'], cost_fn='1 + 2 * p', cost_fp=2, interval=0.9, prior=0.2) }}
