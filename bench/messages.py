"""Everyday messages: what people tell an assistant over the weeks, and what they ask it later."""

# ruff: noqa: E501 (a slot's fillers are one line)

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

SEED = 20_240_611
_DIALOGUES = Path(__file__).parent / "dialogues"
_ENGLISH = ("allotment", "assistant", "clinic", "sisters", "startup", "theatre")

_FILLERS = """
who: my sister, my brother, my neighbour, my colleague, my aunt, my cousin, our teacher, my manager, my flatmate, my dad, my boss, the landlord, our babysitter, my gran
name: Ada, Bruno, Carla, Dmitri, Elif, Farid, Greta, Hugo, Ines, Jonas, Kavya, Lena, Mateo, Nora, Omar, Paula, Rosa, Samir, Tilda, Viktor, Wanda, Yusuf, Zoe
town: Bergen, Lisbon, Graz, Leeds, Porto, Gdansk, Ghent, Turin, Malmo, Cork, Basel, Oulu, Nantes, Zadar, Utrecht, Bath, Sligo, Trieste, Lund, Coimbra
day: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday, the 3rd, the 14th, the 22nd, the last of May, Easter Monday
time: eight in the morning, half past nine, noon, three o'clock, a quarter to five, seven in the evening, 6:45, ten past two, after lunch
thing: car, bike, laptop, passport, umbrella, suitcase, camera, library book, spare key, winter coat, drill, tent, headphones, charger, rain jacket
place: the garage, the hall cupboard, my office drawer, the cellar, the kitchen shelf, the attic, the boot of the car, the blue box under the bed, mum's flat
colour: green, dark blue, red, yellow, silver, orange, black, white, purple, grey, turquoise
food: lentil soup, apple cake, mushroom risotto, pancakes, fish curry, potato salad, tomato soup, waffles, shepherd's pie, dal, banana bread
event: the budget meeting, the dentist appointment, the school concert, the job interview, the house viewing, the vet, parents' evening, the swimming lesson
project: harbour website, garden fence, quarterly report, mobile app, kitchen renovation, tax return, photo album, bike repair, wedding speech, allotment plan
number: two, three, four, five, six, seven, eight, nine, twelve, fifteen, twenty, thirty
shop: the bakery on the corner, the hardware store, the pharmacy, the farmers' market, that little shop by the station, the garden centre
pet: dog, cat, rabbit, parrot, tortoise
petname: Biscuit, Momo, Pepper, Olive, Ziggy, Frida, Waffle, Sultan
hobby: the choir, the climbing club, pottery, the book group, five-a-side, the orchestra, evening Spanish
health: a cold, a sore back, hay fever, a twisted ankle, a terrible headache
"""

_STATEMENTS = """
{who} {name} lives in {town} now and works there on {day}
my {thing} is {colour}, I keep it in {place}
left the {thing} in {place} on {day} when I was at {name}'s
{event} is on {day} at {time}, please keep that free. {name} is coming along
{event} got moved from {day} to {time} the day after, {who} just told me
{name} makes {food} every {day} and always invites {number} people
{name} is a vegetarian now, no more {food}
bought a {colour} {thing} at {shop}
{petname} turned {number} on {day}
no {hobby} for me on {day}
{name} has {health}
train to {town} was {number} minutes late again, {name} waited
saw {name} in {town} on {day}
{event} went well, {name} was there too
the deadline for the {project} is {day}, {time} at the latest, says {name}
{name} from {town} is going to help me with the {project}, probably on {day}
need {number} eggs and some flour for the {food}, {name} is coming on {day}
{who} is allergic to nuts and can't stand {food}, so {name} brings something else
we're taking the train to {town} on {day}, it leaves at {time}
the {project} is going to cost {number} hundred euros more than {name} said in {town}
{shop} closes at {time} on {day}, learned that the hard way with {name}
{name} borrowed my {colour} {thing} and will bring it back on {day}
our {pet} {petname} has to go to the vet in {town} on {day}
{name} joined {hobby}, they meet on {day} at {time} near {place}
{who} has {health} since {day}, so no {food} with {name} this week
paid {number} euros for the {thing} at {shop}, {name} thinks that's too much
booked a table for {number} on {day} at {time}, the place in {town} with the {food}
the wifi password at {name}'s is {colour}{petname}{number}, written on the card in {place}
I promised {name} to bring {food} to {event} on {day}
{name} and {who} are driving to {town} on {day}, back by {time}
put {number} jars of jam in {place}, two of them are for {name} from {hobby}
{petname} the {pet} ate half of the {food} on {day}, {name} couldn't stop laughing
my size in the {colour} {thing} is {number}, {shop} has it until {day}
the plumber comes on {day} at {time}, {name} has the key from {place}
{who}'s birthday is on {day}, {name} wants to give a {colour} {thing}
I've decided to finish the {project} before {day} and to skip {hobby} until then, {name} agrees
"""

