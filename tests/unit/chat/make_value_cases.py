#!/usr/bin/env python3
"""make_value_cases.py FOLDER: writes value_cases.json and unicode_cases.json, what Python and jinja2 compute.

A row is [kind, name, value, arguments, named arguments, result]: value and arguments are numbers of the table of
values, the result is repr() of what came out (of a list of it, where it only iterates), or null for an exception.
What Python can and this engine by design cannot is an exception too: integers beyond 64 bits, addresses in texts.
"""
import json
import operator
import sys
import unicodedata

from jinja2 import Undefined, pass_context
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env.filters["tojson"] = tojson
context = env.from_string("").new_context()

values, numbers = [], {}


class Given(dict):
    """A dict of named arguments."""


def encode(value):
    """As JSON; what has no form of its own there is an object with the key "$"."""
    if isinstance(value, Undefined):
        return {"$": "undefined"}
    if isinstance(value, Markup):
        return {"$": "markup", "text": str(value)}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"$": "float", "text": repr(value)}
    if isinstance(value, tuple):
        return {"$": "tuple", "items": [encode(item) for item in value]}
    if isinstance(value, range):
        return {"$": "range", "items": [value.start, value.stop, value.step]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and key != "$" for key in value):
            return {key: encode(item) for key, item in value.items()}
        return {"$": "dict", "items": [[encode(key), encode(item)] for key, item in value.items()]}
    return value


def number(value):
    form = json.dumps(encode(value), sort_keys=False)
    form = f"{type(value).__name__} {form}"
    if form not in numbers:
        numbers[form] = len(values)
        values.append(encode(value))
    return numbers[form]


def too_large(value):
    if isinstance(value, int):
        return not -(2**63) <= value < 2**63
    if isinstance(value, range):
        return any(too_large(part) for part in (value.start, value.stop, value.step))
    if isinstance(value, (list, tuple)):
        return any(too_large(item) for item in value)
    return isinstance(value, dict) and any(too_large(item) for pair in value.items() for item in pair)


def result_of(function):
    try:
        result = function()
        if isinstance(result, Undefined) and result._undefined_exception is SecurityError:
            return None
        if not isinstance(result, (str, list, tuple, dict, range, Undefined)) and hasattr(result, "__iter__"):
            result = list(result)
        text = repr(result)
    except Exception:
        return None
    return None if too_large(result) or any(part in text for part in (" at 0x", "built-in", "<bound method")) else text


rows = []


def row(kind, name, value, args, named, function):
    rows.append([kind, name, number(value), [number(a) for a in args],
                 {key: number(item) for key, item in named.items()}, result_of(function)])


def filters(names, inputs, *arguments):
    for name in names.split():
        for value in inputs:
            for args in arguments or ((),):
                named = args[-1] if args and isinstance(args[-1], Given) else {}
                plain = args[:-1] if named else args
                def compute():
                    return env.call_filter(name, value, plain, dict(named), context=context)

                row("filter", name, value, plain, named, compute)


def tests(names, inputs, *arguments):
    for name in names.split():
        for value in inputs:
            for args in arguments or ((),):
                row("test", name, value, args, {}, lambda: bool(env.call_test(name, value, args, {}, context=context)))


def methods(names, inputs, *arguments):
    for name in names.split():
        for value in inputs:
            for args in arguments or ((),):
                named = args[-1] if args and isinstance(args[-1], Given) else {}
                plain = args[:-1] if named else args
                row("method", name, value, plain, named,
                    lambda: env.call(context, env.getattr(value, name), *plain, **named))


texts = ["", "a", "  Hello, World!  ", "Straße ÉCOLE ǆ ﬁ", "ΑΣΣ ΣΑΣ. ὈΔΥΣΣΕΎΣ", "a\tb\nc\r\nd\x0be\u2028f", "a,b,,c,", "aaaa",
         "<b>\"x\" & 'y'</b>", "it's", "say \"hi\"", "\x00\x1f\x7f\x85\xa0\u200b\ue000\U0001F600\U000E0001", "123", "-42",
         "٣٤", "½Ⅷ", "日本語 テキスト", "1_000", " 12.5e3 ", "0x1F", "İstanbul", "a-b well-known -- x--y", "{} {0} %s", "e\u0301",
         "the quick brown fox jumps over the lazy dog", "UPPER", "lower", "Title Case", "_name1", "\n\n", "x" * 90]
