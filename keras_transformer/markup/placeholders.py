"""Patterns of placeholders: printf's of several languages, Qt's, braces, and variables of shells
and templates; of options of commands; and of numbers with units.
"""

# "100 % of" has no flag of a space and "70%ige" no conversion; `%<…%>` is how GCC quotes code,
# `%(name)s` is Python's. No real width has more digits, and longer ones would be tried in all ways.
PRINTF = (
    # C's macros, as gettext has them in catalogues.
    r"%[-+#0']{0,5}(?:\d{1,4})?(?:\.\d{1,4})?<PRI[diouxX][A-Z0-9]{1,9}>"
    r"|%<(?:(?!%[<>]).)*%>"
    r"|%\(\w+\)[-+#0]{0,5}\d{0,4}(?:\.\d{1,4})?[diouxXeEfFgGcrsa]"
    r"|(?<!\d)%(?:\d{1,4}\$)?[-+#0']{0,5}(?:\*(?:\d{1,4}\$)?|\d{1,4})?"
    r"(?:\.(?:\*(?:\d{1,4}\$)?|\d{1,4})?)?"
    r"(?:hh|h|ll|l|q|j|z|t|L|w)?[diouxXeEfFgGaAcsCSpnm@](?!\w*%[^\w%])"
    r"|(?<!\d)%[q#+]{0,3}[A-Za-z](?![A-Za-z0-9])"
    r"|%[%<>']"
)
QT = r"%L?\d{1,2}|%n(?![A-Za-z])"
# A blank belongs to prose, as in "{see below}", but for the format of ICU's numbers and dates.
BRACES = r"\{\{[^{}\n]*\}\}|\{[\w.:!<>=^+%#\[\]-]*(?:, ?[a-z]+)?\}"
# How ICU's messages of several branches begin; these are text, of which each form has its own.
BRANCHES = r"\{\s*[\w.]+\s*,\s*(?:plural|selectordinal|select)\s*,"
VARIABLES = r"\$\{[^{}\s]*\}|\$\([A-Za-z_]\w*\)|\$[A-Za-z_]\w*|%[A-Z_]{2,}%|@[A-Z_]{2,}@"
# "word--word" and " -- " are dashes of prose.
OPTIONS = r"(?<![\w-])--[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w-])"
# As they are written in sources and catalogues: a backslash and a letter, not the character itself.
ESCAPES = r"(?:\\[ntr])+|\\(?:[abfv0\\\"']|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{3})"
_NUMBER = r"[-+\u2212]?\d{1,15}(?:[.,]\d{1,15}){0,5}"
_UNITS = (
    "%|\u2030|\u00b0[CF]?|[\u20ac$\u00a3\u00a5]"
    "|[kMGTPE]?i?(?:B|bit|bps)(?:/s)?|[kMG]?(?:Hz|W|Wh|J|Pa|eV|V|\u03a9)|m[AVW]h?|lm|dB"
    "|(?:[kcdmn\u00b5\u03bc]?m|mi|ft|yd)(?:[\u00b2\u00b3]|/[hs])?|px|dpi|fps|rpm|mph"
    "|[km\u00b5\u03bc]?g|lb|oz|[mcdh]?[lL]|ms|min|[smh\u00b5\u03bc]s?|EUR|USD|GBP|CHF"
)
# With what is written beside them: "5 km", "20%", "$ 3.50"; a longer number has none before it.
MEASURES = (
    rf"(?<![\w.,])(?:{_NUMBER}[ \u00a0\u202f]?(?:{_UNITS})(?!\w)"
    rf"|[\u20ac$\u00a3\u00a5] ?{_NUMBER}(?!\w))"
)
