{{ polars_ec.report(ref('scores'), 'p', 'code', classes=[0, 1], by=['segment'], metrics=['nec', 'nbs']) }}