integers = [0, 1, -1, 2, 7, -7, 10, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
floats = [0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1e16, 1e-5, 123456789.125, 1e22, 5e-324, 1.7976931348623157e308,
          float("inf"), float("-inf"), float("nan"), 2.675, 1234.5678, 0.5]
lists = [[], [1, 2, 3], ["b", "A", "c", "B", "a"], [3, 1.5, True, 2], [[1, 2], [3], []], ["a", 1, None],
         [{"n": "x", "v": 2}, {"n": "Y", "v": 1}, {"n": "y", "v": 3}, {"v": 4}], [1, 1.0, True, 2, 2], (1, "a"), (),
         [[1, "p"], [2, "q"]], range(5), range(10, 0, -3), ("only",)]
dicts = [{}, {"a": 1, "B": 2, "c": [1, {"d": None}]}, {1: "x", 2.5: "y", None: "z", True: "w"}, {"k": "é<>&'\"\n", "items": 3},
         {"z": 1, "y": {"b": 2, "a": 1}, "x": [True, False, None, 1.5]}, {(1, 2): 3}]
others = [None, True, False, Undefined(name="u"), Markup("<i>&</i>")]
every = texts + integers + floats + lists + dicts + others

filters("abs escape e forceescape string list first last length count lower upper capitalize title trim reverse sum "
        "sort unique min max items wordcount safe pprint urlencode float int round tojson xmlattr dictsort "
        "filesizeformat join default", every)
filters("striptags", texts[:8] + ["<p>a  b</p> <!-- c > d --> e &lt;x&gt; &amp;&#39;&#x41; & b", "<<a>b>", "a < b", "x<!--y"])
filters("default d", [None, "", 0, "x", Undefined(name="u")], ("y",), ("y", True), (Given(boolean=True),), (1, 2, 3),
        (Given(default_value=3),), (Given(wrong=1),))
filters("trim", texts, (" H!",), (None,), ("",))
filters("center", texts[:6] + integers[:3], (5,), (20,), (21,), (-1,), ("x",))
filters("replace", texts + [123, None], ("a", "bb"), ("", "-"), ("l", "", 1), ("", "-", 2), (1, 2), ("aa", "a", -1), ("a",),
        ("S", "ß", 0))
filters("join", lists + dicts + texts[:4] + [None, 5], (", ",), (1,), ("-", "n"), ("", "v"), ("", Given(attribute=0)))
filters("indent", texts + ["a\nb\n\nc", "a\nb\n", 5, None, Undefined(name="u"), Markup("<a>\n\nb")], (), (2,), ("> ",), (2, True), (2, True, True), (2, False, True),
        (0,), (-3,), (Given(blank=True, first=True),))
filters("truncate", texts + lists + others, (10,), (10, True), (10, False, "~"), (5, True, "", 0), (3,), (2,), (11, False, "...", 0), (0, True, ""),
        (9, False, "…", 2), (10, True, "...", -1))
filters("wordwrap", texts + ["a" * 30 + " " + "b-c" * 9, "well-known long-term re-use of state-of-the-art e-mails--done", "a  b   c    d     e",
                             "x-1 1-x ab-cd-ef a-b-c-d-e- f--g --h", "verylongwordwithouthyphen and-short", " lead", "trail   ", "      "],
        (), (10,), (5, False), (7, True, "|"), (8, True, None, False), (1,), (0,), (3, False, "\n", False), (4,), (12,))
filters("wordcount", ["a b_c d-e", "日本語 x", "", "..", 5])
filters("int", texts + integers[:4] + floats + others + lists[:2], (5,), (0, 16), (0, 0), (0, 8), (0, 37), ("d", 2))
filters("int", ["0b101", "0o17", "0X_1f", "1__0", "_1", "1_", "00", "007", "0_7", "+5", "- 5", "\u00a05\u2003", "9223372036854775807",
                "9223372036854775808", "-9223372036854775808", "1e3", "inf", "nan", "12.9", "-12.9", "0x", ""], (0, 10), (0, 0),
        (0, 16), (7,))
filters("float", ["1e3", "1_0.5", "1_.5", "._5", "inf", "-Infinity", "NaN", "0x1p3", "1e400", "-1e-400", ".5", "5.", ".", "e5", "1e", "٣.٤",
                  "1 2", "1,5", "+.5e-2", "nan(1)", "1e5_0"], (), (7.5,), (None,))
filters("round", integers + floats + [True, "1"], (1,), (2,), (-1,), (-2,), (0, "ceil"), (1, "floor"), (-1, "ceil"), (0, "other"), (None,),
        (400,), (-400,), (15,), (-18,), (-20,))
filters("filesizeformat", [0, 1, 999, 1000, 1023, 1024, 123456, 10**9, 10**15, 2**62, 1e30, -5, "300", "x", 1.5, 999999], (), (True,))
filters("format", ["%s and %r", "%(a)s", "%d", "%%", "x"], ("a", 1), ("a",), (Given(a=1),), (1, Given(a=2)), ())
filters("tojson", dicts + lists + texts + others + [{"é": "\u2028/</", "n": float("nan")}, {"b": 1, "a": {"d": [], "c": {}}}],
        (True,), (False, 2), (False, "\t"), (False, 0), (Given(sort_keys=True),), (Given(separators=(",", ":")),),
        (Given(indent=4, separators=(", ", " = ")),), (Given(indent=-1),), (1, 2, 3, 4, 5), (Given(indent="é"),))
filters("dictsort", dicts + [{"b": 1, "A": 3, "c": 2}, {"x": "B", "y": "a"}, {"a": 1, "b": None}], (True,), (False, "value"), (False, "key", True),
        (False, "size"), (Given(by="value", reverse=True),))
filters("sort", lists + texts[:4] + dicts[:2], (True,), (False, True), (Given(attribute="n"),), (Given(attribute="v"),),
        (Given(attribute="v,n", reverse=True),), (Given(attribute=1),), (Given(attribute="0"),))
filters("unique min max", lists + texts[:4] + dicts[:2], (True,), (False, "n"), (Given(attribute="v"),), (Given(attribute=0),))
filters("groupby", lists, ("n",), ("v",), ("n", "?"), ("n", None, True), (0,), ("0",), ("a.b", Given(default=1)))
filters("sum", lists, ("v",), (None, 10), ("v", 0.5), (None, [0]), (None, ""), (Given(start=[]),), ("n",))
filters("batch slice", lists + texts[:3] + [None], (2,), (2, "-"), (3, None), (0,), (-1,), (1,), (4, 0))
filters("map", lists + dicts[:2] + [None, Undefined(name="u"), "", "ab"], ("string",), ("upper",), ("default", 7), (Given(attribute="n"),),
        (Given(attribute="v", default=9),), (Given(attribute="0"),), (Given(attribute=0),), ("nothing",), (), ("replace", "a", "b"),
        (Given(attribute="a.b.c"),), ("join", ","), ("round", Given(precision=1)), (Given(wrong=1),), (5,))
filters("select reject", lists + [None, Undefined(name="u")], (), ("odd",), ("string",), ("equalto", "a"), ("in", [1, "A"]), ("nothing",), ("gt", 1))
filters("selectattr rejectattr", lists + [None, Undefined(name="u")], ("n",), ("n", "equalto", "x"), ("v", "gt", 1), ("n", "defined"), (0,), (),
        ("n", "nothing"))
filters("attr", dicts + texts[:2] + [None, (1, 2), range(3)], ("items",), ("a",), ("nothing",), ("start",), ("__class__",))
filters("urlencode", [{"a b": "c/d", "é": 1}, [("x", "y z")], "/a b?c=é&~", [("x",)], 5, None, [1], ("ab", "cd")])
filters("xmlattr", [{"class": "a b", "x": None, "n": 1, "q": "<\"'&>"}, {}, {"a b": 1}, {"a=": 1}, {1: 2}, {"a": Markup("<")}], (), (False,),
        (True,))

long = "the quick brown fox jumps over the lazy dog " * 5
filters("pprint", [long, long + "\nand " + long, {"a": long, "b": [1] * 40, "c": {"d": long, "e": (1,)}}, [long, long], (long,), [[["x" * 30] * 2] * 2] * 2,
                   {"k" * 30: {"l" * 30: "m n " * 10}, "z": list(range(50))}, "x" * 100 + " y\n\nz" + "é" * 80, ("a", "b" * 90), [{"n": "x", "v": 2}] * 8,
                   ["it's " * 20], "\n" * 60, {"q": "\t" * 50},
                   {"a": 3, 1: 2, None: 1, (1, 2): 4, range(3): 5, True: 6, 0.5: 7, "B": [{2: 1, "z": 0}]}, {(1, "a"): 1, "x": 2}, {"k" * 60: 1, 7: "l" * 40}])

# Arguments of other types than the usual, each in every place.
odd = [None, "x", "", 2.0, [], ["x", ":"], Undefined(name="u"), True, {}, -1, 3]
for name, value, usual in [
        ("batch", "abcde", (2, "-")), ("slice", "abcde", (2, "-")), ("truncate", "a b c d e f g h i", (9, False, "..", 2)), ("truncate", "abc", (9, True, ".", 2)),
        ("truncate", [1, 2, 3, 4], (2, True, [9], 0)), ("sort", ["b", "A"], (False, False, None)), ("dictsort", {"b": 1, "A": 2}, (False, "key", False)),
        ("unique", ["b", "B"], (False, None)), ("min", ["b", "A"], (False, None)), ("groupby", [{"x": 1}, {"x": 2}], ("x", 0, False)),
        ("sum", [1, 2], (None, 5)), ("join", ["a", "b"], (",", None)), ("indent", "a\nb", (2, False, False)), ("center", "a", (5,)),
        ("replace", "axa", ("a", "b", 1)), ("round", 2.567, (1, "common")), ("int", "z", (0, 16)), ("float", "z", (0,)), ("default", "", (1, True)),
        ("trim", " ab ", (" a",)), ("wordwrap", "a b", (2, True, "|", True)), ("filesizeformat", 3000, (True,)), ("xmlattr", {"a": 1}, (True,)),
        ("tojson", {"b": "é", "a": [1]}, (True, 2, (",", ":"), True)), ("attr", "a", ("upper",)), ("format", "%s", ("a",))]:
    for i in range(len(usual)):
        filters(name, [value], *[usual[:i] + (other,) + usual[i + 1:] for other in odd])

tests("boolean callable defined escaped even false filter float integer iterable lower mapping none number odd sequence string test true "
      "undefined upper", every)
tests("divisibleby", integers + floats + ["a", None], (2,), (0,), (2.5,), ("x",))
tests("eq ne lt le gt ge == != < <= > >= equalto lessthan greaterthan", [0, 1, 1.0, "a", "b", [1], [1, 2], None, True, (1,), {"a": 1}], (1,), ("a",),
      ([1, 1],), (None,), ((1,),), ({"a": 1.0},))
tests("in", [1, "a", None, "", (1,), [1]], ([1, "a"],), ("abc",), ({"a": 1},), (range(3),), (5,), (Undefined(name="u"),), ((1, "x"),))
tests("sameas", [None, True, 1, 1.5], (None,), (True,), (1,), (1.5,), ("x",))
tests("filter test", ["upper", "nothing", "odd", 5, [1]])

methods("upper lower title capitalize casefold swapcase strip lstrip rstrip split rsplit splitlines isdigit isalpha isalnum isspace isupper islower "
        "isnumeric isdecimal isascii isidentifier istitle isprintable expandtabs", texts + ["ß", "ŉ", "ΐx", "ὈΔ Σ", "Σ", "aΣ", "aΣb", "a\u0301Σ", "aΣ'",
                                                                                      "ǅ", "ᾳ ᾼ", "ﬀ", "they're bill's", "A1b C"])
methods("strip lstrip rstrip", texts, (" !H",), ("ab",), (None,), ("",), (1,))
methods("split rsplit", texts + ["a b  c   d", " a b "], (",",), (None, 1), (" ", 1), ("a", -1), ("",), (None, 0), ("--",), ("aa", 1), (Given(maxsplit=2),),
        (Given(sep="l"),), (1,), (",", "x"))
methods("splitlines", texts + ["a\n", "a\r\nb\n\nc", "\r", "x\x1cy\x1dz\x1e\x85"], (True,), (False,), (Given(keepends=True),))
for names, usual in [("splitlines", (True,)), ("strip", ("a",)), ("split rsplit", ("b", 1)), ("partition rpartition", ("b",)), ("removeprefix", ("a",)),
                     ("startswith endswith find rfind count", ("b", 0, 4)), ("replace", ("a", "b", 1)), ("center ljust rjust", (9, "*")), ("zfill", (9,)),
                     ("expandtabs", (4,)), ("join", ("xy",))]:
    for i in range(len(usual)):
        methods(names, ["ab\nba\t"], *[usual[:i] + (other,) + usual[i + 1:] for other in odd])
methods("startswith endswith removeprefix removesuffix", texts, ("a",), ("",), ("a,",), (" H",))
methods("startswith endswith", texts, (("x", "a"),), ("a", 1), ("a", -1), ("", 100), ("a", 0, 1), ((),), (5,), (("a", 5),), ("", 1, 0), (["a"],), (None,))
methods("find rfind index rindex count", texts, ("a",), ("",), ("l", 5), ("l", -5, -1), ("aa",), ("Σ",), ("", 100), ("", 3, 2), ("o", None, 8), (5,),
        ("本", 1), ("", 1, 2))
methods("replace", texts, ("a", "b"), ("", "·"), ("aa", "b", 1), ("l", "LL", -1), ("a",), (1, 2), ("Σ", "s", 2))
methods("center ljust rjust", texts[:6], (10,), (10, "*"), (9, "é"), (0,), (10, "ab"), ("x",), (33, "-"))
methods("zfill", ["", "5", "-5", "+5", "abc", "--1", "é"], (4,), (0,), (-1,), ("x",))
methods("partition rpartition", texts, (",",), ("l",), ("",), (1,), ("Σ",))
methods("join", [",", "", "é"], (["a", "b"],), ("xyz",), (["a", 1],), ({"k": 1, "l": 2},), (5,), ((),))
methods("expandtabs", ["a\tb\tc", "\t", "ab\n\tc", "é\tx"], (4,), (0,), (-1,), (1,))
methods("format", ["{} {}", "{0}{1}{0}", "{a}", "{}{0}", "{0}{}", "{", "}", "{{}}", "{0!r:>5}", "{0!s}", "{0!x}", "{0:{1}}", "{0.upper}", "{0[0]}",
                   "{0[a]}", "{:,}", "{0:>{1}}{{x}}", "{0!a}", "{0:", "{0", "{0]}", "{0[}", "{}}", "{0:{{}}}", "{!r}", "{:d}"],
        (1, 2), ("ab", 5), ("é", 3), ([1, 2], 7), ({"a": 1}, 4), (Given(a="x"),), (), (1.5, "8.3f"))
methods("format_map", ["{a} {b}", "{}", "{c}"], ({"a": 1, "b": [2]},), (5,))
specs = ["", "d", "5", "<5", ">5", "^5", "=5", "05", "+", " ", "-", "x", "#x", "#X", "#o", "#b", "b", "o", "c", "n", ",", "_", "_x", ",x", "010,", "09,",
         "08_x", "*^9", "é>7", ".2", ".2f", "8.3f", "e", "E", ".0e", "g", ".3g", "#.3g", "%", ".1%", "+.1f", "z.1f", "010.2f", "=+10", "s", "5s", ".1s",
         "F", "G", ",.2f", "_.2f", "015,.2f", "#", "#.0f", "x<", "<<5", "q", "5.", "5.x", "99999999999", ".3", ".0", ".10", "0<5", "0", "+d", "+c",
         "012,d", "#_b", "013_b", "z", "+.3", "n5", "=s"]
for spec in specs:
    methods("format", ["{:" + spec + "}"], *[(v,) for v in [0, 5, -7, 1234567, 65, 1.0, -1234.5678, 0.00001, 1e20, float("inf"), float("nan"), -0.04,
                                                            "ab", "é", True, None, [1]]])
methods("count index", lists, (1,), ("a",), (None,), (1.0,), ([3],))
methods("index", lists[:3], (2, 1), (2, -2), (2, 2), (2, 0, 1), ("A", 0, 5))
methods("copy", lists + dicts + ["x"])
methods("items keys values", dicts + ["x", [1]])
methods("get", dicts, ("a",), ("zz",), ("zz", 5), (1,), (True,), ([],), (), ((1, 2),))
methods("append extend insert pop remove clear update setdefault popitem sort reverse add discard fromkeys __class__ __len__", [[1], {"a": 1}], (), (1,))
methods("count index", [range(5), range(0, 10, 3)], (3,), ("x",), (3.0,))

binary = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
          "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
          "in": lambda a, b: a in b, "not in": lambda a, b: a not in b}
