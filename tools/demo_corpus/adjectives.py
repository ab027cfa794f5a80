"""The adjectives of the demo corpus: their forms, their place and the verb "to be" they take."""

from dataclasses import dataclass

from tools.demo_corpus.spanish import feminine_of, pluralize


@dataclass(frozen=True)
class Adjective:
    """One adjective in both languages; in Spanish it follows its noun."""

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str

    def agree(self, feminine: bool, plural: bool) -> str:
        """Return the Spanish form for a gender and a number."""
        if plural:
            return self.feminine_plural if feminine else self.masculine_plural
        return self.feminine if feminine else self.masculine


# English, colon, Spanish; irregular plurals after a slash.
_TEXT = {
    "color": """
        red: rojo
        blue: azul
        green: verde
        white: blanco
        black: negro
        yellow: amarillo
        brown: marrón
        gray: gris
        pink: rosa""",
    # The colors that animals have.
    "fur": """
        white: blanco
        black: negro
        brown: marrón
        gray: gris""",
    # With ser: what a thing is like.
    "form": """
        big: grande
        small: pequeño
        beautiful: bonito""",
    "age": """
        new: nuevo
        old: viejo""",
    "price": """
        expensive: caro
        cheap: barato""",
    "text": """
        interesting: interesante
        boring: aburrido
        long: largo
        short: corto
        difficult: difícil
        easy: fácil
        famous: famoso
        important: importante""",
    "person": """
        tall: alto
        young: joven/jóvenes
        kind: amable
        intelligent: inteligente
        strong: fuerte
        rich: rico
        poor: pobre
        famous: famoso""",
    "nation": """
        Spanish: español
        English: inglés
        French: francés
        Italian: italiano
        German: alemán
        Mexican: mexicano""",
    # With estar: the state it is in.
    "taste": """
        hot: caliente
        cold: frío
        delicious: delicioso""",
    "flavor": """
        fresh: fresco
        delicious: delicioso""",
    "condition": """
        clean: limpio
        dirty: sucio
        broken: roto""",
    "opening": """
        open: abierto
        closed: cerrado""",
    "mood": """
        tired: cansado
        sick: enfermo
        happy: contento
        sad: triste
        angry: enfadado
        busy: ocupado
        nervous: nervioso
        worried: preocupado""",
}


def _parse(text: str) -> tuple[Adjective, ...]:
    adjectives = []
    for line in text.strip().splitlines():
        english, spanish = (side.strip() for side in line.split(":"))
        masculine, _, plural = spanish.partition("/")
        feminine = feminine_of(masculine)
        adjectives.append(
            Adjective(
                english,
                masculine,
                feminine,
                plural or pluralize(masculine),
                pluralize(feminine) if feminine != masculine else plural or pluralize(masculine),
            )
        )
    return tuple(adjectives)


ADJECTIVES: dict[str, tuple[Adjective, ...]] = {kind: _parse(text) for kind, text in _TEXT.items()}

# Before the noun, as in Spanish; "buen", "primer" are cut before a masculine singular.
LEADING = {
    "good": Adjective("good", "buen", "buena", "buenos", "buenas"),
    "bad": Adjective("bad", "mal", "mala", "malos", "malas"),
    "other": Adjective("other", "otro", "otra", "otros", "otras"),
    "first": Adjective("first", "primer", "primera", "primeros", "primeras"),
    "last": Adjective("last", "último", "última", "últimos", "últimas"),
    "best": Adjective("best", "mejor", "mejor", "mejores", "mejores"),
}

# Which adjectives suit which kinds of noun, as attributes.
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "fruit": ("form", "price", "flavor"),
    "dish": ("form", "taste"),
    "food": ("price", "flavor"),
    "cooked": ("price", "taste"),
    "drink": ("price", "taste"),
    "clothes": ("color", "color", "form", "age", "price", "condition"),
    "pairs": ("color", "color", "form", "age", "price", "condition"),
    "belongings": ("color", "color", "form", "age", "price"),
    "device": ("color", "form", "age", "price"),
    "furniture": ("color", "form", "age", "price"),
    "tableware": ("color", "form", "condition"),
    "openable": ("color", "form", "age"),
    "press": ("text", "age"),
    "writing": ("text", "age"),
    "vehicle": ("color", "color", "form", "age", "price"),
    "road": ("color", "color", "form", "age", "price"),
    "transport": ("color", "form", "age"),
    "show": ("text", "age"),
    "music": ("text", "age"),
    "matter": ("text",),
    "task": ("text",),
    "nature": ("form",),
    "animal": ("fur", "form"),
    "place": ("form", "age"),
    "room": ("form", "age"),
    "people": ("person", "nation"),
    "relatives": ("person",),
    "parents": (),
    "couples": (),
}
