"""Memories in English, German and French, and questions about some of them, each with the memory that answers it."""

# ruff: noqa: RUF001 (typography of the languages)

ENGLISH = """
moon distance|The Moon is 384,400 kilometres away from the Earth on average.|How far away is the Moon?
espresso|A good espresso takes 25 seconds at nine bars of pressure.|At what pressure should I pull an espresso?
wifi guest|The guest wireless network is called Lighthouse and its password on the fridge.|What is the guest network?
dentist|The appointment with the dentist is on Thursday at half past nine.|When do I have to go to the dentist?
boiler|The boiler is serviced every October by Hammond and Sons.|Who services our boiler?
passport|The passports are in the blue folder on the top shelf.|Where are the passports kept?
marathon|Priya ran the Berlin marathon in three hours and 41 minutes.|How long did Priya need for the marathon?
deploy freeze|Nobody deploys to production between 18 December and 3 January.|When may nobody deploy?
backup|The database is backed up every night at 02:15 to the second data centre.|When are databases backed up?
on call|Whoever is on call answers a page within ten minutes.|How quickly must a page be answered?
vat|Invoices to customers in Norway carry no value added tax.|Do Norwegian customers pay value added tax on invoices?
refund|Refunds are paid within fourteen days to the card that was charged.|How many days does a refund take?
allergy|Tom is allergic to peanuts and to penicillin.|What is Tom allergic to?
anniversary|Our wedding anniversary is the seventh of June.|When is our wedding anniversary?
garage code|The code of the garage door is changed on the first of each month.|How often does the garage code change?
sourdough|Feed the sourdough starter with equal parts of rye flour and water.|What do I feed the sourdough with?
octopus|An octopus has three hearts and blue blood.|How many hearts does an octopus have?
everest|Mount Everest was first climbed by Hillary and Norgay in 1953.|Who climbed Everest first?
penicillin|Alexander Fleming discovered penicillin in 1928.|Who discovered penicillin?
honey|Honey does not spoil because it holds too little water for bacteria.|Why doesn't honey go bad?
ssl|The TLS certificates are renewed automatically thirty days before they expire.|When are certificates renewed?
printer|The printer on the third floor jams when it gets recycled paper.|Why does the printer jam?
parking|Visitors park behind the bakery; the spaces by the gate are for suppliers.|Where can visitors park?
lighthouse keeper|The last keeper of the lighthouse was called Eleanor Briggs.|
rice|Rinse the rice three times, then cook it with one and a half parts of water.|How often should rice be rinsed?
budget|The marketing budget for the spring is forty thousand pounds.|
retro|The retrospective takes place every second Friday after lunch.|
style|We write dates as year, month and day in every report.|
gym|The gym is closed for repairs until the end of March.|
tea|Green tea is brewed at eighty degrees for two minutes.|At which temperature is green tea brewed?
"""

