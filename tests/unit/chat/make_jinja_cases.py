#!/usr/bin/env python3
"""make_jinja_cases.py OUT.json: small templates of our own and what Python's jinja2 3.1.6 makes of them."""
import json
import sys

import jinja2
import jinja_reference as reference

CONTEXT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hé, what <|is|> this?\n  "},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": {"a": 1, "b": [True, None]}}]},
        {"role": "tool", "content": "42"},
    ],
    "tools": None, "items": [3, 1, 2], "words": ["b", "a", "c"], "empty": [], "n": 7, "f": 2.5, "s": "text", "yes": True,
    "no": False, "nothing": None, "d": {"x": 1, "y": {"z": [10, 20, 30]}, "items": "own", "0": "zero"},
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
    "pairs": [["a", 1], ["b", 2]], "long": list(range(12)), "uni": "naïve 😀 ß", "html": "<b>&'\"", "loop_name": "q",
}

CASES = {}

CASES["text and white space"] = """
plain
a{{ n }}b
{{n}}{{n}}
{{- n -}}
  {{- n -}}  x
 a {{- ' b ' -}} c
a {%- if yes -%} b {%- endif -%} c
a {%+ if yes +%} b {%+ endif +%} c
||{% if yes %}
x
{% endif %}
y
||  {% if yes %}
  x
  {% endif %}
y
||  {%+ if yes %}
  x
  {%+ endif %}
y
||a {% if yes %} b
  {% endif %} c
||	{% set x = 1 %}	{{ x }}
||
{% if yes %}

x

{% endif %}

||{# comment #}
x
||  {# comment #}
x
||a {#- comment -#} b
||a {#+ comment +#}
b
||a{# {{ n }} {% bad #}b
||a {# x #} {# y #}
b
||{{ n }}
{{ n }}
||{{ n -}}

   {{ n }}
||{{ n }}   

{{- n }}
||x
||x

||
||{% raw %}{{ n }}{% endraw %}
||{% raw %}
 {{ n }}
{% endraw %}
y
||a {%- raw -%}  {{ n }} {%- endraw -%} b
||  {% raw %}x{% endraw %}  
||  {% raw +%}x{% endraw +%}
y
||{% raw -%}

x
  {% endraw %}
y
||{%raw%}{%endraw%}{%raw%}{%{{#{%endraw%}
||{%- if yes %}a{%- endif %}
||{% if yes -%}

a
{%- endif %}

||a\r\nb\rc{{ n }}\r\n
||{% if yes %}\r\na\r\n{% endif %}\r\nb
||x{#
||x{#-
||x{% raw %}
||{ { n } }
||{ %
||{{ '{{' }}{{ '%}' }}{{ "}}" }}
||{{ {'a': {'b': 1}} }}
||{{{'a': 1}}}
||{{ {'a':{'b':{'c':1}}}['a']['b']['c']}}
||{%if yes%}a{%endif%}
||{% if yes %}{% if yes %}
a
{% endif %}{% endif %}
b
||   {{ n }}
||a\u00a0{%- if yes %}b{% endif %}
||\u2003{% if yes %}b{% endif %}
||{{ 'a
b' }}
||{{
n
}}
||{%
if
yes
%}x{%
endif
%}
||é{{ n }}日本{# 語 #}😀
||{{ n }}\\n
||{% for i in items %}
{{ i }}
{% endfor %}
||{% for i in items -%}
{{ i }}
{% endfor %}
||{% for i in items %}
  {%- if i %}
    {{ i }}
  {%- endif %}
{% endfor %}
||    {% for i in items %}    {{ i }}    {% endfor %}    
||{#- a -#}   {{ n }}   {#- b -#}
||a\n{%- set x = 1 %}\n\n{{ x }}
||\v{% if yes %}x{% endif %}\f
||{% if yes %}a{% endif %}{{ "\n" }}
||{{+n}}{{ +n }}
"""

CASES["literals"] = r"""
{{ 'a' "b" 'c' }}
{{ 'it''s' }}
{{ "q\"q" }}{{ 'q\'q' }}
{{ "tab\tnl\\n" }}
{{ "\x41\u00e9\U0001F600" }}
{{ "\101\0601\7"|length }}
{{ "\é" }}
{{ "\日" }}{{ "\😀" }}
{{ "\q\d\." }}
{{ "\a\b\f\v\r"|length }}
{{ "\x4" }}
{{ "\u12" }}
{{ "\U00110000" }}
{{ "\ud800" }}
{{ "\N{LATIN SMALL LETTER A" }}
{{ "\" }}
{{ 'open }}
{{ 1_000 }}{{ 0x_fF }}{{ 0b1_01 }}{{ 0o17 }}{{ 0XAB }}{{ 0 }}{{ 00 }}{{ 0_0 }}
{{ 012 }}
{{ 1__0 }}
{{ 1.5 }}{{ 1e3 }}{{ 1E-2 }}{{ 1_0.2_5e1_0 }}{{ 0.1 }}{{ 1.0 }}{{ 100000000000000000.0 }}
{{ .5 }}
{{ 5. }}
{{ 1.e3 }}
{{ 1e }}
{{ 9223372036854775807 }}
{{ true }}{{ True }}{{ false }}{{ False }}{{ none }}{{ None }}
{{ [] }}{{ [1] }}{{ [1,] }}{{ [1, 'a', none, 2.0, true] }}
{{ () }}{{ (1,) }}{{ (1) }}{{ (1, 2) }}{{ 1, 2 }}{{ 1, }}
{{ {} }}{{ {'a': 1} }}{{ {'a': 1,} }}{{ {1: 'x', (1,2): [3]} }}
{{ {[1]: 2} }}
{{ [1 2] }}
{{ {'a' 1} }}
{{ {'a': 1, 'a': 2} }}
{{ [[],[[]]] }}
{{ 'é😀'|length }}
{{ "a" ~ 'b' "c" }}
{{ "" }}{{ '' }}
{{ naïve_ñ|default('u') }}
{{ a² }}
{{ “x” }}
{{ a$b }}
{{ a ? b }}
{{ a ! b }}
{{ a & b }}
{{ 1;2 }}
{{ ) }}
{{ (1] }}
{{ [1 }}
{{ }}
{{
{{ n
{{ n }
{{ n %}
{% if %}{% endif %}
{{ 0x }}
{{ 0b2 }}
{{ 1_ }}
{{ _x|default(1) }}
{{ 1if yes else 2 }}
{{ 'x'if yes else'y' }}
{{ 1or 2 }}
||{{ 'a\
b' }}
"""

