{# Tests of data that fail where a group of the report is beyond a limit. Their rules are those of the gates of the command: with
   `interval` a group fails only if its whole interval is beyond; nulls and small groups pass unless `fail_on_null`. With `prior` the
   value at that prior is judged, where a prior moves it. #}

{% test nec_at_most(
    model, score, label, at_most=1, by=[], cost_fn=1, cost_fp=1, threshold=none, prior=none, score_type='posterior', weight=none,
    pos_label=none, classes=none, total=false, min_rows=none, interval=none, cluster=none, buckets=100, fail_on_null=false
) %}
    {%- do polars_ec.refuse_unknown('nec_at_most', kwargs, ['score', 'label', 'at_most'] + polars_ec.shared_arguments() + ['fail_on_null']) -%}
    {{ polars_ec.failing_groups(
        model, score, label, 'nec', none, at_most, fail_on_null, by=by, cost_fn=cost_fn, cost_fp=cost_fp, threshold=threshold,
        prior=prior, score_type=score_type, weight=weight, pos_label=pos_label, classes=classes, total=total, min_rows=min_rows,
        interval=interval, cluster=cluster, buckets=buckets) }}
{% endtest %}

{% test metric_at_most(
    model, score, label, metric, at_most, by=[], cost_fn=1, cost_fp=1, threshold=none, prior=none, score_type='posterior', weight=none,
    pos_label=none, classes=none, total=false, min_rows=none, interval=none, cluster=none, buckets=100, fail_on_null=false
) %}
    {%- do polars_ec.refuse_unknown('metric_at_most', kwargs, ['score', 'label', 'metric', 'at_most'] + polars_ec.shared_arguments() + ['fail_on_null']) -%}
    {{ polars_ec.failing_groups(
        model, score, label, metric, none, at_most, fail_on_null, by=by, cost_fn=cost_fn, cost_fp=cost_fp, threshold=threshold,
        prior=prior, score_type=score_type, weight=weight, pos_label=pos_label, classes=classes, total=total, min_rows=min_rows,
        interval=interval, cluster=cluster, buckets=buckets) }}
{% endtest %}

{% test metric_at_least(
    model, score, label, metric, at_least, by=[], cost_fn=1, cost_fp=1, threshold=none, prior=none, score_type='posterior', weight=none,
    pos_label=none, classes=none, total=false, min_rows=none, interval=none, cluster=none, buckets=100, fail_on_null=false
) %}
    {%- do polars_ec.refuse_unknown('metric_at_least', kwargs, ['score', 'label', 'metric', 'at_least'] + polars_ec.shared_arguments() + ['fail_on_null']) -%}
    {{ polars_ec.failing_groups(
        model, score, label, metric, at_least, none, fail_on_null, by=by, cost_fn=cost_fn, cost_fp=cost_fp, threshold=threshold,
        prior=prior, score_type=score_type, weight=weight, pos_label=pos_label, classes=classes, total=total, min_rows=min_rows,
        interval=interval, cluster=cluster, buckets=buckets) }}
{% endtest %}

{# No group has more rows than this that are wrong, or that are missing; missing_at_most=none: any number of these. #}
{% test no_invalid_rows(
    model, score, label, at_most=0, missing_at_most=none, by=[], score_type='posterior', weight=none, pos_label=none, classes=none
) %}
    {%- do polars_ec.refuse_unknown('no_invalid_rows', kwargs, [
        'score', 'label', 'at_most', 'missing_at_most', 'by', 'score_type', 'weight', 'pos_label', 'classes']) -%}
    {{ polars_ec.groups_with_invalid_rows(
        model, score, label, at_most, missing_at_most, by, score_type, weight, pos_label, classes) }}
{% endtest %}