GERMAN = """
Mondentfernung|Der Mond ist im Mittel 384.400 Kilometer von der Erde entfernt.|Wie weit ist der Mond entfernt?
Zürich|Zürich ist mit rund 430.000 Einwohnern die größte Stadt der Schweiz.|Wie viele Einwohner hat Zuerich bzw. Zurich?
Heizung|Die Heizung wird jedes Jahr im September von der Firma Krüger gewartet.|Welche Firma wartet die Heizung?
Zahnarzt|Der Termin beim Zahnarzt ist am Dienstag um 14 Uhr.|Wann ist mein Zahnarzttermin beim Zahnarzt?
Reisepass|Die Reisepässe liegen in der obersten Schublade im Arbeitszimmer.|Wo liegen die Reisepässe?
Brot|Das Roggenbrot backt 50 Minuten bei 220 Grad.|Bei wie viel Grad backt das Roggenbrot?
Kündigungsfrist|Die Kündigungsfrist der Wohnung beträgt drei Monate.|Wie lang ist die Kündigungsfrist?
Bahnhof|Die Bahnhofsuhr am Südeingang geht vier Minuten nach.|Welche Uhr am Bahnhof geht nach? Die Bahnhofsuhr?
Hund|Der Hund von Familie Yıldız heißt Bello und beißt nicht.|Wie heißt der Hund von Familie Yildiz?
Passwort|Das Passwort des Gäste-WLANs hängt am Kühlschrank.|Wo finde ich das Passwort für das WLAN der Gäste?
Müll|Die gelbe Tonne wird alle zwei Wochen am Mittwoch geleert.|Wann wird die gelbe Tonne geleert?
Goethe|Goethe wurde 1749 in Frankfurt am Main geboren.|Wo wurde Goethe geboren?
Zugspitze|Die Zugspitze ist mit 2.962 Metern der höchste Berg Deutschlands.|Welcher ist der höchste Berg Deutschlands?
Photosynthese|Bei der Photosynthese wandeln Pflanzen Licht in chemische Energie um.|Was ist die Photosynthese?
Rechnung|Rechnungen über 5.000 Euro unterschreibt die Geschäftsführung.|Wer unterschreibt Rechnungen über 5.000 Euro?
Urlaub|Urlaub wird mindestens zwei Wochen vorher im Kalender eingetragen.|Wie früh muss Urlaub eingetragen werden?
Sicherung|Die Sicherung der Server läuft täglich um drei Uhr nachts.|Um wie viel Uhr läuft die Sicherung der Server?
Allergie|Jonas verträgt keine Haselnüsse und keine Milch.|Was verträgt Jonas nicht?
Schlüssel|Der Ersatzschlüssel liegt bei der Nachbarin Frau Özdemir.|Wer hat den Ersatzschlüssel?
Chor|Der Chor probt donnerstags in der Aula der Grundschule.|Wo probt der Chor?
Fahrrad|Das Fahrrad braucht neue Bremsbeläge und eine Kette.|Was braucht das Fahrrad?
Impfung|Die Auffrischung der Tetanusimpfung ist 2029 fällig.|
Garten|Die Tomaten stehen im Hochbeet neben dem Schuppen.|Wo stehen die Tomaten?
Drucker|Der Drucker im Flur verträgt nur Papier mit 80 Gramm.|Welches Papier verträgt der Drucker?
Kaffee|Für den Filterkaffee nimmt man 60 Gramm auf einen Liter Wasser.|Wie viel Gramm Kaffee nimmt man auf einen Liter?
Mauerfall|Die Berliner Mauer fiel am 9. November 1989.|Wann fiel die Berliner Mauer?
Elster|Die Steuererklärung muss bis Ende Juli abgegeben werden.|Bis wann muss die Steuererklärung abgegeben werden?
Blutspende|Zwischen zwei Blutspenden liegen mindestens 56 Tage.|
Stammtisch|Der Stammtisch trifft sich am ersten Montag im Monat.|
Kennzeichen|Der Firmenwagen hat das Kennzeichen HH PA 204.|
"""