CASES["operators"] = """
{{ 1 + 2 * 3 - 4 / 2 }}
{{ (1 + 2) * 3 }}
{{ 2 ** 3 ** 2 }}
{{ -2 ** 2 }}
{{ 2 ** -1 }}
{{ --2 }}{{ +-2 }}{{ - 2 }}
{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % 3 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}
{{ 1 / 2 }}{{ 4 / 2 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1 ~ 2 ~ 'a' ~ none ~ [1] ~ true }}
{{ 1 + 2 ~ 3 + 4 }}
{{ 2 * 3 ~ 4 * 5 }}
{{ 'a' + 'b' + 'c' + 'd' }}
{{ 1 + 2 + 3 - 4 + 5 + 6 }}
{{ 'a' + 'b' * 3 + 'c' }}
{{ [1] + [2] + [3] }}
{{ (1,) + (2,) }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ 'a' + 'b' + 1 + undefd }}
{{ 'a' * 3 }}{{ 3 * 'a' }}{{ [1, 2] * 2 }}
{{ 'a' - 'b' }}
{{ 'a %s b %d' % ('x', 3) }}
{{ '%s' % 1 }}{{ '%.2f|%5d|%-5s|' % (1.005, 42, 'x') }}
{{ 1 < 2 }}{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 3 > 2 >= 2 != 1 == 1 }}
{{ 1 == 1.0 }}{{ 1 == true }}{{ 'a' == 'a' }}{{ [1] == [1] }}{{ [1] == (1,) }}{{ {} == {} }}{{ none == none }}
{{ 1 == '1' }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ 1 in [1, 2] }}{{ 3 in [1, 2] }}{{ 3 not in [1, 2] }}{{ 'a' in 'abc' }}{{ 'x' in d }}{{ not 1 in [1] }}
{{ 1 in 5 }}
{{ 1 in 'a' }}
{{ 1 in undefd }}
{{ undefd in [1] }}
{{ true and false }}{{ true or false }}{{ not true }}{{ not not true }}
{{ 0 or 'x' }}{{ 1 and 'x' }}{{ '' or none }}{{ [] and 1 }}{{ 1 and 2 or 3 }}{{ 0 and 2 or 3 }}
{{ not 0 and 1 }}{{ not (0 and 1) }}{{ not 1 == 2 }}
{{ 1 or 1 / 0 }}{{ 0 and 1 / 0 }}
{{ 1 if true else 2 }}{{ 1 if false else 2 }}{{ 1 if false }}|{{ 1 if true }}
{{ 1 if false else 2 if false else 3 }}
{{ (1 if true else 2) + 3 }}{{ 1 if true else 2 + 3 }}
{{ 1 if true if false else 3 }}
{{ 1 if 0 or 1 else 2 }}
{{ 'a' if n > 5 and s == 'text' else 'b' }}
{{ (1 if false).x }}
{{ (1 if false) is defined }}
{{ 1, 2 if true else 3 }}
{{ 1 + true }}{{ true + true }}
{{ 9223372036854775807 - 1 }}
{{ 1.5 + 1 }}{{ 0.1 + 0.2 }}{{ 1e16 }}{{ 1e15 }}{{ 1e-5 }}{{ 123456789.123 }}
{{ 10 ** 3 }}{{ 2 ** 0.5 }}
{{ -5 | abs }}{{ (-5) | abs }}
{{ -n|string|length }}
{{ - 'a' }}
{{ + 'a' }}
{{ not undefd }}
{{ 1 <> 2 }}
{{ 1 === 2 }}
{{ 1 << 2 }}
{{ 1 +}}
{{ * 1 }}
{{ 1 not 2 }}
{{ not }}
{{ a if }}
{{ 'x' ~ undefd ~ 'y' }}
{{ undefd + 1 }}
{{ 1 + undefd }}
{{ undefd < 1 }}
{{ undefd == undefd2 }}{{ undefd == 1 }}{{ undefd != none }}
{{ n == 7 and f == 2.5 }}
{{ n in (6, 7) }}{{ 'a' ~ 'b' in 'abc' }}{{ 1 + 1 in [2] }}
{{ 1 < 2 in [true] }}
{{ (1 < 2) in [true] }}
{{ '1' ~ 1 + 1 }}
{{ 5 - 3 - 1 }}{{ 100 / 10 / 5 }}{{ 2 * 3 % 4 }}
{{ [1, 2, 3][1] + 1 }}
{{ not n is defined }}{{ not (n is defined) }}{{ n is not defined }}
"""