_QUESTIONS = """
where does {who} {name} live these days, still in {town}?
what colour is my {thing} and where did I put it, {place}?
where did I leave my {thing} on {day}, at {name}'s?
when is {event} again, {day} or later? {name} asks
who makes {food} on {day} and how many people come with {name}?
what's the deadline of the {project}, {day}?
who from {town} wanted to help with the {project}, {name}?
how many eggs do I need for the {food} on {day}?
can {who} eat {food} or was there an allergy? {name} wants to cook
what time does our train to {town} leave on {day}?
did {name} bring my {thing} back, the {colour} one?
when does {shop} close on {day}, before {time}?
which day do {name} and the others from {hobby} meet?
how much more will the {project} cost, {number} hundred? {name} wants to know
what was the wifi password at {name}'s in {town}?
who has the key when the plumber comes on {day} at {time}?
what did I promise {name} to bring to {event}?
when is {who}'s birthday and what does {name} want to give?
is {petname} going to the vet on {day} or was it another {pet}?
how many jars did I put in {place} for {name}?
how old is {petname}, {number}?
is {name} still a vegetarian?
where did I buy the {colour} {thing}?
who did I see in {town} on {day}?
how did {event} go?
"""

_BEFORE = ("", "", "", "", "ok so ", "btw ", "oh and ", "right, ", "quick one: ", "by the way, ", "hm, ", "also ")
_AFTER = ("", "", "", "", "", " haha", ", just so you know", ", I think", ", don't let me forget", " :)")


def spoken_messages(count: int, *, seed: int = SEED) -> list[str]:
    """Return `count` distinct sentences of people's talk, from the English dialogues and the questions about them.

    They have more different words than `everyday_messages`, and seldom repeat each other.
    """
    said: list[str] = []
    for name in _ENGLISH:
        turns = (_DIALOGUES / f"{name}.dialogue").read_text(encoding="utf-8").splitlines()
        said += [turn.partition(": ")[2] for turn in turns if turn and not turn.startswith("#")]
        questions = (_DIALOGUES / f"{name}.questions").read_text(encoding="utf-8").splitlines()
        said += [question.split("|")[1].strip() for question in questions if question]
    distinct = list(dict.fromkeys(said))
    if len(distinct) < count:
        raise ValueError(f"the dialogues have {len(distinct)} sentences, not {count}")
    random.Random(seed).shuffle(distinct)
    return distinct[:count]


def everyday_messages(count: int, *, seed: int = SEED) -> list[str]:
    """Return `count` distinct messages, three statements per two questions, in an order that depends on `seed` only."""
    return list(islice(_distinct(random.Random(seed), 0.6), count))


def everyday_statements(count: int, *, seed: int = SEED) -> list[str]:
    """Return `count` distinct statements, in an order that depends on `seed` only."""
    return list(islice(_distinct(random.Random(seed), 1.0), count))


def everyday_questions(count: int, *, seed: int = SEED) -> list[str]:
    """Return `count` distinct questions, in an order that depends on `seed` only."""
    return list(islice(_distinct(random.Random(seed), 0.0), count))


def _distinct(chance: random.Random, statements: float) -> Iterator[str]:
    """Yield messages without end, none twice; `statements` is their share."""
    lines = (line.split(": ") for line in _FILLERS.strip().splitlines())
    fillers = {slot: words.split(", ") for slot, words in lines}
    told, asked = _STATEMENTS.strip().splitlines(), _QUESTIONS.strip().splitlines()
    made: set[str] = set()
    while True:
        states = chance.random() < statements
        template = chance.choice(told if states else asked)
        text = template.format_map({slot: chance.choice(words) for slot, words in fillers.items()})
        text = f"{chance.choice(_BEFORE)}{text}"
        if states:
            text += chance.choice(_AFTER) + chance.choice(("", ".", "."))
        if chance.random() < 0.7:
            text = text[0].upper() + text[1:]
        if text not in made:
            made.add(text)
            yield text
