{# By sums and formulas in plain SQL: the text of polars_ec.report_query. #}
{% macro default__report(request) %}
    {#- A model that is for DuckDB alone, and disabled elsewhere, is parsed elsewhere too: hence errors only when it is compiled. -#}
    {%- if execute -%}{%- do polars_ec.check_plain(request) -%}{%- endif -%}
    {%- set least, most = polars_ec.least_factor(), polars_ec.most_weight() -%}
    {%- set parts = polars_ec.merged([polars_ec.report_parts(), polars_ec.report_parts_of_costs() if request.by_row else {}]) -%}
    {%- set texts = request.texts | list -%}
    {%- set weighted = '_weighted' if request.weight is not none else '' -%}
    {%- set variant = weighted ~ ('_from_least' if least is not none else '') -%}
    {%- set kind = 'log_odds' if request.score_type == 'llr' else request.score_type -%}

    {%- set given_keys, keys = {}, {} -%}
    {%- for sql in request['keys'].values() -%}
        {%- do given_keys.update({'ec_key_' ~ loop.index0: polars_ec.text_token(sql, texts)}) -%}
        {%- do keys.update({'ec_key_' ~ loop.index0: 'ec_key_' ~ loop.index0}) -%}
    {%- endfor -%}
    {%- set values = {
        'score': polars_ec.text_token(request.score, texts), 'label': polars_ec.text_token(request.label, texts),
        'class_of_label': request.class_of_label, 'positive': polars_ec.is_positive(request), 'log_odds': polars_ec.log_odds_of(request),
        'most_weight': most, 'largest': polars_ec.largest_number()} -%}
    {%- for name in ['cost_fn', 'cost_fp'] -%}
        {%- do values.update({name: polars_ec.text_token(request[name], texts) if request[name] is string else request[name]}) -%}
    {%- endfor -%}
    {%- if request.weight is not none -%}{%- do values.update({'weight': polars_ec.text_token(request.weight, texts)}) -%}{%- endif -%}
    {%- if request.shares is not none -%}{%- do values.update({'share_0': request.shares[0], 'share_1': request.shares[1]}) -%}{%- endif -%}
    {%- if least is not none -%}{%- do values.update({'least_factor': least}) -%}{%- endif -%}
    {%- if request.interval is not none -%}{%- do values.update(polars_ec.numbers_of_level(request.interval)) -%}{%- do values.update({'min_rows': (request.min_rows or 0) | string}) -%}{%- endif -%}

    {%- set levels = {} -%}
    {%- set source = namespace(name=polars_ec.text_token(polars_ec.relation_text(request.relation), texts)) -%}
    {%- for level in ['rows', 'classes', 'usable', 'logs', 'values'] -%}
        {%- set columns = polars_ec.needed_columns(request, parts[level ~ '_of_' ~ kind ~ weighted]) -%}
        {%- set costs = polars_ec.columns_of_costs(request, level, parts['costs_of_' ~ kind ~ ('_from_least' if least is not none else '')]) if request.by_row else {} -%}
        {%- set columns = polars_ec.merged([given_keys if level == 'rows' else keys, columns, costs]) -%}
        {%- do levels.update({'ec_' ~ level: polars_ec.select_columns(columns, source.name)}) -%}
        {%- set source.name = 'ec_' ~ level -%}
    {%- endfor -%}

    {%- for level in ['sums' ~ variant, 'groups' ~ variant, 'sizes'] + (['means'] if request.interval is none else []) -%}
        {%- set columns = polars_ec.needed_columns(request, parts[level]) -%}
        {%- if loop.first -%}{%- set columns = polars_ec.merged([keys, columns]) -%}{%- endif -%}
        {%- set group_by = '\nGROUP BY ' ~ keys | join(', ') if keys and loop.first else '' -%}
        {%- set name = 'ec_' ~ level.removesuffix(variant) -%}
        {%- do levels.update({name: polars_ec.select_columns(columns, source.name) ~ group_by}) -%}
        {%- set source.name = name -%}
    {%- endfor -%}

    {%- set result, limits, groups = {}, {}, namespace(by='') -%}
    {%- for name in request['keys'] -%}
        {%- do result.update({polars_ec.text_token(polars_ec.sql_name(name), texts): 'ec_key_' ~ loop.index0}) -%}
    {%- endfor -%}
    {%- if request.interval is none -%}
        {%- for name in request.columns -%}
            {%- do result.update({polars_ec.sql_name(name): polars_ec.formula_of(name, parts, request)}) -%}
        {%- endfor -%}
    {%- else -%}
        {%- set metrics, kept = polars_ec.limited_metrics(request), keys | list + ['ec_n', 'ec_n_missing', 'ec_n_invalid'] + (['ec_n_uncosted'] if request.by_row else []) + ['ec_prior', 'ec_small'] -%}
        {%- for cell in parts.cells if cell in request.columns -%}{%- do kept.append('ec_' ~ cell) -%}{%- endfor -%}
        {%- do limits.update(polars_ec.limit_levels(request, metrics, kept, 'ec_sizes', least)) -%}
        {%- do result.update(polars_ec.limited_columns(request, metrics, parts)) -%}
        {%- set of_costs = [] -%}
        {%- for metric in metrics if metric.name in ['nec', 'expected_cost', 'bayes_risk'] -%}{%- do of_costs.append(metrics.index(metric)) -%}{%- endfor -%}
        {%- do values.update({'is_of_decisions': '(ec_u = 1' ~ (' OR ec_metric IN (' ~ of_costs | join(', ') ~ ')' if of_costs else '') ~ ')'}) -%}
        {%- if metrics -%}{%- set groups.by = '\nGROUP BY ' ~ kept | join(', ') -%}{%- endif -%}
    {%- endif -%}
    {%- set all_levels = polars_ec.merged([levels, limits]) -%}
    {%- set query = polars_ec.with_levels(all_levels, polars_ec.select_columns(result, all_levels | last) ~ groups.by, limits) -%}
    {%- set settings = polars_ec.sql_settings() if request.interval is not none else '' -%}
    {{ return(polars_ec.written_query(query, values, texts) ~ settings) }}
{% endmacro %}

{# What other SQL has not. #}
{% macro check_plain(request) %}
    {%- if request.total -%}
        {%- do polars_ec.refuse('total=true needs DuckDB with the macros: leave it out, and make a second report without by') -%}
    {%- endif -%}
    {%- if request.cluster is not none -%}
        {%- do polars_ec.refuse('cluster=' ~ request.cluster ~ ': intervals with clusters need DuckDB with the macros: leave it out if rows are independent, or make the model of the text that polars_ec.report_query(cluster=...) returns in Python') -%}
    {%- endif -%}
    {%- if polars_ec.least_factor() is not none -%}{%- do polars_ec.check_range(request, polars_ec.least_factor(), polars_ec.most_weight()) -%}{%- endif -%}
{% endmacro %}

{# What a level of rows has more where they have costs. The threshold of LLRs is that of log-odds, without the prior. #}
{% macro columns_of_costs(request, level, levels) %}
    {%- set columns = polars_ec.merged([levels['ec_' ~ level]]) -%}
    {%- if level == 'logs' and request.score_type == 'llr' and request.shares is not none -%}
        {%- do columns.update({'ec_bar': '(' ~ columns.ec_bar ~ ') + ' ~ polars_ec.any_number(-polars_ec.prior_log_odds(request.shares))}) -%}
    {%- endif -%}
    {{ return(columns) }}
{% endmacro %}

{# The text of a column of the result. #}
{% macro formula_of(name, parts, request) %}
    {%- if name == 'small' -%}{{ return('ec_n < ' ~ request.min_rows) }}{%- endif -%}
    {%- if name in parts.others -%}{{ return(parts.others[name]) }}{%- endif -%}
    {%- if name in parts.cells and request.weight is not none -%}{{ return(parts.metrics[name].replace('$bigint$', '$double$')) }}{%- endif -%}
    {%- if name.endswith('_at_prior') -%}
        {{ return(modules.re.sub('\\bec_p([01])\\b', 'ec_q\\1', parts.metrics[name.removesuffix('_at_prior')])) }}
    {%- endif -%}
    {{ return(parts.metrics[name]) }}
{% endmacro %}

{# Those columns of a level that the metrics and the prior ask for. #}
{% macro needed_columns(request, columns) %}
    {%- set losses = polars_ec.report_parts().losses -%}
    {%- set asked = [] -%}
    {%- for name in request.metrics if name in losses -%}{%- do asked.append(losses[name]) -%}{%- endfor -%}
    {%- set needed = {} -%}
    {%- for name, sql in columns.items() -%}
        {%- if modules.re.fullmatch('ec_(sum_)?log_loss[12]?(_[01])?|ec_infinite_[01]', name) -%}
            {%- set is_needed = 'log_loss' in asked -%}
        {%- elif modules.re.fullmatch('ec_(sum_)?brier[12]?_[01]', name) -%}
            {%- set is_needed = 'brier' in asked -%}
        {%- elif name == 'ec_error' -%}
            {%- set is_needed = asked | length > 0 -%}
        {%- else -%}
            {%- set is_needed = name not in ['ec_q0', 'ec_q1'] or request.shares is not none -%}
        {%- endif -%}
        {%- set is_of_limits = modules.re.fullmatch('ec_sum_[a-z_]+[12]_[01]|ec_sq_[a-z]+|ec_(all|squares)_[01]', name) -%}
        {%- if is_needed and (not is_of_limits or request.interval is not none) -%}{%- do needed.update({name: sql}) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(needed) }}
{% endmacro %}

{# What stands after FROM. #}
{% macro relation_text(relation) %}
    {%- set text = relation | string -%}
    {{ return(text ~ ('\n' if relation is string and ('--' in text or '#' in text or '//' in text) else '')) }}
{% endmacro %}

{# The log-odds of a row, made of its score. #}
{% macro log_odds_of(request) %}
    {%- if request.score_type != 'llr' or request.shares is none -%}{{ return('ec_score') }}{%- endif -%}
    {{ return('(ec_score + ' ~ polars_ec.any_number(polars_ec.prior_log_odds(request.shares)) ~ ')') }}
{% endmacro %}

{# Whether a usable row is decided for the positive class. #}
{% macro is_positive(request) %}
    {%- if request.score_type == 'decision' -%}{{ return('ec_used = 1') }}{%- endif -%}
    {%- set threshold = request.threshold -%}
    {%- if threshold is none and request.by_row -%}
        {{ return(('(ec_used / 100)' if request.score_type == 'percent' else 'ec_used') ~ ' > ec_bar') }}
    {%- endif -%}
    {%- if threshold is none -%}{%- set threshold = polars_ec.bayes_threshold(request) -%}{%- endif -%}
    {%- if threshold != threshold or threshold > polars_ec.largest_number() -%}{{ return('FALSE') }}{%- endif -%}
    {#- The Bayes threshold of percents is that of the posteriors that they are. -#}
    {%- set used = '(ec_used / 100)' if request.score_type == 'percent' and request.threshold is none else 'ec_used' -%}
    {{ return(polars_ec.exceeds(threshold) | replace('ec_used', used)) }}
{% endmacro %}

{# The threshold of Bayes decisions, on the scale of the score; of percents on that of posteriors. #}
{% macro bayes_threshold(request) %}
    {%- set fn, fp = request.cost_fn, request.cost_fp -%}
    {%- set infinity = 10 * polars_ec.largest_number() -%}
    {%- if request.score_type in ['posterior', 'percent'] -%}
        {%- if fn == 0 and fp == 0 -%}{{ return(1.0) }}{%- endif -%}
        {{ return(fp / 2 / (fp / 2 + fn / 2) if fp + fn == infinity else fp / (fp + fn)) }}
    {%- endif -%}
    {%- if fn == 0 or fp == 0 -%}
        {%- set log_odds = -infinity if fn > 0 else infinity -%}
    {%- else -%}
        {%- set ratio = fp / fn -%}
        {%- set log_odds = polars_ec.natural_log(ratio) if ratio > 0 and ratio < infinity else polars_ec.natural_log(fp) - polars_ec.natural_log(fn) -%}
    {%- endif -%}
    {{ return(log_odds - polars_ec.prior_log_odds(request.shares) if request.score_type == 'llr' else log_odds) }}
{% endmacro %}

{% macro prior_log_odds(shares) %}
    {%- set logs = [] -%}
    {%- for share in shares -%}
        {%- do logs.append(polars_ec.natural_log(share) if share > 0 else -10 * polars_ec.largest_number()) -%}
    {%- endfor -%}
    {{ return(logs[1] - logs[0]) }}
{% endmacro %}

{# PostgreSQL makes an error of a product that underflows or overflows. #}
{% macro check_range(request, least, most) %}
    {%- set stated = {'cost_fn': request.cost_fn, 'cost_fp': request.cost_fp} -%}
    {%- if request.shares is not none -%}{%- do stated.update({'prior': request.shares | min}) -%}{%- endif -%}
    {%- for name, value in stated.items() if value is not string and value != 0 and not (value >= least and value <= most) -%}
        {%- do polars_ec.refuse(name ~ '=' ~ value ~ ': products with it overflow or underflow, which is an error in PostgreSQL: pass 0, or a number from ' ~ least ~ ' to ' ~ most) -%}
    {%- endfor -%}
{% endmacro %}
