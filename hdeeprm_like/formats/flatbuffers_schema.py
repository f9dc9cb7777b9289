"""Reader of schemas of FlatBuffers: which fields the tables of a binary message have, and how they are numbered.

Known are tables, unions of tables, enums, scalars, texts and lists of these, with defaults, ``required`` and ``id``;
structs, included files and services are refused. `flatbuffers_message` reads and writes messages by a schema.

Source: FlatBuffers' description of its schema language.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import shown

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*|[-+.\d][\w.+-]*|[{}()\[\]:;,=])', re.S)
SCALARS = {  # name in a schema: code of `struct`
    **{"bool": "?", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q"},
    **{"ulong": "Q", "float": "f", "double": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H"},
    **{"int32": "i", "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"},
}
MOST_FIELDS = 8000  # of a table, whose places are 16-bit numbers
NONE = "NONE"  # the member of each union that stands for no table

Value: TypeAlias = "bool | int | float | None"


@dataclass(frozen=True)
class Enum:
    """Names of the values of an enum, or of the tables of a union; *code* is the one of `struct`."""

    code: str
    numbers: Mapping[str, int]

    def name(self, number: int) -> str | None:
        """Return the name of a value, None if it has none."""
        return next((name for name, value in self.numbers.items() if value == number), None)


@dataclass(frozen=True)
class Kind:
    """The type of a field; exactly one of *code*, *table*, *union* and *item* is set, or none for a text.

    Attributes:
        code: of `struct`, of a scalar. enum: its names, None for a number.
        table, union: the name of one. item: the type of a list's entries.
    """

    code: str = ""
    enum: Enum | None = None
    table: str = ""
    union: str = ""
    item: "Kind | None" = None


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Attributes:
        slot: its number; the type of a union has the number before.
        default: of a scalar, None if it is absent without a value.
    """

    name: str
    kind: Kind
    slot: int
    default: Value = None
    required: bool = False


@dataclass
class Schema:
    """The tables of a schema.

    Attributes:
        where: its file, for messages. root: name of the table of a whole message.
        tables: the fields of each table, by name. unions: the tables of each, by number.
    """

    where: str
    root: str = ""
    tables: dict[str, dict[str, Field]] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    unions: dict[str, tuple[Enum, dict[int, str]]] = field(default_factory=dict)


def read_schema(path: Path) -> Schema:
    """Read a schema.

    Raises:
        OptionsError: it cannot be read, is invalid or has something unknown.
    """
    found = _Parser(_words(read_text(path, OptionsError), str(path)), str(path)).schema()
    for table, fields in found.tables.items():
        found.tables[table] = _resolved(found, table, fields)
    if found.root not in found.tables:
        raise OptionsError(f"{path}: root_type {shown(found.root)} is no table")
    for union, (_, members) in found.unions.items():
        for member in members.values():
            if member not in found.tables:
                raise OptionsError(f"{path}: {union}: {shown(member)} is no table")
    return found


def _words(text: str, where: str) -> list[str]:
    words, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            line = text.count("\n", 0, place) + 1
            raise OptionsError(f"{where}:{line}: {shown(text[place : place + 20])} is not part of a schema")
        if found.group(1):
            words.append(found.group(1))
        place = found.end()
    return words


def _resolved(schema: Schema, table: str, fields: dict[str, Field]) -> dict[str, Field]:
    """Return the fields of a table with the meanings of the names of their types, numbered unless they are."""
    resolved: dict[str, Field] = {}
    following, numbers = 0, set[int]()
    for name, one in fields.items():
        kind = _meaning(schema, one.kind, f"{schema.where}: {table}.{name}")
        slot = one.slot if one.slot >= 0 else following + (1 if kind.union else 0)
        own = {slot, slot - 1} if kind.union else {slot}
        if own & numbers or min(own) < 0 or slot >= MOST_FIELDS:
            raise OptionsError(
                f"{schema.where}: {table}.{name}: its number is {slot}; fields need different ones, from 0 (a union, "
                f"which has two, from 1) to {MOST_FIELDS - 1}"
            )
        numbers |= own
        following = max(following, slot + 1)
        default = one.default
        if isinstance(default, str):
            default = _default(kind, default, f"{schema.where}: {table}.{name}")
        resolved[name] = replace(one, kind=kind, slot=slot, default=default)
    return resolved


def _meaning(schema: Schema, kind: Kind, where: str) -> Kind:
    if kind.item is not None:
        item = _meaning(schema, kind.item, where)
        if item.union:
            raise OptionsError(f"{where}: a list of unions is not known")
        return Kind(item=item)
    name = kind.table
    if name in SCALARS:
        return Kind(code=SCALARS[name])
    if name == "string":
        return Kind()
    name = name.rpartition(".")[2]
    if name in schema.enums:
        return Kind(code=schema.enums[name].code, enum=schema.enums[name])
    if name in schema.unions:
        return Kind(union=name)
    if name not in schema.tables:
        raise OptionsError(f"{where}: there is no type {shown(name)}")
    return Kind(table=name)


