"""The common expressions of datafaker, such as `#{Name.first_name}` and `#{number.numberBetween '1','9'}`.

The lists of names are short and our own: a library of names would bring 40 MB of languages for them.
"""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable

from funke.engine.sql.connectors.faker.random_patterns import pattern_maker

__all__ = ["INVENTED", "Invented"]

# Makes a text, or a time, of the arguments of an expression.
Invented = Callable[..., "str | datetime.datetime"]


def _each(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_FIRST = _each(
    "Ada Amir Bela Carla Chen Dario Dina Emil Fatima Goran Hana Igor Ines Jonas Kira Lena Mateo Nia Omar Pia"
)
_LAST = _each("Adler Baker Costa Dubois Eriksen Fischer Garcia Haas Ivanov Jansen Kim Lopez Meyer Novak Okoye Park")
_CITIES = _each("Aarhus Bergen Cork Dresden Evora Florence Ghent Helsinki Izmir Krakow Lyon Malaga Nantes Oslo Porto")
_COUNTRIES = _each("Austria Belgium Brazil Canada Chile Denmark Egypt Finland Ghana India Japan Kenya Mexico Norway")
_STREETS = _each("Bridge Canal Church Garden Harbour High Lake Market Mill Park River School Station Tower")
_STATES = _each("Alabama Colorado Georgia Idaho Iowa Kansas Maine Nevada Ohio Oregon Texas Utah Vermont")
_WORDS = _each("amber basin cloud delta ember field grain harbor inlet jetty knoll ledge meadow north orchard pebble")
_PRODUCTS = _each("Bag Bench Bottle Chair Clock Coat Gloves Hat Keyboard Knife Lamp Plate Shirt Shoes Table Wallet")
_MATERIALS = _each("Aluminum Bronze Cotton Granite Leather Linen Marble Paper Rubber Silk Steel Wooden Wool")
_DEPARTMENTS = _each("Beauty Books Clothing Electronics Games Garden Grocery Health Home Music Outdoors Sports Tools")
_COLORS = _each("azure black blue brown cyan gold green grey magenta orange pink purple red silver violet white")
_JOBS = _each("Analyst Architect Baker Carpenter Engineer Farmer Librarian Manager Nurse Painter Pilot Teacher")
_ANIMALS = _each("bear cat cow crow deer dog dolphin eagle fox goat hare horse lion otter owl seal tiger wolf")
_CURRENCIES = _each("AUD BRL CAD CHF CNY DKK EUR GBP INR JPY MXN NOK PLN SEK USD ZAR")
_COUNTRY_CODES = _each("at be br ca ch cl de dk eg es fi fr gb gh in it jp ke mx nl no pl pt se us")
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (Macintosh)", "Mozilla/5.0 (Windows NT 10.0)", "curl/8.5.0")
_UNITS = {
    "NANOSECONDS": 1e-9,
    "MICROSECONDS": 1e-6,
    "MILLISECONDS": 1e-3,
    "SECONDS": 1,
    "MINUTES": 60,
    "HOURS": 3600,
    "DAYS": 86400,
}


def _from(values: tuple[str, ...]) -> Invented:
    return lambda chance: chance.choice(values)


def _of_pattern(pattern: str) -> Invented:
    return pattern_maker(pattern)


def _full_name(chance: random.Random) -> str:
    return f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"


def _user_name(chance: random.Random) -> str:
    return f"{chance.choice(_FIRST)}.{chance.choice(_LAST)}".lower()


def _between(chance: random.Random, least: str, most: str) -> str:
    """The upper bound does not occur, as in datafaker."""
    return str(chance.randrange(int(least), max(int(least) + 1, int(most))))


def _double(chance: random.Random, decimals: str, least: str, most: str) -> str:
    return f"{chance.uniform(float(least), float(most)):.{int(decimals)}f}"


def _digits(chance: random.Random, count: str = "9") -> str:
    return str(chance.randrange(10 ** (int(count) - 1), 10 ** int(count)))


def _seconds(chance: random.Random, arguments: tuple[str, ...]) -> datetime.timedelta:
    """`'15','SECONDS'`, or with the least distance: `'15','5','SECONDS'`."""
    *bounds, unit = arguments
    most, least = int(bounds[0]), int(bounds[1]) if len(bounds) > 1 else 0
    return datetime.timedelta(seconds=chance.uniform(least, most) * _UNITS[unit.upper()])


def _past(chance: random.Random, *arguments: str) -> datetime.datetime:
    return datetime.datetime.now() - _seconds(chance, arguments)


def _future(chance: random.Random, *arguments: str) -> datetime.datetime:
    return datetime.datetime.now() + _seconds(chance, arguments)


def _between_times(chance: random.Random, first: str, last: str) -> datetime.datetime:
    start, end = datetime.datetime.fromisoformat(first), datetime.datetime.fromisoformat(last)
    return start + (end - start) * chance.random()


def _birthday(chance: random.Random, least: str = "18", most: str = "65") -> datetime.datetime:
    return datetime.datetime.now() - datetime.timedelta(days=chance.uniform(int(least), int(most)) * 365.25)


def _filled(chance: random.Random, text: str, digits: bool = True, letters: bool = True) -> str:
    signs = {"#": "0123456789"} if digits else {}
    signs |= {"?": "abcdefghijklmnopqrstuvwxyz"} if letters else {}
    return "".join(chance.choice(signs[each]) if each in signs else each for each in text)


def _words(chance: random.Random, count: str = "3") -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(int(count)))


