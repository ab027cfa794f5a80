"""English names of languages by their codes (ISO 639-1), for lists to choose from."""

import re

_NAMES = dict(
    line.split(" ", 1)
    for line in """\
af Afrikaans
ar Arabic
az Azerbaijani
be Belarusian
bg Bulgarian
bn Bengali
ca Catalan
cs Czech
cy Welsh
da Danish
de German
el Greek
en English
eo Esperanto
es Spanish
et Estonian
eu Basque
fa Persian
fi Finnish
fr French
ga Irish
gl Galician
gu Gujarati
he Hebrew
hi Hindi
hr Croatian
hu Hungarian
hy Armenian
id Indonesian
is Icelandic
it Italian
ja Japanese
ka Georgian
kk Kazakh
ko Korean
lt Lithuanian
lv Latvian
mk Macedonian
ms Malay
nb Norwegian Bokmål
nl Dutch
no Norwegian
pl Polish
pt Portuguese
ro Romanian
ru Russian
sk Slovak
sl Slovenian
sq Albanian
sr Serbian
sv Swedish
sw Swahili
ta Tamil
th Thai
tl Tagalog
tr Turkish
uk Ukrainian
ur Urdu
vi Vietnamese
zh Chinese""".splitlines()
)


def name_of(code: str) -> str:
    """Returns a language's name; the code if it has none.

    Example:
        >>> name_of("pt"), name_of("pt_BR"), name_of("fra_Latn")
        ('Portuguese', 'Portuguese (BR)', 'fra_Latn')
    """
    base, _, region = code.partition("_")
    if base not in _NAMES:
        return code
    return f"{_NAMES[base]} ({region})" if region else _NAMES[base]


def is_code(text: str) -> bool:
    """Returns whether a text is the code of a language: one with a name, or with its script, as in
    FLORES-200.

    Example:
        >>> is_code("pt"), is_code("pt-BR"), is_code("fra_Latn"), is_code("bad")
        (True, True, True, False)
    """
    base, _, _ = text.replace("-", "_").partition("_")
    return base in _NAMES or re.fullmatch("[a-z]{3}_[A-Z][a-z]{3}", text) is not None