FRENCH = """
distance de la Lune|La Lune se trouve en moyenne à 384 400 kilomètres de la Terre.|À quelle distance se trouve la Lune ?
café préféré|Le café préféré de Marie est le Café de Flore.|Quel est le café préféré de Marie ?
chaudière|La chaudière est révisée chaque automne par l'entreprise Lefèvre.|Qui révise la chaudière ?
dentiste|Le rendez-vous chez le dentiste est vendredi à onze heures.|Quand est le rendez-vous chez le dentiste ?
passeports|Les passeports sont rangés dans le tiroir du bureau.|Où sont rangés les passeports ?
crêpes|La pâte à crêpes repose une heure avant la cuisson.|Combien de temps repose la pâte à crêpes ?
préavis|Le préavis de l'appartement est d'un mois.|Quel est le préavis de l'appartement ?
chien|Le chien des voisins s'appelle Filou et adore les enfants.|Comment s'appelle le chien des voisins ?
mot de passe|Le mot de passe du wifi est écrit sous la box.|Où est écrit le mot de passe du wifi ?
poubelles|Les poubelles jaunes sont ramassées le mardi matin.|Quand les poubelles jaunes sont-elles ramassées ?
Hugo|Victor Hugo est né à Besançon en 1802.|Où est né Victor Hugo ?
Mont Blanc|Le mont Blanc culmine à 4 806 mètres.|À quelle altitude culmine le mont Blanc ?
Révolution|La Bastille a été prise le 14 juillet 1789.|Quand la Bastille a-t-elle été prise ?
factures|Les factures de plus de mille euros sont signées par Hélène.|Qui signe les factures de plus de mille euros ?
congés|Les congés se demandent trois semaines à l'avance.|Combien de semaines à l'avance demande-t-on les congés ?
sauvegarde|La sauvegarde des serveurs tourne chaque nuit à une heure.|À quelle heure tourne la sauvegarde des serveurs ?
allergie|Luc est allergique aux fraises et au pollen de bouleau.|À quoi Luc est-il allergique ?
clé|Le double de la clé est chez la gardienne.|Chez qui est le double de la clé ?
chorale|La chorale répète le lundi soir à la mairie.|Où répète la chorale ?
vélo|Le vélo de Camille a besoin d'une nouvelle chaîne.|De quoi le vélo de Camille a-t-il besoin ?
tomates|Les tomates poussent derrière la serre.|Où poussent les tomates ?
imprimante|L'imprimante du couloir est en panne depuis lundi.|
fromage|Le comté est affiné au moins quatre mois.|Combien de mois le comté est-il affiné ?
impôts|La déclaration d'impôts se fait en ligne avant la fin mai.|Avant quand fait-on la déclaration d'impôts ?
train|Le dernier train pour Lyon part à 21 h 04 de la voie sept.|De quelle voie part le dernier train pour Lyon ?
piscine|La piscine municipale ferme en août pour travaux.|
vaccin|Le rappel du vaccin est prévu en 2028.|
thé|Le thé vert infuse deux minutes dans une eau à quatre-vingts degrés.|
radium|Marie Curie a découvert le radium en 1898.|Qui a découvert le radium ?
bibliothèque|Les livres de la bibliothèque se rendent sous trois semaines.|Sous combien de semaines rend-on les livres ?
"""

OTHER_WORDS = (
    ("Which allergies does Tom have?", "en allergy"),
    ("Whom do I call when the boiler breaks?", "en boiler"),
    ("Where is my passport?", "en passport"),
    ("What was the lighthouse keeper's name?", "en lighthouse keeper"),
    ("Where should a visitor leave the car?", "en parking"),
    ("Is there a budget for spring marketing?", "en budget"),
    ("In which format are dates in reports written?", "en style"),
    ("How hot should water for green teas be?", "en tea"),
    ("Who climbed Mt. Everest?", "en everest"),
    ("What does the guest wifi password hang on?", "en wifi guest"),
    ("Wann habe ich einen Zahnarzttermin?", "de Zahnarzt"),
    ("Wer wartet unsere Heizungen?", "de Heizung"),
    ("Wo ist mein Pass, der Reisepass?", "de Reisepass"),
    ("Welche Impfungen sind bald fällig?", "de Impfung"),
    ("Wohin kamen die Tomatenpflanzen im Garten?", "de Garten"),
    ("Wie viele Menschen leben in ZURICH?", "de Zürich"),
    ("Geht die Uhr am Bahnhof richtig?", "de Bahnhof"),
    ("Was für ein Hund lebt bei den Yıldız?", "de Hund"),
    ("Seit wann steht die Mauer in Berlin nicht mehr?", "de Mauerfall"),
    ("Steuererklärungen: welche Frist gilt?", "de Elster"),
    ("Qui a decouvert le radium ?", "fr radium"),
    ("Quand sortir la poubelle jaune ?", "fr poubelles"),
    ("Quelle hauteur fait le Mont-Blanc ?", "fr Mont Blanc"),
    ("A qui appartient le double des clés ?", "fr clé"),
    ("Que manque-t-il au velo de Camille ?", "fr vélo"),
    ("Luc a-t-il des allergies ?", "fr allergie"),
    ("Quand rendre un livre à la bibliothèque ?", "fr bibliothèque"),
    ("Combien de minutes infuser du thé vert ?", "fr thé"),
    ("Quand aura lieu le prochain vaccin ?", "fr vaccin"),
    ("Les trains de nuit pour Lyon, quelle voie ?", "fr train"),
)
"""Questions with other words, forms or spellings than the memory."""