operands = [0, -1, 3, -7, 2**62, 2**63 - 1, -(2**63), 2**53 + 1, -0.0, -2.5, 3.0, 1e300, float("inf"), float("nan"), True, None, "", "a", "ab",
            [1], [1, 2], (1,), {"a": 1}, {"a": 1.0}, range(3), Undefined(name="u"), Markup("<"), 2**63 * 1.0, -0.1, 10]


def power_is_small(a, b):
    return not (isinstance(a, int) and isinstance(b, int) and abs(b) > 100) and not isinstance(a, complex)


for sign, function in binary.items():
    for a in operands:
        for b in operands:
            if sign == "**" and not power_is_small(a, b) and a not in (0, 1, -1):
                continue
            if sign not in "+-*/%//**" and (operands.index(a) + operands.index(b)) % 2:
                continue  # half of the many pairs will do
            if sign == "*" and any(isinstance(x, (str, list, tuple)) for x in (a, b)) and any(
                    isinstance(x, int) and abs(x) > 100 for x in (a, b)):
                continue

            def compute():
                result = function(a, b)
                if isinstance(result, complex):
                    raise TypeError
                return result

            row("binary", sign, a, [b], {}, compute)
for a in operands:
    row("unary", "-", a, [], {}, lambda: operator.neg(a))
    row("unary", "+", a, [], {}, lambda: operator.pos(a))