CASES["tests"] = """
{{ n is defined }}{{ undefd is defined }}{{ undefd is undefined }}{{ undefd is not defined }}
{{ d.q is defined }}{{ d.x is defined }}{{ d.y.q is defined }}
{{ d.q.r is defined }}
{{ undefd.x is defined }}
{{ n is divisibleby 7 }}{{ n is divisibleby(2) }}
{{ n is odd }}{{ n is even }}{{ n is number }}{{ n is integer }}{{ f is float }}{{ s is string }}
{{ d is mapping }}{{ items is iterable }}{{ items is sequence }}{{ s is sequence }}{{ n is iterable }}{{ yes is boolean }}
{{ none is none }}{{ nothing is none }}{{ nothing is not none }}{{ n is none }}
{{ true is true }}{{ 1 is true }}{{ false is false }}
{{ 1 is eq 1 }}{{ 1 is equalto(1) }}{{ 1 is ne 2 }}{{ 1 is lt 2 }}{{ 2 is gt 1 }}{{ 2 is ge(2) }}{{ 1 is sameas 1 }}
{{ 1 is == 1 }}
{{ 3 is in [1, 3] }}{{ 3 is in(items) }}{{ 'a' is in 'abc' }}{{ 3 is not in [1] }}
{{ 'ABC' is upper }}{{ 'abc' is lower }}
{{ n is defined and s is string }}{{ n is defined or 1 / 0 }}
{{ 'y' if n is defined else 'z' }}
{{ n is divisibleby 7 and true }}
{{ n is divisibleby d.x }}{{ n is divisibleby items[1] }}
{{ n is divisibleby -7 }}
{{ n + 1 is even }}{{ (n + 1) is even }}
{{ s|upper is upper }}{{ s is string|string }}
{{ n is nosuch }}
{{ n is defined is true }}
{{ n is }}
{{ n is divisibleby }}
{{ n is divisibleby(1, 2) }}
{{ n is defined(1) }}
{{ n is divisibleby(num=7) }}
{{ n is divisibleby(nom=7) }}
{{ 0 is divisibleby 0 }}
{{ range is callable }}{{ n is callable }}
{{ 'upper' is filter }}{{ 'nosuch' is filter }}{{ 'odd' is test }}
{{ n is a.b }}
{{ not n is odd }}
{{ items is sequence and items is not string }}
{{ n is in items or n is in [7] }}
{{ [1,2] is eq [1, 2] }}{{ {'a': 1} is eq {'a': 1} }}
"""

CASES["attributes and items"] = """
{{ d.x }}{{ d['x'] }}{{ d.y.z[1] }}{{ d['y']['z'][-1] }}{{ d.y.z.0 }}{{ d.y.z.2 }}
{{ d.items() }}
{{ d['items'] }}
{{ d.nosuch }}|{{ d['nosuch'] }}|{{ d[0] }}|{{ d['0'] }}
{{ d.nosuch.more }}
{{ d[undefd] }}
{{ items[0] }}{{ items[-1] }}{{ items[5] }}|{{ items['a'] }}|{{ items.0 }}{{ items.5 }}
{{ items[1.0] }}
{{ items[true] }}
{{ s[0] }}{{ s[-1] }}{{ s[9] }}|{{ s.0 }}
{{ uni[2] }}{{ uni[6] }}{{ uni[-1] }}
{{ n.x }}|{{ n[0] }}|{{ none.x }}
{{ undefd.x }}
{{ undefd[0] }}
{{ undefd() }}
{{ n() }}
{{ s() }}
{{ items[1:] }}{{ items[:2] }}{{ items[::-1] }}{{ items[::2] }}{{ items[-2:] }}{{ items[:] }}{{ items[10:] }}{{ items[1:2:1] }}
{{ s[1:] }}{{ s[::-1] }}{{ s[:-1] }}{{ uni[5:8] }}{{ s[none:none:none] }}
{{ (1, 2, 3)[1:] }}{{ range(10)[2:5]|list }}
{{ items[::0] }}
{{ items['a':] }}
{{ d[1:2] }}
{{ n[1:] }}
{{ undefd[1:] }}
{{ items[1:2, 3] }}
{{ items[] }}|
{{ items[0, 1] }}|
{{ {(0, 1): 'p'}[0, 1] }}
{{ messages[0].role }}{{ messages[-1]['content'] }}{{ messages[2].tool_calls[0].arguments.b }}
{{ messages[2]['tool_calls'][0]['name'] }}
{{ items . 0 }}{{ d . x }}
{{ items.append(4) }}
{{ d.update({}) }}
{{ d.pop('x') }}
{{ items.sort() }}
{{ items.count(1) }}{{ items.index(2) }}
{{ s._x }}|
{{ ''.__class__.__mro__ }}
{{ s.upper() }}{{ s.upper().lower() }}{{ 'a,b'.split(',')[1] }}{{ s.replace('t', 'T') }}{{ s.startswith('te') }}
{{ s.nosuch() }}
{{ s.nosuch }}|
{{ d.get('x') }}{{ d.get('q') }}{{ d.get('q', 'z') }}
{{ d.keys()|list }}{{ d.values()|list|length }}
{{ (d.y).z }}{{ {'a': 1}.a }}{{ [5, 6].1 }}{{ 'abc'.1 }}
{{ d.x.y }}|
{{ d.1.5 }}
{{ d. }}
{{ d['x' }}
{{ 'a'.join(['x', 'y']) }}{{ ' '.join(words) }}
{{ "{} and {}".format(1, 'b') }}{{ "{a}".format(a=3) }}
{{ 'abc' | first }}{{ items | last }}
"""

