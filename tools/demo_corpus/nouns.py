"""The nouns and names of the demo corpus, grouped by what can be said about them.

`NOUNS[kind]` holds the nouns of one kind; other modules ask for kinds, never for single nouns.
"""

from dataclasses import dataclass
from functools import cache

from tools.demo_corpus.english import plural_of
from tools.demo_corpus.spanish import pluralize


@dataclass(frozen=True)
class Noun:
    """One noun in both languages.

    Attributes:
        english: singular.
        english_plural: plural.
        spanish: singular.
        spanish_plural: plural.
        feminine: the Spanish gender.
        mass: stands bare, in the singular ("bread", "pan").
        human: takes the personal "a" as an object.
        stressed_a: feminine that takes "el" and "un" right before it ("el agua fría").
    """

    english: str
    english_plural: str
    spanish: str
    spanish_plural: str
    feminine: bool
    mass: bool = False
    human: bool = False
    stressed_a: bool = False


# One noun a line: English, colon, Spanish, gender (m or f); irregular plurals after a slash.
_COUNTABLE = {
    "fruit": """
        apple: manzana f
        orange: naranja f
        banana: plátano m
        lemon: limón m
        strawberry: fresa f
        tomato: tomate m
        potato: patata f
        onion: cebolla f
        carrot: zanahoria f
        egg: huevo m""",
    "dish": """
        cake: pastel m
        sandwich: bocadillo m
        salad: ensalada f
        pizza: pizza f
        cookie: galleta f""",
    "clothes": """
        shirt: camisa f
        dress: vestido m
        coat: abrigo m
        hat: sombrero m
        skirt: falda f
        jacket: chaqueta f
        scarf/scarves: bufanda f""",
    "pairs": """
        shoe: zapato m
        glove: guante m
        sock: calcetín m
        boot: bota f""",
    "belongings": """
        watch: reloj m
        bag: bolso m
        suitcase: maleta f
        key: llave f
        ball: pelota f
        ticket: billete m
        gift: regalo m
        photo: foto f""",
    "device": """
        umbrella: paraguas m
        phone: teléfono m
        camera: cámara f
        computer: ordenador m
        pencil: lápiz m""",
    "furniture": """
        table: mesa f
        chair: silla f
        bed: cama f
        lamp: lámpara f
        mirror: espejo m
        sofa: sofá m
        painting: cuadro m""",
    "tableware": """
        plate: plato m
        cup: taza f
        glass: vaso m
        bottle: botella f
        knife/knives: cuchillo m
        spoon: cuchara f""",
    "openable": """
        door: puerta f
        window: ventana f
        box: caja f
        drawer: cajón m""",
    "press": """
        newspaper: periódico m
        magazine: revista f""",
    "writing": """
        book: libro m
        letter: carta f
        novel: novela f
        poem: poema m
        message: mensaje m
        story: historia f""",
    "vehicle": """
        bicycle: bicicleta f""",
    "road": """
        car: coche m
        motorcycle: moto f""",
    "transport": """
        train: tren m
        bus: autobús m
        plane: avión m
        boat: barco m""",
    "show": """
        movie: película f
        match: partido m
        program: programa m""",
    "music": """
        song: canción f""",
    "matter": """
        question: pregunta f
        answer: respuesta f
        problem: problema m
        word: palabra f""",
    "task": """
        lesson: lección f
        exercise: ejercicio m""",
    "nature": """
        tree: árbol m
        flower: flor f
        mountain: montaña f
        river: río m
        star: estrella f""",
    "animal": """
        dog: perro m
        cat: gato m
        horse: caballo m
        bird: pájaro m
        cow: vaca f
        rabbit: conejo m
        lion: león m
        mouse/mice: ratón m""",
    "place": """
        market: mercado m
        school: escuela f
        hospital: hospital m
        park: parque m
        station: estación f
        restaurant: restaurante m
        library: biblioteca f
        museum: museo m
        bank: banco m
        church: iglesia f
        beach: playa f
        airport: aeropuerto m
        office: oficina f
        hotel: hotel m
        theater: teatro m
        university: universidad f
        shop: tienda f
        square: plaza f
        village: pueblo m
        pharmacy: farmacia f
        classroom: aula f el""",
    "room": """
        kitchen: cocina f
        garden: jardín m
        bathroom: baño m
        bedroom: dormitorio m
        house: casa f""",
}
_MASS = {
    "food": """
        bread: pan m
        cheese: queso m
        chocolate: chocolate m
        fruit: fruta f""",
    "cooked": """
        rice: arroz m
        meat: carne f
        fish: pescado m
        chicken: pollo m
        soup: sopa f""",
    "drink": """
        water: agua f el
        milk: leche f
        coffee: café m
        tea: té m
        wine: vino m
        beer: cerveza f
        juice: zumo m""",
}
_HUMAN = {
    "people": """
        man/men: hombre m
        woman/women: mujer f
        boy: chico m
        girl: chica f
        child/children: niño m
        teacher: profesor m
        student: estudiante m
        doctor: médico m
        nurse: enfermera f
        waiter: camarero m
        neighbor: vecino m
        king: rey m
        queen: reina f
        writer: escritor m
        actress: actriz f""",
    "relatives": """
        friend: amigo m
        brother: hermano m
        sister: hermana f
        son: hijo m
        daughter: hija f
        cousin: primo m
        uncle: tío m
        aunt: tía f""",
    "parents": """
        mother: madre f
        father: padre m
        grandmother: abuela f
        grandfather: abuelo m
        husband: marido m
        wife/wives: esposa f
        boss: jefe m""",
    # Used in the plural only.
    "couples": """
        parent: padre m
        grandparent: abuelo m""",
}

