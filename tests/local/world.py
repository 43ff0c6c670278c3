"""What the tools of the questions know."""

from datetime import UTC, datetime

NOW = datetime(2026, 11, 30, 11, 31, tzinfo=UTC)
"""The frozen clock, a Monday."""
ZONES = {
    "UTC": 0,
    "Etc/UTC": 0,
    "GMT": 0,
    "Europe/London": 0,
    "Europe/Lisbon": 0,
    "Europe/Paris": 60,
    "Europe/Madrid": 60,
    "Europe/Berlin": 60,
    "Europe/Oslo": 60,
    "Europe/Rome": 60,
    "Europe/Helsinki": 120,
    "Africa/Cairo": 120,
    "Europe/Istanbul": 180,
    "Europe/Moscow": 180,
    "Asia/Dubai": 240,
    "Asia/Kolkata": 330,
    "Asia/Calcutta": 330,
    "Asia/Bangkok": 420,
    "Asia/Shanghai": 480,
    "Asia/Singapore": 480,
    "Asia/Hong_Kong": 480,
    "Asia/Tokyo": 540,
    "Asia/Seoul": 540,
    "Australia/Sydney": 660,
    "Atlantic/Reykjavik": 0,
    "America/New_York": -300,
    "US/Eastern": -300,
    "America/Chicago": -360,
    "America/Denver": -420,
    "America/Los_Angeles": -480,
    "US/Pacific": -480,
    "America/Sao_Paulo": -180,
}
"""Minutes ahead of UTC on the frozen date, so that no database of time zones is needed."""
NOTES = {
    1: (
        "Budget meeting",
        "3 Nov: marketing is cut by 12%. The total marketing budget is now 48000 EUR.",
    ),
    2: ("Bike shed", "The door code of the bike shed is 7319."),
    3: ("Dentist", "Dentist appointment on 9 December at 14:20, Dr Halloran."),
    4: ("Gym", "The gym fee is 34.50 EUR per month, cancel before March."),
    5: (
        "Coastal hike",
        "The coastal hike from Arrow Bay to Fern Point is 18.4 km long. Bring water.",
    ),
    6: ("Rent", "The rent is 1180 EUR per month, due on the 3rd."),
    7: ("Printer", "The office printer needs toner model TN-2420."),
    8: ("Book list", "To read: The Left Hand of Darkness, Piranesi, Stoner."),
    9: (
        "Tomato soup",
        "Roast 1.2 kg tomatoes, two onions and one head of garlic for 40 minutes at 200 degrees.",
    ),
    10: ("Car", "Next car inspection in May. Tyre pressure front 2.4 bar, rear 2.6 bar."),
    11: ("Choir", "Choir practice every Thursday at 19:00 in the old library."),
    12: ("Passport", "The passport expires on 14 August 2029."),
    13: ("Plants", "Water the ferns twice a week and the cactus once a month."),
    14: (
        "Team offsite",
        "The team offsite is in Ghent from 11 to 13 February. 23 people have registered.",
    ),
    15: ("Landlord", "The landlord prefers calls before noon."),
    16: ("Coffee", "Best ratio so far: 15 g coffee to 250 g water, 94 degrees."),
    17: ("Anniversary", "Anniversary dinner at Trattoria Lucca, table for two, 20:00."),
    18: ("Parking", "Parking costs 2.80 EUR per hour at the station."),
    19: ("Lecture", "Lecture on tides: spring tides come just after full and new moon."),
    20: ("Gift ideas", "Gift ideas: a chess clock for Omar, a scarf for Priya."),
    21: ("Server move", "The server move is planned for 17 January, downtime about 45 minutes."),
    22: ("Insurance", "The insurance policy number is HX-55012-B."),
    23: ("Running", "Ran 7.5 km in 41 minutes on Sunday."),
    24: ("Recipe bread", "500 g flour, 350 g water, 10 g salt, 3 g yeast; rest for 18 hours."),
    25: ("Cinema", "Film club shows Playtime on 5 December."),
    26: ("Paint", "The kitchen wall colour is called Pale Lichen."),
    27: ("Train", "The morning train leaves at 07:52 from platform 4."),
    28: ("Library", "Library books are due on 21 December."),
    29: ("Garden", "The garden is 12.5 m long and 8 m wide."),
    30: ("Vaccination", "Tetanus booster was given in 2021."),
}
"""Title and text by number."""
FILES = {
    "todo.txt": "buy light bulbs\ncall the plumber\nrenew the library card\n",
    "server.cfg": "host = orchid.internal\nport = 8443\nworkers = 6\ntimeout_seconds = 90\n",
    "expenses.csv": "item,amount_eur\nhotel,129.90\ntaxi,58.35\ntrain,240.00\nlunch,17.25\n",
    "invoice.txt": "Invoice 2026-118\nclient: Brightwater\nhours: 37.5\nrate_per_hour_eur: 82\n",
    "readme.md": "# Kestrel\nA small tool that renames photos by date. Licence: MIT.\n",
    "guests.txt": "Anna\nBogdan\nCarla\nDmitri\nEun-ji\nFarah\nGoran\n",
    "changelog.md": (
        "2.3.0 faster import\n2.2.1 fixes a crash on empty folders\n2.2.0 new date formats\n"
    ),
    "recipe.txt": "Pancakes for 4: 250 g flour, 500 ml milk, 2 eggs, a pinch of salt.\n",
}
"""Text by file name."""
WEATHER = {
    "oslo": (-4, "snow"),
    "cairo": (27, "sunny"),
    "madrid": (15, "cloudy"),
    "helsinki": (-7, "clear"),
    "reykjavik": (1, "rain"),
    "lisbon": (12, "rain"),
    "bergen": (16, "sunny"),
    "seoul": (3, "clear"),
    "tokyo": (11, "cloudy"),
    "london": (8, "fog"),
    "new york": (6, "windy"),
    "sydney": (24, "sunny"),
}
"""Degrees Celsius and sky by city."""
CONTACTS = {
    "Maria Lopez": (
        "phone +34 600 112 233; e-mail maria.lopez@example.org; lives in Madrid; born 1988"
    ),
    "Ken Tanaka": (
        "phone +81 90 5550 1234; e-mail k.tanaka77@example.org; lives in Tokyo; born 1979"
    ),
    "Priya Nair": (
        "phone +91 98 7650 4321; e-mail priya@example.net; lives in Mumbai (time zone "
        "Asia/Kolkata); born 1991"
    ),
    "Omar Haddad": "phone +20 100 555 8080; e-mail omar.h@example.org; lives in Cairo; born 1984",
    "Ingrid Dahl": "phone +47 912 44 310; e-mail ingrid@example.no; lives in Oslo; born 1975",
    "Lucas Meyer": "phone +49 171 222 9090; e-mail lm@example.de; lives in Berlin; born 1995",
    "Grace Kim": "phone +82 10 3322 7788; e-mail grace.kim@example.kr; lives in Seoul; born 1990",
    "Tom Baker": "phone +44 7700 900123; e-mail tom@example.co.uk; lives in London; born 1969",
}
"""What is known of a person, by name."""
UNITS = {
    "m": ("length", 1),
    "km": ("length", 1000),
    "cm": ("length", 0.01),
    "mm": ("length", 0.001),
    "mi": ("length", 1609.344),
    "ft": ("length", 0.3048),
    "in": ("length", 0.0254),
    "yd": ("length", 0.9144),
    "kg": ("mass", 1),
    "g": ("mass", 0.001),
    "lb": ("mass", 0.45359237),
    "oz": ("mass", 0.028349523125),
    "l": ("volume", 1),
    "ml": ("volume", 0.001),
    "gal": ("volume", 3.785411784),
    "s": ("time", 1),
    "min": ("time", 60),
    "h": ("time", 3600),
    "day": ("time", 86400),
}
"""Kind, and size in the kind's base unit."""
ALIASES = {
    "meter": "m",
    "metre": "m",
    "kilometer": "km",
    "kilometre": "km",
    "kms": "km",
    "centimeter": "cm",
    "centimetre": "cm",
    "mile": "mi",
    "foot": "ft",
    "feet": "ft",
    "inch": "in",
    "inches": "in",
    "yard": "yd",
    "kilogram": "kg",
    "kgs": "kg",
    "kilo": "kg",
    "gram": "g",
    "pound": "lb",
    "lbs": "lb",
    "ounce": "oz",
    "liter": "l",
    "litre": "l",
    "milliliter": "ml",
    "millilitre": "ml",
    "gallon": "gal",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "mins": "min",
    "hour": "h",
    "hr": "h",
    "days": "day",
    "c": "celsius",
    "°c": "celsius",
    "degc": "celsius",
    "degreecelsius": "celsius",
    "f": "fahrenheit",
    "°f": "fahrenheit",
    "degf": "fahrenheit",
    "degreefahrenheit": "fahrenheit",
    "k": "kelvin",
}
"""Other spellings of units."""