formats = ["%s", "%r", "%a", "%d", "%i", "%u", "%f", "%.2f", "%x", "%X", "%o", "%c", "%5s", "%-5s|", "%05d", "%+d", "% d", "%#x", "%#o", "%.3d", "%8.3d", "%e", "%G",
           "%10.2e", "%%", "%", "%s %s", "%q", "%.1s", "%-8d|", "%08.2f", "%(a)s", "%(b)d", "%(a", "%5%", "%hd", "%.f", "%#.3x", "%+.2d", "%-05d|", "% +d", "plain",
           "%.0f", "%5c", "%#g", "%g"]
for form in formats:
    for value in [0, 5, -7, 255, 1.0, -1234.5678, 2.5, 1e15, float("nan"), float("inf"), "ab", "é", True, None, [1], (1,), (1, 2), (), {"a": "x", "b": 2}, {}, ("é", "b")]:
        row("binary", "%", form, [value], {}, lambda: form % value)
for form, value in [("%*d", (5, 1)), ("%-*d|", (5, 1)), ("%*d|", (-5, 1)), ("%.*f", (2, 1.0)), ("%*d", ("x", 1)), ("%.*f", (-1, 1.5)), ("%*d", (5,)),
                    ("%(a)s%(b)s%(a)r", {"a": 1, "b": "é"}), ("%((x))s", {"(x)": 3}), ("%s %(a)s", {"a": 1}), ("%c%c", ("a", 66)), ("%c", (1114112,)),
                    ("%s" * 3, (1, None, Undefined(name="u"))), ("%d", Undefined(name="u"))]:
    row("binary", "%", form, [value], {}, lambda: form % value)

