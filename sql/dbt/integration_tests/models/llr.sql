{{ polars_ec.report(ref('scores'), 'x', 'late', by=['segment'], score_type='llr', prior=0.3, cost_fn=2) }}
