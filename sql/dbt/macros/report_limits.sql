{# The values and limits of the metrics of a report, of rows that are independent: the levels of polars_ec/sql/report_limits.py, which says
   why each is there. The formulas are in formulas.sql. #}

{# The levels after `source`, by their names; the last one has the columns `kept` of a group as well. #}
{% macro limit_levels(request, metrics, kept, source, least) %}
    {%- set parts = polars_ec.merged([polars_ec.limit_parts(), polars_ec.limit_parts_of_costs() if request.by_row else {}]) -%}
    {%- set variant = '_from_least' if least is not none else '' -%}
    {%- set families, scales, values, losses, halves = [], [], {}, [], {} -%}
    {%- for metric in metrics -%}
        {%- set family = parts.families[metric.name] -%}
        {%- do losses.append('ec_' ~ family ~ '_known') -%}
        {%- do families.append(family) -%}
        {%- do scales.append(parts.scales[metric.name]) -%}
        {%- do values.update({metric.name: parts['values'][metric.name]}) -%}
    {%- endfor -%}
    {%- for name, sql in parts.groups.ec_halves.items() if not name.endswith('_known') or name in losses -%}{%- do halves.update({name: sql}) -%}{%- endfor -%}
    {%- set all = polars_ec.merged([parts.groups, {'ec_halves': halves}]) -%}
    {%- set levels = {} -%}
    {%- if metrics -%}
        {%- do levels.update({'ec_metrics': polars_ec.limited_table(metrics, parts), 'ec_steps': parts.steps}) -%}
        {%- set families = parts.moments | select('in', families) -%}
        {%- set all = polars_ec.merged([
            all, polars_ec.together('family', families, parts['moments' ~ variant]), parts['changed' ~ variant],
            {'ec_rates': parts.rates_stated} if request.shares is not none else {},
            {'ec_values_of_metrics': {'ec_at_step': polars_ec.by('name', values)}}, parts['slopes' ~ variant], parts.spread,
            polars_ec.levels_of_t(request.interval, parts), polars_ec.together('scale', scales | unique, parts.ends)]) -%}
    {%- endif -%}
    {%- set groups = polars_ec.as_they_are(kept + ['ec_metric', 'ec_scale', 'ec_u']) -%}
    {%- for i in ['0', '1'] -%}{%- for name in ('abcde' if request.by_row else 'abc') | list -%}{%- do groups.update({'ec_' ~ name ~ i: 'ec_' ~ name ~ i}) -%}{%- endfor -%}{%- endfor -%}
    {%- set from = namespace(name=source) -%}
    {%- for name, columns in all.items() -%}
        {%- if name == 'ec_slopes' -%}
            {%- do levels.update({name: polars_ec.select_columns(polars_ec.merged([groups, columns]), from.name) ~ '\nGROUP BY ' ~ groups | join(', ')}) -%}
        {%- else -%}
            {%- do levels.update({name: polars_ec.select_columns(polars_ec.merged([{'*': '*'}, columns]), from.name)}) -%}
        {%- endif -%}
        {%- set joined = {'ec_halves': ' CROSS JOIN ec_metrics CROSS JOIN ec_steps', 'ec_moments': ' WHERE ec_step = -1 OR ec_known = 1'} -%}
        {%- set from.name = name ~ joined.get(name, '') -%}
    {%- endfor -%}
    {{ return(levels) }}
{% endmacro %}

{# The text of the row's family, scale or name; those that are equal to the last one are its ELSE. #}
{% macro by(what, texts) %}
    {%- set last, cases = texts.values() | last, [] -%}
    {%- for name, sql in texts.items() if sql != last -%}{%- do cases.append('WHEN ec_' ~ what ~ " = '" ~ name ~ "' THEN " ~ sql ~ ' ') -%}{%- endfor -%}
    {{ return('CASE ' ~ cases | join ~ 'ELSE ' ~ last ~ ' END' if cases else last) }}
{% endmacro %}

{# The levels of the rows of all families, or scales. #}
{% macro together(what, names, parts) %}
    {%- set names, levels = names | list, {} -%}
    {%- for level, columns in parts[names[0]].items() -%}
        {%- set all = {} -%}
        {%- for column in columns -%}
            {%- set texts = {} -%}
            {%- for name in names -%}{%- do texts.update({name: parts[name][level][column]}) -%}{%- endfor -%}
            {%- do all.update({column: polars_ec.by(what, texts)}) -%}
        {%- endfor -%}
        {%- do levels.update({level: all}) -%}
    {%- endfor -%}
    {{ return(levels) }}
{% endmacro %}

{% macro as_they_are(names) %}
    {%- set columns = {} -%}
    {%- for name in names -%}{%- do columns.update({name: name}) -%}{%- endfor -%}
    {{ return(columns) }}
{% endmacro %}

{# What has limits, in the order of the columns, and where NEC has its kink. #}
{% macro limited_metrics(request) %}
    {%- set metrics = [] -%}
    {%- for column in request.columns if column.endswith('_ci_low') -%}
        {%- set value = column.removesuffix('_ci_low') -%}
        {%- do metrics.append({'name': value.removesuffix('_at_prior'), 'at_prior': value.endswith('_at_prior') | int, 'value': value}) -%}
    {%- endfor -%}
    {%- if 'nec_ci_low' in request.columns -%}{%- do metrics.append({'name': 'ec: kink', 'at_prior': 0, 'value': none}) -%}{%- endif -%}
    {{ return(metrics) }}
{% endmacro %}

{# The columns of the report by the names that they have in it. #}
{% macro limited_columns(request, metrics, parts) %}
    {%- set columns = {'class_prior': 'ec_prior', 'small': 'ec_small = 1'} -%}
    {%- for metric in metrics -%}
        {%- set only = 'CASE WHEN ec_metric = ' ~ loop.index0 -%}
        {%- if metric.value is none -%}
            {%- set near = 'COUNT(' ~ only ~ ' AND ABS(ec_centre) < 2 * SQRT(ec_variance) THEN 1 END)' -%}
            {%- do columns.update({'nec_kinked': 'CASE WHEN NOT ' ~ columns.nec_ci_low ~ ' IS NULL THEN ' ~ near ~ ' = 1 END'}) -%}
        {%- else -%}
            {%- set cost = none if request.by_row else polars_ec.sql_number([request.cost_fn, request.cost_fp] | max) -%}
            {%- set most = {'brier': polars_ec.sql_number(1.0), 'expected_cost': cost, 'bayes_risk': cost}.get(metric.name) -%}
            {%- set high = 'CASE WHEN ec_high > ' ~ most ~ ' AND ec_value <= ' ~ most ~ ' THEN ' ~ most ~ ' ELSE ec_high END' if most else 'ec_high' -%}
            {%- for end, x in {'': 'ec_value', '_ci_low': 'ec_low', '_ci_high': high}.items() -%}
                {%- do columns.update({metric.value ~ end: 'SUM(' ~ only ~ ' THEN 1 END * ' ~ x ~ ')'}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set ordered = {} -%}
    {%- for name in request.columns -%}
        {%- do ordered.update({polars_ec.sql_name(name): columns[name] if name in columns else polars_ec.formula_of(name, parts, request)}) -%}
    {%- endfor -%}
    {{ return(ordered) }}
{% endmacro %}

{% macro limited_table(metrics, parts) %}
    {%- set rows = [] -%}
    {%- for metric in metrics -%}
        {%- set family = parts.families[metric.name] -%}
        {%- set names = [' AS ec_metric', ' AS ec_name', ' AS ec_family', ' AS ec_scale', ' AS ec_at_prior', ' AS ec_u'] if loop.first else [''] * 6 -%}
        {%- do rows.append(
            'SELECT ' ~ loop.index0 ~ names[0] ~ ", '" ~ metric.name ~ "'" ~ names[1] ~ ", '" ~ family ~ "'" ~ names[2] ~ ", '" ~ parts.scales[metric.name] ~ "'"
            ~ names[3] ~ ', ' ~ metric.at_prior ~ names[4] ~ ', ' ~ (family == 'decisions') | int ~ names[5]) -%}
    {%- endfor -%}
    {{ return(rows | join('\nUNION ALL ')) }}
{% endmacro %}

{# The levels that make ec_t, the quantile of t, of the degrees of freedom. #}
{% macro levels_of_t(level, parts) %}
    {%- set beyond = 1 - (0.5 + level / 2) -%}
    {%- if beyond == 0.5 or beyond == 0 -%}{{ return({'ec_t_end': {'ec_t': '$infinity$' if beyond == 0 else '$0.0$'}}) }}{%- endif -%}
    {{ return(parts.t) }}
{% endmacro %}

{# What the formulas of t have of the level: `t_powers` of report_limits.py. #}
{% macro numbers_of_level(level) %}
    {%- set p = 0.5 + level / 2 -%}
    {%- set parts, normal, numbers = polars_ec.limit_parts(), polars_ec.normal_quantile(p), {} -%}
    {%- set nodes = parts.t_nodes -%}
    {%- if not normal -%}{{ return({}) }}{%- endif -%}
    {%- set shift = 0.75 + normal * normal / 12 -%}
    {%- set values, powers = [], [0] * nodes | length -%}
    {%- for w in nodes -%}
        {%- do values.append(polars_ec.normal_of_t(normal, 1 - p, 2 * (1 + shift) / (w + 1) - shift, parts.normal_rule) / normal) -%}
    {%- endfor -%}
    {#- Chebyshev's polynomials, by their powers and at the nodes: each is 2 w times the last one, less the one before. -#}
    {%- set all = namespace(powers=powers, last=[[1], [1] * nodes | length], before=[[], [0] * nodes | length]) -%}
    {%- for node in nodes -%}
        {%- set of, sum, next = loop, namespace(value=0), [[], []] -%}
        {%- for value in values -%}{%- set sum.value = sum.value + value * all.last[1][loop.index0] -%}{%- endfor -%}
        {%- set factor = sum.value * (1 if loop.first else 2) / nodes | length -%}
        {%- set sums = [] -%}
        {%- for power in all.powers -%}
            {%- do sums.append(power + factor * (all.last[0][loop.index0] if loop.index0 < all.last[0] | length else 0)) -%}
        {%- endfor -%}
        {%- set all.powers = sums -%}
        {%- set times = 1 if loop.first else 2 -%}
        {%- for i in range(all.last[0] | length + 1) -%}
            {%- do next[0].append((times * all.last[0][i - 1] if i else 0) - (all.before[0][i] if i < all.before[0] | length else 0)) -%}
        {%- endfor -%}
        {%- for w in nodes -%}{%- do next[1].append(times * w * all.last[1][loop.index0] - all.before[1][loop.index0]) -%}{%- endfor -%}
        {%- set all.before = all.last -%}
        {%- set all.last = next -%}
    {%- endfor -%}
    {%- for power in all.powers | reverse -%}{%- do numbers.update({'power_' ~ loop.index0: power | round(15)}) -%}{%- endfor -%}
    {{ return(polars_ec.merged([{'normal': normal, 'shift': shift, 'twice_shifted': 2 + 2 * shift}, numbers])) }}
{% endmacro %}

{# The nearly normal variable of t: beyond it is the mass `beyond` of t with n degrees of freedom. Newton's steps, to the logarithm of it. #}
{% macro normal_of_t(normal, beyond, n, rule) %}
    {%- set e, x = 2.718281828459045, n / 2 + 10 -%}
    {%- set terms = ((((-31 / 18432 / (x * x) + 17 / 14336) / (x * x) - 1 / 640) / (x * x) + 1 / 192) / (x * x) - 1 / 8) / x -%}
    {%- set k = namespace(value=(x / n / 3.141592653589793) ** 0.5 * e ** terms) -%}
    {%- for i in range(0, 20, 2) -%}{%- set k.value = k.value * (n + i) / (n + i + 1) -%}{%- endfor -%}
    {%- set z = namespace(value=normal * (8 * n + 3) / (8 * n + 1), mass=0) -%}
    {%- for step in range(5) -%}
        {%- set z.mass = 0 -%}
        {%- for x, weight in rule -%}
            {%- set z.mass = z.mass + weight * k.value * polars_ec.density_of_t(z.value + x, n) -%}
        {%- endfor -%}
        {%- set z.value = z.value + polars_ec.natural_log(z.mass / beyond) * z.mass / (k.value * polars_ec.density_of_t(z.value, n)) -%}
    {%- endfor -%}
    {{ return(z.value) }}
{% endmacro %}

{# Of that variable, but for a factor. #}
{% macro density_of_t(z, n) %}
    {%- set e, x = 2.718281828459045, z * z / n -%}
    {%- set square = x / (1 - e ** -x) if x > 0.05 else 1 + x / 2 + x * x / 12 - x ** 4 / 720 + x ** 6 / 30240 -%}
    {{ return(e ** (-z * z / 2) * square ** 0.5) }}
{% endmacro %}

{# The quantile of the normal distribution at p from 1/2 to 1; at 1 none. #}
{% macro normal_quantile(p) %}
    {%- set ratios, q = polars_ec.limit_parts().normal_quantile, p - 0.5 -%}
    {%- if p == 1 -%}{{ return(none) }}{%- endif -%}
    {%- if q <= 0.425 -%}{{ return(q * polars_ec.ratio_of_polynomials(ratios.middle, 0.180625 - q * q)) }}{%- endif -%}
    {%- set r = (-polars_ec.natural_log(1 - p)) ** 0.5 -%}
    {{ return(polars_ec.ratio_of_polynomials(ratios.beyond, r - 1.6) if r <= 5 else polars_ec.ratio_of_polynomials(ratios.far_out, r - 5)) }}
{% endmacro %}

{% macro ratio_of_polynomials(both, x) %}
    {%- set values = [] -%}
    {%- for factors in both -%}
        {%- set sum = namespace(value=0) -%}
        {%- for factor in factors -%}{%- set sum.value = sum.value * x + factor -%}{%- endfor -%}
        {%- do values.append(sum.value) -%}
    {%- endfor -%}
    {{ return(values[0] / values[1]) }}
{% endmacro %}