CASES["calls and filters"] = r"""
{{ s|upper }}{{ s | upper | lower }}{{ s|replace('t', 'x')|title }}
{{ undefd|default('x') }}{{ ''|default('x') }}|{{ ''|default('x', true) }}{{ none|default('x') }}{{ nothing|d('x', boolean=true) }}
{{ items|sort|join(', ') }}{{ items|sort(reverse=true)|list }}{{ words|join }}
{{ items|length }}{{ d|length }}{{ s|count }}{{ undefd|length }}
{{ items|map('string')|join('-') }}{{ messages|map(attribute='role')|join(' ') }}
{{ messages|selectattr('role', 'equalto', 'user')|list|length }}{{ items|select('odd')|list }}{{ items|reject('>', 1)|list }}
{{ messages|rejectattr('tool_calls')|list|length }}{{ messages|selectattr('tool_calls', 'defined')|map(attribute='role')|first }}
{{ d|items|first }}{{ d.y|tojson }}{{ messages[2]|tojson }}
{{ d.y|tojson(indent=2) }}
{{ uni|tojson }}{{ html|tojson }}{{ html|e }}{{ html|escape|upper }}
{{ '  x '|trim }}|{{ 'xxaxx'|trim('x') }}
{{ 3.7|int }}{{ '12'|int }}{{ 'x'|int(5) }}{{ '1.5'|float }}{{ 3.14159|round(2) }}{{ 2.5|round }}
{{ items|first }}{{ items|last }}{{ empty|first }}|{{ items|min }}{{ items|max }}{{ items|sum }}
{{ 'a b c'|wordcount }}{{ 'abc'|reverse }}{{ items|reverse|list }}{{ [1, 1, 2]|unique|list }}
{{ 'hello world'|capitalize }}{{ 'x'|center(5) }}|{{ 'a\nb'|indent }}|{{ 'a\nb'|indent(2, true) }}
{{ pairs|list }}{{ 'ab'|list }}{{ d|list }}{{ dict(pairs) }}{{ dict(a=1, b=2) }}{{ dict({'a': 1}, b=2) }}
{{ items|batch(2)|list }}{{ items|slice(2)|list }}{{ messages|groupby('role')|map('first')|list }}
{{ s|nosuch }}
{{ s|upper() }}
{{ s|upper(1) }}
{{ s|replace('t') }}
{{ s|replace(old='t', new='x') }}
{{ s|replace('t', nu='x') }}
{{ s|default(x=1) }}
{{ s|join(', ')|upper }}
{{ s| }}
{{ |upper }}
{{ s|upper|nosuch.x }}
{{ range(3)|list }}{{ range(1, 4)|list }}{{ range(5, 0, -2)|list }}{{ range(0)|list }}
{{ range() }}
{{ range(1, 2, 0) }}
{{ range('a') }}
{{ range(3) }}
{{ range(stop=3) }}
{{ range(*[1, 4])|list }}{{ range(*(2,), *(3,)) }}
{{ dict(**{'a': 1}) }}{{ dict(a=1, **{'b': 2}) }}
{{ dict(a=1, a=2) }}
{{ dict(a=1, **{'a': 2}) }}
{{ dict(**items) }}
{{ dict(**{1: 2}) }}
{{ dict(*items) }}
{{ range(**{}, 1) }}
{{ range(a=1, 2) }}
{{ range(1,) |list }}
{{ range(,) }}
{{ range(1 2) }}
{{ nosuch(1) }}
{{ 'x' if nosuch is defined and nosuch(1) else 'y' }}
{{ raise_exception('own message') }}
{{ 'x' if yes else raise_exception('never') }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %d %b %B %A') }}
{{ s|upper(**{}) }}{{ s|replace(*['t', 'x']) }}
{{ (s|upper).lower() }}{{ s|upper|list|first }}
{{ s|list()[0] }}
{{ (s|list)[0] }}
{{ 'a'|string|upper ~ 'b' }}
{{ -1|abs }}{{ 1 + -2|abs }}
{{ items|sort|first + 1 }}
{{ [3, 1]|sort == [1, 3] }}
{{ 'abc'|length > 2 }}
{{ s|safe }}{{ s|string is string }}
{{ namespace(a=1).a }}{{ namespace({'a': 2}).a }}{{ namespace().q }}|
{{ cycler('a', 'b').next() }}{{ joiner('|')() }}
"""