PEOPLE = (
    *("Anouk", "Bastian", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hiroshi", "Ines", "Jakub"),
    *("Katja", "Lionel", "Maren", "Nadia", "Oskar", "Paola", "Quentin", "Rosa", "Selim", "Thea"),
    *("Ulrich", "Valentina", "Wanda", "Ximena", "Yusuf", "Zora", "Aurel", "Birgit", "Cosmo", "Delphine"),
)
CITIES = (
    *("Aarhus", "Bologna", "Coimbra", "Dresden", "Eindhoven", "Florence", "Gdansk", "Heidelberg", "Innsbruck", "Jena"),
    *("Kassel", "Lausanne", "Malmö", "Nantes", "Odense", "Porto", "Quimper", "Rostock", "Seville", "Turin"),
    *("Utrecht", "Verona", "Wuppertal", "Xanten", "York", "Zagreb", "Angers", "Bergen", "Colmar", "Dijon"),
)
HOBBIES = ("chess", "pottery", "sailing", "archery", "judo", "origami", "rowing", "knitting", "climbing", "fencing")
BERUFE = (
    "Schreinerin",
    "Notar",
    "Imkerin",
    "Lotse",
    "Optikerin",
    "Gärtner",
    "Hebamme",
    "Winzer",
    "Uhrmacherin",
    "Pilot",
)
PLATS = ("la ratatouille", "le couscous", "la tartiflette", "le cassoulet", "la bouillabaisse")


def _written(lines: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Split lines of name, text and question into memories and (question, name) pairs."""
    rows = [line.split("|") for line in lines.strip().splitlines()]
    return [(name, text) for name, text, _ in rows], [(question, name) for name, _, question in rows if question]


def memories_and_questions() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return 300 memories (name, text) and the questions, each with the name of the memory that answers it.

    210 are about people and differ in names and numbers only.
    """
    memories: list[tuple[str, str]] = []
    questions = list(OTHER_WORDS)
    for prefix, lines in (("en", ENGLISH), ("de", GERMAN), ("fr", FRENCH)):
        written, asked = _written(lines)
        memories += [(f"{prefix} {name}", text) for name, text in written]
        questions += [(question, f"{prefix} {name}") for question, name in asked]
    for number, person in enumerate(PEOPLE):
        city, next_city = CITIES[number], CITIES[(number + 7) % len(CITIES)]
        memories += [
            (f"en {person} hobby", f"{person} from {city} goes in for {HOBBIES[number % 10]} on weekends."),
            (f"en {person} desk", f"The desk of {person} is number {200 + number * 3} on the second floor."),
            (f"de {person} Beruf", f"{person} arbeitet als {BERUFE[number % 10]} und wohnt in {city}."),
            (f"de {person} Geburtstag", f"Der Geburtstag von {person} ist am {number % 28 + 1}. Mai."),
            (f"fr {person} plat", f"Le plat préféré de {person} est {PLATS[number % 5]}."),
            (f"fr {person} voyage", f"Cet été, {person} part en voyage à {next_city} avec sa sœur."),
            (f"en {person} phone", f"{person} can be reached at extension {4000 + number * 17}."),
        ]
        if number % 5 == 0:
            questions += [
                (f"What does {person} do on weekends?", f"en {person} hobby"),
                (f"Als was arbeitet {person}?", f"de {person} Beruf"),
                (f"Quel est le plat préféré de {person} ?", f"fr {person} plat"),
                (f"Who can be reached at extension {4000 + number * 17}?", f"en {person} phone"),
            ]
    return memories, questions