def _sentence(chance: random.Random, count: str = "6") -> str:
    return f"{_words(chance, count).capitalize()}."


# Without the sign _ and in lower case, as datafaker compares names.
INVENTED: dict[str, Invented] = {
    "address.city": _from(_CITIES),
    "address.country": _from(_COUNTRIES),
    "address.countrycode": lambda chance: chance.choice(_COUNTRY_CODES).upper(),
    "address.fulladdress": lambda chance: (
        f"{chance.randint(1, 99)} {chance.choice(_STREETS)} Street, {chance.choice(_CITIES)}"
    ),
    "address.latitude": lambda chance: _double(chance, "6", "-90", "90"),
    "address.longitude": lambda chance: _double(chance, "6", "-180", "180"),
    "address.state": _from(_STATES),
    "address.streetaddress": lambda chance: f"{chance.randint(1, 99)} {chance.choice(_STREETS)} Street",
    "address.streetname": lambda chance: f"{chance.choice(_STREETS)} Street",
    "address.zipcode": _of_pattern(r"\d{5}"),
    "animal.name": _from(_ANIMALS),
    "bool.bool": _from(("true", "false")),
    "bothify": _filled,
    "code.isbn10": _of_pattern(r"\d{10}"),
    "code.isbn13": _of_pattern(r"978\d{10}"),
    "color.name": _from(_COLORS),
    "commerce.department": _from(_DEPARTMENTS),
    "commerce.material": _from(_MATERIALS),
    "commerce.price": lambda chance, least="0", most="100": _double(chance, "2", least, most),
    "commerce.productname": lambda chance: f"{chance.choice(_MATERIALS)} {chance.choice(_PRODUCTS)}",
    "company.name": lambda chance: f"{chance.choice(_LAST)} and {chance.choice(_LAST)}",
    "country.countrycode2": _from(_COUNTRY_CODES),
    "country.name": _from(_COUNTRIES),
    "currency.code": _from(_CURRENCIES),
    "date.between": _between_times,
    "date.birthday": _birthday,
    "date.future": _future,
    "date.past": _past,
    "finance.creditcard": _of_pattern(r"4\d{3}-\d{4}-\d{4}-\d{4}"),
    "finance.iban": _of_pattern(r"DE\d{20}"),
    "idnumber.valid": _of_pattern(r"\d{3}-\d{2}-\d{4}"),
    "internet.domainname": lambda chance: f"{chance.choice(_WORDS)}.example",
    "internet.emailaddress": lambda chance: f"{_user_name(chance)}@mail.example",
    "internet.ipv4address": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    "internet.ipv6address": _of_pattern("([0-9a-f]{4}:){7}[0-9a-f]{4}"),
    "internet.macaddress": _of_pattern("([0-9a-f]{2}:){5}[0-9a-f]{2}"),
    "internet.publicipv4address": lambda chance: ".".join(str(chance.randint(11, 126)) for _ in range(4)),
    "internet.url": lambda chance: f"www.{chance.choice(_WORDS)}.example",
    "internet.useragentany": _from(_AGENTS),
    "internet.uuid": lambda chance: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
    "job.title": _from(_JOBS),
    "letterify": lambda chance, text: _filled(chance, text, digits=False),
    "lorem.characters": lambda chance, count="255": "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=int(count))),
    "lorem.paragraph": lambda chance: " ".join(_sentence(chance) for _ in range(3)),
    "lorem.sentence": _sentence,
    "lorem.word": _from(_WORDS),
    "lorem.words": _words,
    "name.firstname": _from(_FIRST),
    "name.fullname": _full_name,
    "name.lastname": _from(_LAST),
    "name.name": _full_name,
    "name.prefix": _from(("Dr.", "Mr.", "Mrs.", "Ms.")),
    "name.title": _from(_JOBS),
    "name.username": _user_name,
    "number.digit": lambda chance: _between(chance, "0", "10"),
    "number.digits": _digits,
    "number.numberbetween": _between,
    "number.positive": lambda chance: _between(chance, "1", str((1 << 31) - 1)),
    "number.randomdigit": lambda chance: _between(chance, "0", "10"),
    "number.randomdouble": _double,
    "number.randomnumber": _digits,
    "numerify": lambda chance, text: _filled(chance, text, letters=False),
    "options.option": lambda chance, *options: chance.choice(options),
    "phonenumber.cellphone": _of_pattern(r"\d{3}-\d{3}-\d{4}"),
    "phonenumber.phonenumber": _of_pattern(r"\d{3}-\d{3}-\d{4}"),
    "superhero.name": lambda chance: f"Captain {chance.choice(_ANIMALS).capitalize()}",
}