CASES["for"] = """
{% for i in items %}{{ i }}{% endfor %}
{% for i in items %}{{ i }},{% else %}none{% endfor %}
{% for i in empty %}{{ i }}{% else %}none{% endfor %}
{% for i in undefd %}{{ i }}{% else %}none{% endfor %}
{% for i in nothing %}{{ i }}{% endfor %}
{% for i in 5 %}{{ i }}{% endfor %}
{% for c in uni %}[{{ c }}]{% endfor %}
{% for k in d %}{{ k }} {% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }} {% endfor %}
{% for k, v in pairs %}{{ k }}{{ v }}{% endfor %}
{% for (k, v) in pairs %}{{ k }}{{ v }}{% endfor %}
{% for (k, (a, b)) in [(1, (2, 3))] %}{{ k }}{{ a }}{{ b }}{% endfor %}
{% for k, in [[1], [2]] %}{{ k }}{% endfor %}
{% for a, b in items %}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% for a, b in ['xy'] %}{{ a }}{{ b }}{% endfor %}
{% for i in items if i > 1 %}{{ i }}{{ loop.index }}{{ loop.last }}{{ loop.length }} {% endfor %}
{% for i in items if i > 5 %}{{ i }}{% else %}none{% endfor %}
{% for i in items if i > 1 if yes %}{{ i }}{% endfor %}
{% for i in (items if no else words) %}{{ i }}{% endfor %}
{% for i in items if yes else words %}{{ i }}{% endfor %}
{% for i in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
{% for i in items %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}
{% for i in items %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}
{% for i in items %}{{ loop.cycle('a', 'b') }}{% endfor %}
{% for i in items %}{{ loop.cycle() }}{% endfor %}
{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }} {% endfor %}
{% for i in [1, 1] %}{{ loop.changed() }}{{ loop.changed(i, 2) }} {% endfor %}
{% for i in items %}{% for j in words %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}
{% for i in items %}{% set outer = loop %}{% for j in words %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}
{% for i in items recursive %}{{ i }}{% endfor %}
{% for t in tree recursive %}{{ t.v }}:{{ loop.depth }}{% if t.kids %}({{ loop(t.kids) }}){% endif %} {% endfor %}
{% for t in tree recursive %}{{ t.v }}{{ loop(t.kids) }}{% else %}.{% endfor %}
{% for t in tree if t.v != 2 recursive %}{{ t.v }}{{ loop(t.kids) }}{% endfor %}
{% for t in tree recursive %}{{ loop.index }}/{{ loop.length }}{{ loop(t.kids) }} {% endfor %}
{% for i in items %}{{ loop(items) }}{% endfor %}
{% for i in items %}{% break %}{{ i }}{% else %}else{% endfor %}
{% for i in items %}{{ i }}{% if i == 1 %}{% break %}{% endif %}{% else %}else{% endfor %}
{% for i in items %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}
{% for i in items %}{% continue %}{% else %}else{% endfor %}
{% for i in items %}{% if i != 2 %}{% continue %}{% endif %}x{% else %}else{% endfor %}
{% for i in items %}{% for j in words %}{% break %}{% endfor %}{{ i }}{% endfor %}
{% for i in items %}{% for j in empty %}{% else %}{% break %}{% endfor %}{{ i }}{% endfor %}
{% break %}
{% continue %}
{% for i in items %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% for i in items %}{% with %}{{ i }}{% break %}{% endwith %}{% endfor %}
{% for i in items %}{% set x %}{{ i }}{% break %}{% endset %}{% endfor %}|
{% for i in items %}a{% filter upper %}b{{ i }}{% if i == 1 %}{% break %}{% endif %}{% endfilter %}{% endfor %}|
{% for i in items %}{% else %}{% break %}{% endfor %}
{% for loop in items %}{% endfor %}
{% for i in items %}{% set loop = 1 %}{% endfor %}
{% set loop = 5 %}{{ loop }}
{% for i in items %}{{ i }}{% set i = 9 %}{{ i }}{% endfor %}
{% for i in items %}{% endfor %}{{ i }}|{{ loop }}|
{% for i in items %}{{ loop }}{% endfor %}
{% for i in [1, 2] %}{% set ns_x = i %}{% endfor %}{{ ns_x }}|
{% for x.y in items %}{% endfor %}
{% for 1 in items %}{% endfor %}
{% for i items %}{% endfor %}
{% for i in items %}
{% for i in items %}{% endif %}
{% for i in items %}{% else %}{% else %}{% endfor %}
{% for i in 1, 2, 3 %}{{ i }}{% endfor %}
{% for i in items, words %}{{ i }}{% endfor %}
{% for i in items: %}{{ i }}{% endfor %}
{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(100001) %}{% endfor %}
{% for i in range(100000) %}{% break %}{% endfor %}ok
{% for m in messages %}{% if loop.first and m.role == 'system' %}S{% elif loop.last %}L{{ loop.previtem.role }}{% else %}{{ m.role[0] }}{% endif %}{% endfor %}
{% for k, v in d|dictsort %}{{ k }}{% endfor %}{% for g, l in messages|groupby('role') %}{{ g }}{{ l|length }}{% endfor %}
{% for i in items|sort %}{{ i }}{% endfor %}{% for i in items[::-1] %}{{ i }}{% endfor %}{% for i in items|reverse %}{{ i }}{% endfor %}
{% set ns = namespace(stop=false) %}{% for i in long if not ns.stop %}{{ i }}{% if i == 3 %}{% set ns.stop = true %}{% endif %}{% endfor %}
{% set ns = namespace(stop=false) %}{% for i in long if not ns.stop %}{{ i }}{{ loop.last }}{% if i == 3 %}{% set ns.stop = true %}{% endif %}{% endfor %}
{% for i in items if loop is defined %}{{ i }}{% else %}none{% endfor %}
{% for i in items %}{% for j in words if loop.index == 2 %}{{ i }}{{ j }}{% endfor %}{% endfor %}
{% for a in [1] %}{% for b in [2] %}{% for c in [3] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% endfor %}{% endfor %}
{% for item in [{'a': 1}, {'b': 2}] %}{% for k, v in item.items() %}{{ k }}{{ v }}{% endfor %}{% endfor %}
{% for i in items %}{{ loop.nosuch }}|{% endfor %}
"""

CASES["if"] = """
{% if yes %}a{% endif %}
{% if no %}a{% else %}b{% endif %}
{% if no %}a{% elif yes %}b{% else %}c{% endif %}
{% if no %}a{% elif no %}b{% elif no %}b2{% else %}c{% endif %}
{% if undefd %}a{% else %}b{% endif %}
{% if items %}a{% endif %}{% if empty %}b{% endif %}{% if '' %}c{% endif %}{% if 0.0 %}d{% endif %}{% if {} %}e{% endif %}
{% if n == 7 and not no %}a{% endif %}
{% if 1, 0 %}a{% endif %}
{% if yes %}a{% else %}b{% else %}c{% endif %}
{% if yes %}a{% else if no %}b{% endif %}
{% if yes %}a
{% endif %}
{% else %}
{% endif %}
{% elif yes %}
{% if yes: %}a{% endif %}
{% if yes if no else yes %}a{% endif %}
{% if (yes if no else yes) %}a{% endif %}
{% if tools is not none %}a{% else %}b{% endif %}
{% if tools %}a{% endif %}{% if messages[0].role == 'system' %}{% set sys = messages[0].content %}{% endif %}{{ sys }}
{% if yes %}{% if no %}a{% else %}b{% endif %}{% endif %}
{% if not yes or yes %}a{% endif %}
{% if yes
"""

