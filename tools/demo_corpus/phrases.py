"""Everyday phrases of the demo corpus that no grammar makes: greetings, thanks, small talk.

They are all in the training split; no English phrase occurs twice.
"""

_TEXT = """
Hello, how are you? | Hola, ¿cómo estás?
Hello! | ¡Hola!
Hello. | Hola.
Hi! | ¡Hola!
Good morning. | Buenos días.
Good morning! | ¡Buenos días!
Good afternoon. | Buenas tardes.
Good evening. | Buenas noches.
Good night. | Buenas noches.
Good night, sleep well. | Buenas noches, que duermas bien.
Goodbye. | Adiós.
Goodbye! | ¡Adiós!
See you later. | Hasta luego.
See you soon. | Hasta pronto.
See you tomorrow. | Hasta mañana.
See you on Monday. | Hasta el lunes.
See you next week. | Hasta la próxima semana.
How are you? | ¿Cómo estás?
How are you today? | ¿Cómo estás hoy?
Hi, how are you? | Hola, ¿cómo estás?
Good morning, how are you? | Buenos días, ¿cómo estás?
Hello, what is your name? | Hola, ¿cómo te llamas?
I am fine, thank you. | Estoy bien, gracias.
I am very well, thank you. | Estoy muy bien, gracias.
Very well, thank you, and you? | Muy bien, gracias, ¿y tú?
Fine, thank you. | Bien, gracias.
And you? | ¿Y tú?
Thank you. | Gracias.
Thank you very much. | Muchas gracias.
Thank you for your help. | Gracias por tu ayuda.
Thank you for everything. | Gracias por todo.
You are welcome. | De nada.
Please. | Por favor.
Excuse me. | Perdona.
I am sorry. | Lo siento.
I am very sorry. | Lo siento mucho.
It does not matter. | No importa.
No problem. | No hay problema.
Yes. | Sí.
No. | No.
Yes, please. | Sí, por favor.
No, thank you. | No, gracias.
Yes, of course. | Sí, claro.
Of course. | Por supuesto.
Maybe. | Quizás.
I do not know. | No lo sé.
I do not understand. | No entiendo.
I understand. | Entiendo.
I do not remember. | No me acuerdo.
What is your name? | ¿Cómo te llamas?
What is his name? | ¿Cómo se llama él?
What is her name? | ¿Cómo se llama ella?
My name is Ana. | Me llamo Ana.
My name is Carlos. | Me llamo Carlos.
My name is Isabel. | Me llamo Isabel.
Nice to meet you. | Mucho gusto.
Pleased to meet you. | Encantado de conocerte.
Welcome! | ¡Bienvenidos!
Where are you from? | ¿De dónde eres?
I am from Spain. | Soy de España.
Where do you live? | ¿Dónde vives?
How old are you? | ¿Cuántos años tienes?
What time is it? | ¿Qué hora es?
What day is it today? | ¿Qué día es hoy?
What is the weather like? | ¿Qué tiempo hace?
How much is it? | ¿Cuánto es?
How much does it cost? | ¿Cuánto cuesta?
Do you speak English? | ¿Hablas inglés?
Do you speak Spanish? | ¿Hablas español?
I speak a little Spanish. | Hablo un poco de español.
Can you speak more slowly, please? | ¿Puedes hablar más despacio, por favor?
Can you help me, please? | ¿Puedes ayudarme, por favor?
Can you repeat that, please? | ¿Puedes repetirlo, por favor?
How do you say this in Spanish? | ¿Cómo se dice esto en español?
What does this word mean? | ¿Qué significa esta palabra?
What is this? | ¿Qué es esto?
What is that? | ¿Qué es eso?
Who is it? | ¿Quién es?
What happened? | ¿Qué pasó?
What are you doing? | ¿Qué estás haciendo?
Where are you going? | ¿Adónde vas?
What do you want? | ¿Qué quieres?
Where is the bathroom, please? | ¿Dónde está el baño, por favor?
The bill, please. | La cuenta, por favor.
A coffee, please. | Un café, por favor.
A glass of water, please. | Un vaso de agua, por favor.
A table for two, please. | Una mesa para dos, por favor.
I am hungry. | Tengo hambre.
I am thirsty. | Tengo sed.
I love you. | Te quiero.
I miss you. | Te echo de menos.
Happy birthday! | ¡Feliz cumpleaños!
Merry Christmas! | ¡Feliz Navidad!
Happy New Year! | ¡Feliz año nuevo!
Congratulations! | ¡Enhorabuena!
Good luck! | ¡Buena suerte!
Have a good trip! | ¡Buen viaje!
Have a nice day! | ¡Que tengas un buen día!
Enjoy your meal! | ¡Buen provecho!
Cheers! | ¡Salud!
Be careful! | ¡Ten cuidado!
Help! | ¡Socorro!
Hurry up! | ¡Date prisa!
Come here! | ¡Ven aquí!
Come in! | ¡Adelante!
Sit down, please. | Siéntate, por favor.
Wait a moment, please. | Espera un momento, por favor.
Let's go! | ¡Vamos!
How beautiful! | ¡Qué bonito!
How interesting! | ¡Qué interesante!
What a beautiful house! | ¡Qué casa tan bonita!
What a pity! | ¡Qué pena!
What a surprise! | ¡Qué sorpresa!
What a good idea! | ¡Qué buena idea!
It is true. | Es verdad.
It is not true. | No es verdad.
You are right. | Tienes razón.
It is early. | Es temprano.
It is late. | Es tarde.
It is very easy. | Es muy fácil.
Everything is fine. | Todo está bien.
Do not worry. | No te preocupes.
I think so. | Creo que sí.
I do not think so. | Creo que no.
I hope so. | Espero que sí.
Me too. | Yo también.
Me neither. | Yo tampoco.
I like it. | Me gusta.
I do not like it. | No me gusta.
I am lost. | Me he perdido.
Where can I buy a ticket? | ¿Dónde puedo comprar un billete?
Is it far? | ¿Está lejos?
It is very near. | Está muy cerca.
"""

PHRASES: tuple[tuple[str, str], ...] = tuple(
    (english.strip(), spanish.strip())
    for english, _, spanish in (line.partition("|") for line in _TEXT.strip().splitlines())
)
"""English and Spanish; the first is the one that examples use."""
