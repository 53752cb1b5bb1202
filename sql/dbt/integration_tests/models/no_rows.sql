-- In parentheses after FROM, of rows that are none.
SELECT report.*
FROM (
    {{ polars_ec.report("(SELECT * FROM " ~ ref('scores') ~ " WHERE segment = 'nobody') AS nobody", 'p', 'late', metrics=['nec', 'nce']) }}
) AS report
