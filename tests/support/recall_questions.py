"""Small banks in four languages, and questions, each with the memory that answers it or None.

Written before the threshold was tuned: the tuning used the first half of each bank's questions, and the second half
was kept for the check.
"""

KITCHEN = {
    "Sourdough": "Proof sourdough overnight in the fridge, twelve hours at least.",
    "Knives": "The kitchen knives are sharpened every second Friday by Mr Ota.",
    "Allergies": "Nina must not eat hazelnuts; almonds are fine.",
    "Oven": "The left oven runs ten degrees too hot.",
    "Deliveries": "Vegetables arrive on Tuesdays and Fridays before seven.",
}
TRAVEL = {
    "Visas": "Citizens of Norway enter without a visa for 90 days.",
    "Luggage": "The airline allows one suitcase of 23 kilograms.",
    "Hotel": "The hotel in Lisbon has a lift and a pool on the roof.",
    "Insurance": "The travel insurance covers skiing accidents but no lost phones.",
    "Trains": "The night train to Vienna leaves from platform nine.",
}
BUERO = {
    "Drucker": "Der Drucker im dritten Stock braucht Papier im Format A4.",
    "Urlaub": "Urlaubsanträge gehen bis zum zehnten des Monats an Frau Keller.",
    "Kaffee": "Die Kaffeemaschine wird freitags entkalkt.",
    "Schlüssel": "Der Schlüssel zum Archiv hängt beim Empfang.",
    "Parkplatz": "Besucher parken in der Tiefgarage auf Ebene zwei.",
}
MAISON = {
    "Chaudière": "La chaudière est contrôlée chaque année en octobre.",
    "Jardin": "Les rosiers du jardin sont taillés au mois de mars.",
    "Voisine": "La voisine, madame Petit, garde le chat pendant les vacances.",
    "Internet": "Le code du wifi est collé sous la box.",
}
TALLER = {
    "Bicicletas": "Las bicicletas se reparan en el taller de la calle Luna.",
    "Horario": "El taller abre a las nueve y cierra los domingos.",
    "Frenos": "Los frenos de disco se revisan cada mil kilómetros.",
    "Garantía": "La garantía de las ruedas dura dos años.",
}

QUESTIONS: list[tuple[dict[str, str], list[tuple[str, str | None]]]] = [
    (
        KITCHEN,
        [
            ("How long must sourdough be proofed?", "Sourdough"),
            ("How often are the knives sharpened?", "Knives"),
            ("What can Nina not eat?", "Allergies"),
            ("Which oven is too hot?", "Oven"),
            ("When do vegetables arrive?", "Deliveries"),
            ("How long must cheese age?", None),
            ("How often must the floor be cleaned?", None),
            ("Who needs a new apron?", None),
            ("How many hours does sourdough proofing take?", "Sourdough"),
            ("Who sharpens the knives?", "Knives"),
            ("Is Nina allergic to hazelnuts?", "Allergies"),
            ("Does the left oven need repair?", "Oven"),
            ("What time is the vegetable delivery?", "Deliveries"),
            ("How much does saffron cost?", None),
            ("Where do we keep the ladles?", None),
            ("How long do eggs need to boil?", None),
        ],
    ),
    (
        TRAVEL,
        [
            ("Do Norwegians need visas?", "Visas"),
            ("How heavy may my suitcase be?", "Luggage"),
            ("Is there a pool at the hotel?", "Hotel"),
            ("Does the insurance cover skiing?", "Insurance"),
            ("From which platform does the night train leave?", "Trains"),
            ("Do Norwegians need vaccinations?", None),
            ("How long is the flight to Tokyo?", None),
            ("What is the best restaurant in Porto?", None),
            ("How many days may a Norwegian citizen stay?", "Visas"),
            ("How many suitcases does the airline allow?", "Luggage"),
            ("What does the hotel in Lisbon have on its roof?", "Hotel"),
            ("Are lost phones insured?", "Insurance"),
            ("Which train goes to Vienna?", "Trains"),
            ("How much money do I need for tips?", None),
            ("Which museums are closed on Mondays?", None),
            ("Do I need winter tyres?", None),
            ("When does platform91 open?", None),
        ],
    ),
    (
        BUERO,
        [
            ("Welches Papier braucht der Drucker?", "Drucker"),
            ("Wann muss der Urlaubsantrag abgegeben werden?", "Urlaub"),
            ("Wie oft wird die Kaffeemaschine entkalkt?", "Kaffee"),
            ("Wo hängt der Schlüssel zum Archiv?", "Schlüssel"),
            ("Wo können Besucher parken?", "Parkplatz"),
            ("Wie lange dauert die Mittagspause?", None),
            ("Wer gießt die Pflanzen?", None),
            ("An wen gehen Urlaubsanträge?", "Urlaub"),
            ("Welches Format muss das Papier haben?", "Drucker"),
            ("Wann muss die Kaffeemaschine entkalkt werden?", "Kaffee"),
            ("Wer hat den Schlüssel für das Archiv?", "Schlüssel"),
            ("Auf welcher Ebene ist der Parkplatz für Besucher?", "Parkplatz"),
            ("Wie viele Fenster müssen geputzt werden?", None),
            ("Braucht man ein Passwort?", None),
        ],
    ),
    (
        MAISON,
        [
            ("Quand faut-il contrôler la chaudière ?", "Chaudière"),
            ("Quand taille-t-on les rosiers ?", "Jardin"),
            ("Qui garde le chat ?", "Voisine"),
            ("Combien de temps faut-il pour repeindre la cuisine ?", None),
            ("Où est le code du wifi ?", "Internet"),
            ("En quel mois la chaudière est-elle contrôlée ?", "Chaudière"),
            ("Qui peut garder notre chat pendant les vacances ?", "Voisine"),
            ("Faut-il changer les serrures ?", None),
        ],
    ),
    (
        TALLER,
        [
            ("¿Dónde se reparan las bicicletas?", "Bicicletas"),
            ("¿Cuándo cierra el taller?", "Horario"),
            ("¿Cuánto dura la garantía?", "Garantía"),
            ("¿Cuánto cuesta un casco?", None),
            ("¿Cada cuánto se deben revisar los frenos?", "Frenos"),
            ("¿Dónde puedo reparar mi bicicleta?", "Bicicletas"),
            ("¿A qué hora abre el taller?", "Horario"),
            ("¿Quién necesita un candado?", None),
        ],
    ),
]
