"""Inflected forms of the demo corpus, written out by hand."""

import pytest

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import spanish as demo_spanish
from tools.demo_corpus.spanish import conjugate


@pytest.mark.parametrize(
    ("infinitive", "form", "expected"),
    [
        ("hablar", "present", "hablo hablas habla hablamos hablan"),
        ("comer", "present", "como comes come comemos comen"),
        ("vivir", "present", "vivo vives vive vivimos viven"),
        ("hablar", "past", "hablé hablaste habló hablamos hablaron"),
        ("comer", "past", "comí comiste comió comimos comieron"),
        ("hablar", "imperfect", "hablaba hablabas hablaba hablábamos hablaban"),
        ("vivir", "imperfect", "vivía vivías vivía vivíamos vivían"),
        ("comer", "future", "comeré comerás comerá comeremos comerán"),
        ("cerrar", "present", "cierro cierras cierra cerramos cierran"),
        ("jugar", "present", "juego juegas juega jugamos juegan"),
        ("pedir", "present", "pido pides pide pedimos piden"),
        ("tener", "present", "tengo tienes tiene tenemos tienen"),
        ("venir", "present", "vengo vienes viene venimos vienen"),
        ("ir", "present", "voy vas va vamos van"),
        ("ser", "present", "soy eres es somos son"),
        ("estar", "present", "estoy estás está estamos están"),
        ("enviar", "present", "envío envías envía enviamos envían"),
        ("conocer", "present", "conozco conoces conoce conocemos conocen"),
        ("elegir", "present", "elijo eliges elige elegimos eligen"),
        ("hacer", "present", "hago haces hace hacemos hacen"),
        ("saber", "present", "sé sabes sabe sabemos saben"),
        ("buscar", "past", "busqué buscaste buscó buscamos buscaron"),
        ("jugar", "past", "jugué jugaste jugó jugamos jugaron"),
        ("almorzar", "past", "almorcé almorzaste almorzó almorzamos almorzaron"),
        ("dormir", "past", "dormí dormiste durmió dormimos durmieron"),
        ("pedir", "past", "pedí pediste pidió pedimos pidieron"),
        ("leer", "past", "leí leíste leyó leímos leyeron"),
        ("traer", "past", "traje trajiste trajo trajimos trajeron"),
        ("conducir", "past", "conduje condujiste condujo condujimos condujeron"),
        ("hacer", "past", "hice hiciste hizo hicimos hicieron"),
        ("ir", "past", "fui fuiste fue fuimos fueron"),
        ("dar", "past", "di diste dio dimos dieron"),
        ("ver", "past", "vi viste vio vimos vieron"),
        ("ir", "imperfect", "iba ibas iba íbamos iban"),
        ("ver", "imperfect", "veía veías veía veíamos veían"),
        ("tener", "future", "tendré tendrás tendrá tendremos tendrán"),
        ("salir", "future", "saldré saldrás saldrá saldremos saldrán"),
    ],
)
def test_conjugation(infinitive, form, expected):
    assert " ".join(getattr(conjugate(infinitive), form)) == expected


@pytest.mark.parametrize(
    ("infinitive", "gerund", "participle", "command", "prohibition"),
    [
        ("hablar", "hablando", "hablado", "habla", "hables"),
        ("leer", "leyendo", "leído", "lee", "leas"),
        ("escribir", "escribiendo", "escrito", "escribe", "escribas"),
        ("dormir", "durmiendo", "dormido", "duerme", "duermas"),
        ("ver", "viendo", "visto", "ve", "veas"),
        ("hacer", "haciendo", "hecho", "haz", "hagas"),
        ("volver", "volviendo", "vuelto", "vuelve", "vuelvas"),
        ("romper", "rompiendo", "roto", "rompe", "rompas"),
        ("buscar", "buscando", "buscado", "busca", "busques"),
        ("pagar", "pagando", "pagado", "paga", "pagues"),
        ("almorzar", "almorzando", "almorzado", "almuerza", "almuerces"),
        ("traer", "trayendo", "traído", "trae", "traigas"),
        ("venir", "viniendo", "venido", "ven", "vengas"),
        ("ir", "yendo", "ido", "ve", "vayas"),
        ("vestir", "vistiendo", "vestido", "viste", "vistas"),
    ],
)
def test_other_verb_forms(infinitive, gerund, participle, command, prohibition):
    forms = conjugate(infinitive)
    assert (forms.gerund, forms.participle, forms.command, forms.prohibition) == (
        gerund,
        participle,
        command,
        prohibition,
    )


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("casa", "casas"),
        ("café", "cafés"),
        ("sofá", "sofás"),
        ("árbol", "árboles"),
        ("canción", "canciones"),
        ("calcetín", "calcetines"),
        ("inglés", "ingleses"),
        ("autobús", "autobuses"),
        ("lápiz", "lápices"),
        ("rey", "reyes"),
        ("lunes", "lunes"),
        ("paraguas", "paraguas"),
        ("gris", "grises"),
        ("mes", "meses"),
    ],
)
def test_spanish_plural(singular, plural):
    assert demo_spanish.pluralize(singular) == plural


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [
        ("rojo", "roja"),
        ("azul", "azul"),
        ("grande", "grande"),
        ("inglés", "inglesa"),
        ("alemán", "alemana"),
        ("español", "española"),
        ("gris", "gris"),
        ("marrón", "marrón"),
    ],
)
def test_spanish_feminine(masculine, feminine):
    assert demo_spanish.feminine_of(masculine) == feminine