CASES["set and namespace"] = """
{% set x = 1 %}{{ x }}
{% set x, y = 1, 2 %}{{ x }}{{ y }}
{% set (x, y) = [1, 2] %}{{ x }}{{ y }}
{% set x, (y, z) = 1, (2, 3) %}{{ x }}{{ y }}{{ z }}
{% set x = 1, 2 %}{{ x }}
{% set x, y = 1 %}
{% set x, y = [1, 2, 3] %}
{% set x, y = 'ab' %}{{ x }}{{ y }}
{% set x, y = undefd %}
{% set n = n + 1 %}{{ n }}
{% set x = y %}{{ x is defined }}
{% set x %}a{{ n }}b{% endset %}{{ x }}
{% set x | upper %}abc{% endset %}{{ x }}
{% set x | upper | replace('A', 'z') %}abc{% endset %}{{ x }}
{% set x | length %}abc{% endset %}{{ x + 1 }}
{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}|
{% set x, y %}ab{% endset %}{{ x }}{{ y }}
{% set x = 1 %}{% set x %}{{ x }}2{% endset %}{{ x }}
{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns }}
{% set ns = namespace(a=1, b='x') %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}{{ ns.q is defined }}{{ ns.q }}|
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}
{% set ns = namespace() %}{% set ns.a %}block{% endset %}{{ ns.a }}
{% set ns = namespace(found=false) %}{% for i in items %}{% if i == 1 %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}
{% set ns = namespace(l=[]) %}{% for i in items %}{% set ns.l = ns.l + [i * 2] %}{% endfor %}{{ ns.l }}
{% set ns = namespace(m=none) %}{% macro k() %}M{% endmacro %}{% set ns.m = k %}{{ ns.m() }}
{% set d.x = 5 %}
{% set n.x = 5 %}
{% set undefd.x = 5 %}
{% set ns = namespace() %}{% set ns['a'] = 1 %}
{% set ns = namespace() %}{% set ns.a.b = 1 %}
{% set 1 = 2 %}
{% set true = 2 %}
{% set none = 2 %}
{% set x = %}
{% set x %}
{% set = 1 %}
{% set x == 1 %}
{% set x y = 1 %}
{% set f(x) = 1 %}
{% set x = 1 if no %}{{ x }}|{{ x is defined }}
{% set x = 1 if no else 2 %}{{ x }}
{% set x = (1, 2) %}{{ x[0] }}
{% set x = [1, 2] %}{% set y = x %}{{ y }}
{% set range = 5 %}{{ range }}
{% set x = namespace %}{{ x(a=1).a }}
{% set messages = messages[1:] %}{{ messages|length }}
{% set a = 1 %}{% set b = a %}{% set a = 2 %}{{ a }}{{ b }}
"""

CASES["scopes"] = """
{% if yes %}{% set x = 1 %}{% endif %}{{ x }}
{% if no %}{% set n = 1 %}{% endif %}{{ n }}
{% if no %}{% set q = 1 %}{% endif %}{{ q }}|
{% if not n is defined %}{% set n = 0 %}{% endif %}{{ n }}
{% if not q is defined %}{% set q = 0 %}{% endif %}{{ q }}
{% set x = 1 %}{% for i in items %}{% set x = i %}{{ x }}{% endfor %}{{ x }}
{% for i in items %}{{ x }}{% set x = i %}{% endfor %}{{ x }}|
{% for i in items %}{{ n }}{% set n = i %}{{ n }} {% endfor %}{{ n }}
{% for i in items %}{% if i == 1 %}{% set x = 'set' %}{% endif %}{{ x }}|{% endfor %}
{% set x = 0 %}{% for i in items %}{% if i == 1 %}{% set x = 'set' %}{% endif %}{{ x }}|{% endfor %}{{ x }}
{% for i in items %}{{ n }}{% endfor %}{% set n = 1 %}
{% for i in items %}{{ q }}{% endfor %}{% set q = 1 %}{{ q }}
{{ n }}{% set n = 1 %}{{ n }}{% for i in [1] %}{{ n }}{% endfor %}
{% with %}{% set x = 1 %}{{ x }}{% endwith %}{{ x }}|
{% with x = 1 %}{{ x }}{% endwith %}{{ x }}|
{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}
{% with x = n, n = 1 %}{{ x }}{{ n }}{% endwith %}{{ n }}
{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}|
{% set x = 5 %}{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}
{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}
{% with (a, b) = (1, 2) %}{{ a }}{{ b }}{% endwith %}
{% with x %}{% endwith %}
{% with x = 1 y = 2 %}{% endwith %}
{% with x.y = 1 %}{% endwith %}
{% with x = 1 %}{% set x = 2 %}{{ x }}{% endwith %}
{% with x = 1 %}
{% macro m() %}{{ n }}{{ x }}{% endmacro %}{% set x = 'late' %}{{ m() }}
{% macro m() %}{{ q }}|{% endmacro %}{{ m() }}{% set q = 1 %}{{ m() }}
{% macro m() %}{% set x = 1 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}|
{% set x = 0 %}{% macro m() %}{% set x = 1 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}
{% for i in items %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}
{% for i in items %}{% macro m() %}{{ loop.index }}{% endmacro %}{{ m() }}{% endfor %}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}
{% macro a() %}{% macro b() %}B{{ n }}{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}
{% macro a() %}{% macro b() %}B{% endmacro %}{% endmacro %}{{ a() }}{{ b is defined }}
{% if yes %}{% macro m() %}M{% endmacro %}{% endif %}{{ m() }}
{% if no %}{% macro m() %}M{% endmacro %}{% endif %}{{ m is defined }}
{% set x = 1 %}{% filter upper %}{% set x = 'b' %}a{{ x }}{% endfilter %}{{ x }}
{% set x = 1 %}{% for i in [1, 2] %}{% for j in [1, 2] %}{{ x }}{% set x = x + 1 %}{% endfor %}{{ x }}{% endfor %}
{% for i in items %}{% set i = i * 2 %}{{ i }}{% endfor %}
{% for i in items %}{% if loop.first %}{% set y = i %}{% else %}{% set y = 0 %}{% endif %}{{ y }}{% endfor %}
{% set x = 'r' %}{% for i in [1] %}{% with %}{{ x }}{% set x = 'w' %}{{ x }}{% endwith %}{{ x }}{% endfor %}
{% for i in [1, 2] %}{% else %}{% set e = 1 %}{% endfor %}{{ e }}|
{% for i in [] %}{% else %}{% set e = 1 %}{{ e }}{% endfor %}{{ e }}|
{% if yes %}{% for i in [1] %}{% set z = 1 %}{% endfor %}{{ z }}{% endif %}|
{% set x = 1 %}{% if yes %}{% set x = 2 %}{% if yes %}{% set x = 3 %}{% endif %}{% endif %}{{ x }}
{% for q in [n] %}{% set n = q + 1 %}{{ n }}{% endfor %}{{ n }}
{% for n in [n] %}{{ n }}{% endfor %}{{ n }}
{% for items in items %}{{ items }}{% endfor %}{{ items }}
{% macro m(n) %}{{ n }}{% endmacro %}{{ m(1) }}{{ n }}
{% macro m(x=n) %}{{ x }}{% endmacro %}{{ m() }}{% set n = 8 %}{{ m() }}
{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% for x in [2] %}{{ m() }}{% endfor %}{% set x = 3 %}{{ m() }}
{% call(x) dict %}{% endcall %}
"""

