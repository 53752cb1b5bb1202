{{ polars_ec.report(ref('scores'), 'x', 'late', by=['segment'], metrics=['recall', 'mcc'], score_type='llr', threshold=1.5) }}
