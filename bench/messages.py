"""A fixed set of everyday messages: statements to an assistant and later questions."""

import random

SEED = 20_240_611

_FILLERS = """
who: my sister, my brother, my neighbour, my colleague, my aunt, my cousin, our teacher, my manager, my flatmate
name: Ada, Bruno, Carla, Dmitri, Elif, Farid, Greta, Hugo, Ines, Jonas, Kavya, Lena, Mateo, Nora, Omar, Paula, Rosa
town: Bergen, Lisbon, Graz, Leeds, Porto, Gdansk, Ghent, Turin, Malmo, Cork, Basel, Oulu, Nantes, Zadar, Utrecht
day: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday
time: eight in the morning, half past nine, noon, three o'clock, a quarter to five, seven in the evening
thing: car, bicycle, laptop, passport, umbrella, suitcase, camera, library book, spare key, winter coat
place: the garage, the hall cupboard, my office drawer, the cellar, the kitchen shelf, the attic, the train
colour: green, dark blue, red, yellow, silver, orange, black, white, purple
food: lentil soup, apple cake, mushroom risotto, pancakes, fish curry, potato salad, tomato soup, waffles
event: the budget meeting, the dentist appointment, the school concert, the job interview, the house viewing
project: harbour website, garden fence, quarterly report, mobile app, kitchen renovation, tax return, photo album
number: two, three, four, five, six, seven, eight, nine, twelve, fifteen, twenty, thirty
"""

_STATEMENTS = (
    "{who} {name} lives in {town} and works there on {day}s.",
    "My {thing} is {colour} and I keep it in {place}.",
    "I left my {thing} in {place} on {day}.",
    "{event} is on {day} at {time}, so please keep that free.",
    "Please note that {event} was moved from {day} to {time} the day after.",
    "{name} cooks {food} every {day} and invites {number} friends.",
    "The deadline of the {project} is next {day} at {time}.",
    "{name} from {town} will help me with the {project}.",
    "I need {number} eggs and some flour for the {food}.",
    "{who} is allergic to nuts and doesn't like {food}.",
    "We take the train to {town} on {day} at {time}.",
    "The {project} costs {number} hundred euros more than {name} said.",
)
_QUESTIONS = (
    "Where does {who} {name} live these days?",
    "What colour is my {thing}, and where do I keep it?",
    "Where did I leave my {thing} on {day}?",
    "When is {event}, on {day} or later in the week?",
    "Who cooks {food} on {day} and how many friends come?",
    "What is the deadline of the {project}?",
    "Who from {town} wanted to help me with the {project}?",
    "How many eggs do I need for the {food}?",
    "Can {who} eat {food}, or is there an allergy?",
    "At what time does our train to {town} leave on {day}?",
)


def everyday_messages(count: int, *, seed: int = SEED) -> list[str]:
    """Return `count` distinct messages, three statements per two questions, in an order that depends on `seed` only."""
    chance = random.Random(seed)
    fillers = {slot: words.split(", ") for slot, words in (line.split(": ") for line in _FILLERS.strip().splitlines())}
    made: dict[str, None] = {}
    while len(made) < count:
        template = chance.choice(_STATEMENTS if chance.random() < 0.6 else _QUESTIONS)
        text = template.format_map({slot: chance.choice(words) for slot, words in fillers.items()})
        made[text[0].upper() + text[1:]] = None
    return list(made)
