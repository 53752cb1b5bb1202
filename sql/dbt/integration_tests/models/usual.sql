{{ polars_ec.report(ref('scores'), 'p', 'late', by=['segment']) }}