containers = texts[:6] + lists + dicts + others + [5, 1.5]
keys = [0, 1, -1, 5, -6, True, 1.0, "a", "k", "items", "grouper", "start", "zz", None, (1, 2), [1], "upper", 2**40]
for value in containers:
    for key in keys:
        row("item", "", value, [key], {}, lambda: env.getitem(value, key))
    for key in ["a", "k", "items", "start", "step", "zz", "__class__", "_x", "append", "pop", "count"]:
        row("attribute", key, value, [], {}, lambda: getattr(value, key) if isinstance(value, Undefined) else env.getattr(value, key))
    for bounds in [(None, None, None), (1, None, None), (None, 2, None), (-2, None, None), (None, -1, None), (None, None, -1), (None, None, 2), (5, 1, -2),
                   (0, 100, 3), (-100, 100, 1), (2, 1, None), (None, None, 0), ("a", None, None), (1.0, None, None), (None, None, -3), (True, 3, None),
                   (3, None, -1), (-1, -4, -1), (2**40, None, -1), (None, None, 2**62)]:
        row("slice", "", value, bounds, {}, lambda: value[slice(*bounds)])
for args in [(3,), (1, 4), (5, 0, -2), (0,), (1, 2, 0), ("a",), (100000,), (100001,), (), (0, 10**18, 10**13), (1, 2, 3, 4), (-(2**63), 2**63 - 1), (True,)]:
    row("global", "range", None, args, {}, lambda: env.globals["range"](*args))