CASES["macros"] = """
{% macro m() %}x{% endmacro %}{{ m() }}{{ m() }}
{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}{{ m('x') }}{{ m() }}{{ m(a=3) }}
{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=5) }}{{ m(1, b=6) }}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}
{% macro m(a=b, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}|
{% macro m(a, a) %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(a, 1) %}{% endmacro %}
{% macro m(a.b) %}{% endmacro %}
{% macro m(true) %}{% endmacro %}
{% macro m %}{% endmacro %}
{% macro m( %}{% endmacro %}
{% macro 1() %}{% endmacro %}
{% macro m(a,) %}{{ a }}{% endmacro %}{{ m(1) }}
{% macro m() %}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}
{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}
{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}{{ m() }}
{% macro m() %}{{ kwargs.x }}{{ kwargs|length }}{% endmacro %}{{ m(x=1, y=2) }}
{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(1) }}
{% macro m() %}{% set varargs = 1 %}{{ varargs }}{% endmacro %}{{ m() }}
{% macro m() %}{% set varargs = 1 %}{{ varargs }}{% endmacro %}{{ m(1) }}
{% macro m(*a) %}{% endmacro %}
{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}body{{ n }}{% endcall %}
{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}
{% macro m() %}{{ caller(b=1) }}{% endmacro %}{% call(a=5, b=6) m() %}{{ a }}-{{ b }}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}
{% macro m() %}x{% endmacro %}{% call m() %}body{% endcall %}
{% macro m(caller) %}{{ caller() }}{% endmacro %}{% call m() %}body{% endcall %}
{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{% call m() %}body{% endcall %}{{ m() }}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m(caller=m) }}
{% macro m() %}{{ caller.name }}{{ caller.arguments }}{% endmacro %}{% call(x) m() %}{% endcall %}
{% macro m(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call m('p') %}{% call m('q') %}r{% endcall %}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{% set x = 1 %}{{ x }}{% endcall %}{{ x }}|
{% macro m() %}{% for i in items %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) m() %}<{{ i }}>{% endcall %}
{% call m %}{% endcall %}
{% call 1 %}{% endcall %}
{% call nosuch() %}{% endcall %}
{% call range(3) %}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{% call m(caller=1) %}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{% call m()|upper %}{% endcall %}
{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}{{ m.nosuch }}|
{% macro m(a) %}{{ kwargs }}{{ varargs }}{{ caller }}{% endmacro %}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}
{% macro m() %}x{% endmacro %}{{ m }}
{% macro m() %}x{% endmacro %}{{ m is callable }}{{ m() is string }}{{ m()|upper }}{{ m() ~ 'y' }}{{ m() + 'y' }}
{% macro fact(k) %}{% if k < 2 %}1{% else %}{{ k * fact(k - 1)|int }}{% endif %}{% endmacro %}{{ fact(5) }}
{% macro down(k) %}{{ k }}{% if k %},{{ down(k - 1) }}{% endif %}{% endmacro %}{{ down(30) }}
{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 1, 'b': 2}) }}{{ m(1, **{'b': 2}) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ items|map('string')|join }}{{ m(m(m(1))) }}
{% macro m(x) %}{{ x.role }}{% endmacro %}{% for i in messages %}{{ m(i) }} {% endfor %}
{% macro _m() %}p{% endmacro %}{{ _m() }}
{% macro m(d=[]) %}{{ d }}{% endmacro %}{{ m() }}{{ m([1]) }}
{% macro m(a='x', b="y") %}{{ a }}{{ b }}{% endmacro %}{{ m(b='z') }}
{% set x %}{% macro m() %}in{% endmacro %}{{ m() }}{% endset %}{{ x }}
||{% macro m(a) -%}
  {{ a }}
{%- endmacro %}
[{{ m(1) }}]
"""

