{{ polars_ec.report(ref('scores'), 'p', 'code', pos_label=0, by=['segment'], metrics=['nec', 'brier']) }}
