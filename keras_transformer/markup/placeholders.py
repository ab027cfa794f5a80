"""Patterns of placeholders: printf's of several languages, Qt's, braces, and variables of shells
and templates.
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
VARIABLES = r"\$\{[^{}\s]*\}|\$\([A-Za-z_]\w*\)|\$[A-Za-z_]\w*|%[A-Z_]{2,}%|@[A-Z_]{2,}@"
# As they are written in sources and catalogues: a backslash and a letter, not the character itself.
ESCAPES = r"(?:\\[ntr])+|\\(?:[abfv0\\\"']|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{3})"
