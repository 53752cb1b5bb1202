{{ polars_ec.report(ref('scores'), 'd', 'late', by=['segment'], score_type='decision', prior=0.2, cost_fn=7) }}