CASES["filter, generation, others"] = """
{% filter upper %}abc{{ s }}{% endfilter %}
{% filter upper|replace('A', 'z') %}abc{% endfilter %}
{% filter replace('a', 'b') %}aaa{% endfilter %}
{% filter length %}abc{% endfilter %}
{% filter nosuch %}{% endfilter %}
{% filter %}{% endfilter %}
{% filter upper %}
{% filter trim %}   x  {% endfilter %}|
{% filter upper %}{% filter lower %}AbC{% endfilter %}d{% endfilter %}
{% generation %}answer{% endgeneration %}
{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}|
{% for i in items %}{% generation %}{{ i }}{{ loop.index }}{% endgeneration %}{% endfor %}
{% for i in items %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
{% generation %}
{% generation x %}{% endgeneration %}
{% print n %}{% print n, s %}
{% print %}
{% do items %}
{% nosuch %}
{% endgeneration %}
{% %}
{% 1 %}
{% include 'x' %}
{% import 'x' as y %}
{% from 'x' import y %}
{% extends 'x' %}
{% debug %}
{% trans %}x{% endtrans %}
{% autoescape false %}{{ html }}{% endautoescape %}
{% if yes %}{% endfor %}
{% endset %}
{% set x %}{% if yes %}{% endset %}{% endif %}
{% if yes %}{% macro m() %}{% endif %}{% endmacro %}
{{ super }}
{% raw %}{% endraw x %}
{% if yes }}
{{ n %}
{# open
{% if yes %}{# x {% endif %}
||{% filter indent(2) %}a
b{% endfilter %}
||  {% generation %}
a
  {% endgeneration %}
b
"""

CASES["undefined"] = """
[{{ undefd }}]
{{ undefd|upper }}|{{ undefd|length }}{{ undefd|list }}{{ undefd|join(',') }}|{{ undefd|string|length }}
{{ undefd is none }}{{ undefd is string }}{{ undefd is iterable }}{{ undefd is sequence }}{{ undefd is mapping }}
{{ undefd ~ 'x' }}{{ [undefd] }}{{ {'a': undefd} }}
{{ undefd and 1 }}|{{ undefd or 1 }}{{ not undefd }}
{{ undefd|tojson }}
{{ undefd - 1 }}
{{ -undefd }}
{{ undefd > 1 }}
{{ undefd.a }}
{{ undefd['a'] }}
{{ undefd.a() }}
{{ undefd() }}
{{ d.nope }}|{{ d.nope is defined }}
{{ d.nope.deeper }}
{{ d.nope() }}
{{ items[99] }}|
{{ items[99].x }}
{{ s.nope }}|
{{ undefd|default(d.nope)|default('z') }}
{{ undefd|int }}{{ undefd|float }}
{{ (undefd|default({})).x }}|
{{ 'x' in undefd }}{{ undefd == undefd }}{{ undefd == none }}{{ undefd != '' }}
{{ undefd|first }}|{{ undefd|last }}|
{% if undefd is defined and undefd.x %}a{% else %}b{% endif %}
{% if undefd.x %}a{% endif %}
{% for x in undefd.y %}{% endfor %}
{{ messages[0].tool_calls is defined }}{{ messages[2].tool_calls is defined }}{{ messages[0].tool_calls }}|
{{ messages[9].role }}
{% set x = undefd %}{{ x }}|{{ x is defined }}
{% set x = undefd.y %}
"""

CASES["chat"] = """
{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '</s>' + '\\n' }}{% endfor %}
{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set sys = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% endif %}{{ sys }}{% for m in loop_messages %}{{ loop.index0 }}{{ m.role }}{% endfor %}
{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% set i = (messages|length - 1) - loop.index0 %}{% if ns.last < 0 and m.role == 'user' %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }}
{% if (messages[0].role == 'user') != (0 % 2 == 0) %}{{ raise_exception('roles must alternate: ' ~ messages[0].role) }}{% endif %}
{{ messages|selectattr('role', 'in', ['user', 'tool'])|map(attribute='content')|map('trim')|join(' / ') }}
{{ messages[1].content.split('<|is|>')[-1].lstrip('\\n').strip() }}
{{ (messages|last).content.startswith('4') and 'x' or 'y' }}
{% if not date_string is defined %}{% if strftime_now is defined %}{% set date_string = strftime_now("%d %b %Y") %}{% else %}{% set date_string = "26 Jul 2024" %}{% endif %}{% endif %}{{ date_string }}
{% set content %}{% for m in messages %}{{ m.content }}{% endfor %}{% endset %}{{ content|length }}{{ content|replace('\\n', '~') }}
{{ tools|default([])|length if tools else 'no tools' }}
||{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '[U] ' + message.content|trim + '\\n' }}
    {%- elif message.role == "assistant" and message.tool_calls is defined %}
        {%- for call in message.tool_calls %}
            {{- '[C] ' }}{{- {"name": call.name, "arguments": call.arguments}|tojson }}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
||{% macro render(m, indent=0) %}{{ ' ' * indent }}{{ m.role }}: {{ m.content|trim }}
{% endmacro %}{% for m in messages %}{{ render(m, loop.index) }}{% endfor %}
"""


def split(text):
    """One template a line; behind the first line that begins with "||", one from "||" to "||"."""
    first, *rest = ("\n" + text.strip("\n")).split("\n||")
    return first.lstrip("\n").split("\n") * bool(first) + rest


ESCAPES = {"\\r": "\r", "\\n": "\n", "\\v": "\v", "\\f": "\f", "\\u00a0": "\u00a0", "\\u2003": "\u2003"}


def unescape(template):
    for spelt, meant in ESCAPES.items():
        template = template.replace(spelt, meant)
    return template


def cases():
    env = reference.environment()
    for group, text in CASES.items():
        for template in split(text):
            template = unescape(template) if group == "text and white space" else template
            done, result = reference.render(env, template, CONTEXT)
            assert " at 0x" not in result, template
            yield {"group": group, "template": template, **({"text": result} if done else {"fault": result})}


def main():
    assert jinja2.__version__ == "3.1.6", "the cases are those of 3.1.6"
    made = list(cases())
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"by": "tests/unit/chat/make_jinja_cases.py, Python jinja2 3.1.6", "context": CONTEXT, "cases": made},
                  out, ensure_ascii=False, indent=1)
        out.write("\n")
    print(f"{len(made)} cases, {sum('fault' in c for c in made)} of them faults")


if __name__ == "__main__":
    main()
