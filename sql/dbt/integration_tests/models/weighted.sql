{{ polars_ec.report(ref('scores'), 'p', 'late', by='segment', weight='w', prior=[0.3, 0.7], threshold=0.3) }}