for args, named in [((), {}), ((), {"a": 1}), (([("x", 1), ("y", 2)],), {"y": 3}), (({"a": 1},), {}), ((["ab"],), {}), (([1],), {}), ((5,), {}),
                    (([("x",)],), {}), (({}, {}), {}), ((Undefined(name="u"),), {}), ((Undefined(name="u"),), {"a": 1}), ((None,), {}), (("",), {})]:
    row("global", "dict", None, args, named, lambda: env.globals["dict"](*args, **named))

seen, unique = set(), []
for entry in rows:
    form = json.dumps(entry[:5])
    if form not in seen:
        seen.add(form)
        unique.append(entry)
folder = sys.argv[1]
with open(f"{folder}/value_cases.json", "w") as file:
    file.write('{"values": [\n' + ",\n".join(json.dumps(v) for v in values) + '\n],\n"rows": [\n')
    file.write(",\n".join(json.dumps(r) for r in unique) + "\n]}\n")

# Classes and case mappings of all code points that Unicode 14 has assigned.
assigned = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]


def runs(codes):
    out = []
    for code in codes:
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


names = "isspace isalpha isdecimal isdigit isnumeric isalnum islower isupper istitle isprintable isidentifier".split()
data = {"assigned": runs(assigned)}
for name in names:
    data[name] = runs([c for c in assigned if getattr(chr(c), name)()])
data["continues"] = runs([c for c in assigned if ("a" + chr(c)).isidentifier()])
data["case"] = [[c] + [getattr(chr(c), name)() for name in ("lower", "upper", "title", "casefold")]
                for c in assigned if any(getattr(chr(c), name)() != chr(c) for name in ("lower", "upper", "title", "casefold"))]
data["decimal"] = [[c, unicodedata.decimal(chr(c))] for c in assigned if chr(c).isdecimal()]
with open(f"{folder}/unicode_cases.json", "w") as file:
    file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in data.items()) + "\n}\n")
print(len(unique), "rows,", len(values), "values")
