{{ polars_ec.report(ref('scores'), 'p', 'outcome', by=['segment'], classes=['on\\time', "it's late"], weight='w') }}