WOMEN = ("Ana", "María", "Lucía", "Elena", "Isabel", "Inés", "Carmen", "Sara")
MEN = ("Carlos", "Pedro", "Juan", "Luis", "Pablo", "Miguel", "Ignacio", "Javier")

CITIES = (
    ("Madrid", "Madrid"),
    ("Barcelona", "Barcelona"),
    ("Seville", "Sevilla"),
    ("London", "Londres"),
    ("Paris", "París"),
    ("Rome", "Roma"),
    ("Lisbon", "Lisboa"),
    ("New York", "Nueva York"),
    ("Spain", "España"),
    ("France", "Francia"),
    ("Italy", "Italia"),
    ("Germany", "Alemania"),
    ("Mexico", "México"),
    ("England", "Inglaterra"),
)

# Profession: English, Spanish masculine, Spanish feminine.
PROFESSIONS = (
    ("doctor", "médico", "médica"),
    ("teacher", "profesor", "profesora"),
    ("student", "estudiante", "estudiante"),
    ("nurse", "enfermero", "enfermera"),
    ("waiter", "camarero", "camarera"),
    ("writer", "escritor", "escritora"),
    ("lawyer", "abogado", "abogada"),
    ("engineer", "ingeniero", "ingeniera"),
    ("singer", "cantante", "cantante"),
    ("cook", "cocinero", "cocinera"),
)


def _parse(text: str, mass: bool = False, human: bool = False) -> tuple[Noun, ...]:
    nouns = []
    for line in text.strip().splitlines():
        english, spanish = (side.strip() for side in line.split(":"))
        stressed_a = spanish.endswith(" el")
        spanish, gender = spanish.removesuffix(" el").rsplit(" ", 1)
        english, _, english_plural = english.partition("/")
        spanish, _, spanish_plural = spanish.partition("/")
        nouns.append(
            Noun(
                english=english,
                english_plural=english_plural or plural_of(english),
                spanish=spanish,
                spanish_plural=spanish_plural or pluralize(spanish),
                feminine=gender == "f",
                mass=mass,
                human=human,
                stressed_a=stressed_a,
            )
        )
    return tuple(nouns)


# What one can buy, own and describe.
THINGS = "clothes pairs belongings device furniture tableware vehicle road writing press openable"

NOUNS: dict[str, tuple[Noun, ...]] = (
    {kind: _parse(text) for kind, text in _COUNTABLE.items()}
    | {kind: _parse(text, mass=True) for kind, text in _MASS.items()}
    | {kind: _parse(text, human=True) for kind, text in _HUMAN.items()}
)


@cache
def nouns_of(kinds: str) -> tuple[Noun, ...]:
    """Return the nouns of one or more kinds, named in one string ("clothes pairs")."""
    return tuple(noun for kind in kinds.split() for noun in NOUNS[kind])