@pytest.mark.parametrize(
    ("number", "masculine", "feminine"),
    [
        (1, "un", "una"),
        (16, "dieciséis", "dieciséis"),
        (21, "veintiún", "veintiuna"),
        (31, "treinta y un", "treinta y una"),
        (45, "cuarenta y cinco", "cuarenta y cinco"),
        (100, "cien", "cien"),
        (101, "ciento un", "ciento una"),
        (115, "ciento quince", "ciento quince"),
        (200, "doscientos", "doscientas"),
        (521, "quinientos veintiún", "quinientas veintiuna"),
        (999, "novecientos noventa y nueve", "novecientas noventa y nueve"),
        (1000, "mil", "mil"),
    ],
)
def test_spanish_numbers_before_a_noun(number, masculine, feminine):
    assert demo_spanish.number_words(number) == masculine
    assert demo_spanish.number_words(number, feminine=True) == feminine


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("Ana", "Luis", "Ana y Luis"),
        ("Luis", "Isabel", "Luis e Isabel"),
        ("padre", "hijo", "padre e hijo"),
        ("agua", "hielo", "agua y hielo"),
        ("canta", "irá", "canta e irá"),
        ("mi madre", "yo", "mi madre y yo"),
    ],
)
def test_and_before_the_sound_i(first, second, joined):
    assert demo_spanish.join_with_and(first, second) == joined


@pytest.mark.parametrize(
    ("preposition", "phrase", "expected"),
    [
        ("a", "el mercado", "al mercado"),
        ("de", "el mercado", "del mercado"),
        ("cerca de", "el río", "cerca del río"),
        ("a", "la escuela", "a la escuela"),
        ("en", "el parque", "en el parque"),
        ("a", "él", "a él"),
        ("a", "Elena", "a Elena"),
    ],
)
def test_prepositions_contract_with_the_masculine_article_only(preposition, phrase, expected):
    assert demo_spanish.with_preposition(preposition, phrase) == expected


@pytest.mark.parametrize(
    ("verb", "third", "past", "participle", "gerund"),
    [
        ("buy", "buys", "bought", "bought", "buying"),
        ("study", "studies", "studied", "studied", "studying"),
        ("wash", "washes", "washed", "washed", "washing"),
        ("close", "closes", "closed", "closed", "closing"),
        ("go to bed", "goes to bed", "went to bed", "gone to bed", "going to bed"),
        ("wake up", "wakes up", "woke up", "woken up", "waking up"),
        ("have", "has", "had", "had", "having"),
        ("cut", "cuts", "cut", "cut", "cutting"),
        ("swim", "swims", "swam", "swum", "swimming"),
        ("visit", "visits", "visited", "visited", "visiting"),
        ("travel", "travels", "traveled", "traveled", "traveling"),
        ("see", "sees", "saw", "seen", "seeing"),
    ],
)
def test_english_verb_forms(verb, third, past, participle, gerund):
    forms = demo_english.verb_forms(verb)
    assert (forms.third, forms.past, forms.participle, forms.gerund) == (
        third,
        past,
        participle,
        gerund,
    )


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("box", "boxes"), ("story", "stories"), ("day", "days"), ("tomato", "tomatoes")],
)
def test_english_plural(singular, plural):
    assert demo_english.plural_of(singular) == plural


@pytest.mark.parametrize("word", ["photo", "piano", "kilo"])
def test_english_words_in_o_that_only_take_s(word):
    assert demo_english.plural_of(word) == word + "s"


@pytest.mark.parametrize(
    ("adjective", "comparative", "superlative"),
    [
        ("old", "older", "oldest"),
        ("big", "bigger", "biggest"),
        ("easy", "easier", "easiest"),
        ("cheap", "cheaper", "cheapest"),
        ("young", "younger", "youngest"),
        ("beautiful", "more beautiful", "most beautiful"),
        ("famous", "more famous", "most famous"),
    ],
)
def test_english_comparison(adjective, comparative, superlative):
    assert demo_english.compare(adjective) == (comparative, superlative)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [("apple", "an apple"), ("book", "a book"), ("university", "a university")],
)
def test_english_indefinite_article(phrase, expected):
    assert demo_english.with_indefinite_article(phrase) == expected


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (5, "five"),
        (20, "twenty"),
        (21, "twenty-one"),
        (300, "three hundred"),
        (305, "three hundred and five"),
        (1000, "one thousand"),
    ],
)
def test_english_numbers(number, words):
    assert demo_english.number_words(number) == words