def _default(kind: Kind, text: str, where: str) -> Value:
    """Return a field's default; *text* is empty if there is none in the schema."""
    if text == "null" or not kind.code:
        return None
    if kind.enum is not None and text in kind.enum.numbers:
        return kind.enum.numbers[text]
    if not text and kind.enum is not None and 0 not in kind.enum.numbers.values():
        return min(kind.enum.numbers.values())
    try:
        if kind.code == "?":
            return {"": False, "false": False, "true": True, "0": False, "1": True}[text]
        return float(text or 0) if kind.code in "fd" else int(text or "0", 0)
    except (KeyError, ValueError):
        raise OptionsError(f"{where}: default {shown(text)} is no value of its type") from None


class _Parser:
    """The declarations of a list of words, read from its beginning."""

    def __init__(self, words: list[str], where: str) -> None:
        self._words, self._where, self._at = words, where, 0

    def schema(self) -> Schema:
        schema = Schema(self._where)
        while self._at < len(self._words):
            word = self._next()
            if word == "table":
                name = self._new(schema)
                self._skip_attributes()
                schema.tables[name] = self._fields()
            elif word == "enum":
                name = self._new(schema)
                self._expect(":")
                code = SCALARS.get(self._next(), "")
                if not code or code in "?fd":
                    raise self._wrong(f"enum {name} needs a type of whole numbers")
                schema.enums[name] = Enum(code, dict(self._members(0)))
            elif word == "union":
                name = self._new(schema)
                schema.unions[name] = self._union()
            elif word == "root_type":
                schema.root = self._next().rpartition(".")[2]
                self._expect(";")
            elif word in ("namespace", "attribute", "file_identifier", "file_extension"):
                self._next()
                self._expect(";")
            else:
                raise self._wrong(f"{shown(word)} is not known here")
        return schema

    def _union(self) -> tuple[Enum, dict[int, str]]:
        tables: dict[int, str] = {}
        numbers = {NONE: 0} | dict(self._members(1, tables))
        return Enum("B", numbers), tables

    def _members(self, first: int, tables: dict[int, str] | None = None) -> list[tuple[str, int]]:
        """Return the names between two braces with their numbers; *tables* receives the table of each."""
        self._skip_attributes()
        self._expect("{")
        found: list[tuple[str, int]] = []
        while not self._is("}"):
            name = table = self._next()
            if self._is(":"):
                table = self._next()
            number = self._whole(self._next()) if self._is("=") else first
            first = number + 1
            found.append((name.rpartition(".")[2], number))
            if tables is not None:
                tables[number] = table.rpartition(".")[2]
            if not self._is(","):
                self._expect("}")
                break
        return found

    def _fields(self) -> dict[str, Field]:
        self._expect("{")
        found: dict[str, Field] = {}
        while not self._is("}"):
            name = self._next()
            self._expect(":")
            kind = self._type()
            default = self._next() if self._is("=") else ""
            attributes = self._skip_attributes()
            self._expect(";")
            slot = self._whole(attributes["id"]) if "id" in attributes else -1
            if name in found or ("id" in attributes and slot < 0):
                raise self._wrong(f"{shown(name)} is there twice" if name in found else f"{name}: its id is {slot}")
            found[name] = Field(name, kind, slot, default, "required" in attributes)  # type: ignore[arg-type]
        return found

    def _type(self) -> Kind:
        if not self._is("["):
            return Kind(table=self._next())
        if self._is("["):
            raise self._wrong("a list of lists is not known")
        item = Kind(table=self._next())
        self._expect("]")
        return Kind(item=item)

    def _new(self, schema: Schema) -> str:
        """Take the name of a declaration, which no other one may have; namespaces are left out."""
        name = self._next()
        if name in schema.tables or name in schema.enums or name in schema.unions:
            raise self._wrong(f"{shown(name)} is declared twice")
        return name

    def _whole(self, word: str) -> int:
        try:
            return int(word, 0)
        except ValueError:
            raise self._wrong(f"{shown(word)} is no whole number") from None

    def _skip_attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self._is("("):
            while not self._is(")"):
                name = self._next()
                found[name] = self._next() if self._is(":") else ""
                self._is(",")
        return found

    def _is(self, word: str) -> bool:
        """Take a word if it comes next."""
        if self._at < len(self._words) and self._words[self._at] == word:
            self._at += 1
            return True
        return False

    def _next(self) -> str:
        if self._at == len(self._words):
            raise self._wrong("ends too early")
        self._at += 1
        return self._words[self._at - 1]

    def _expect(self, word: str) -> None:
        if not self._is(word):
            raise self._wrong(f"{word!r} is needed before {shown(' '.join(self._words[self._at : self._at + 3]))}")

    def _wrong(self, what: str) -> OptionsError:
        return OptionsError(f"{self._where}: {what}")
