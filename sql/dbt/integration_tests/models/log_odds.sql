{{ polars_ec.report(ref('scores'), 'x', 'late', by=['segment'], score_type='log_odds', weight='w', cost_fp=3) }}
