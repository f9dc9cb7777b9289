"""Messages in FlatBuffers' binary form, read and written by a schema, as the dictionaries of the same message in JSON.

As in the JSON of FlatBuffers, a union is two keys, ``event_type`` with the name of a table and ``event`` with its
content, enums are names, and fields without a value are left out of a message, scalars with a default excepted.

| part | bytes |
|---|---|
| table | distance back to its list of fields (i32), then its scalars, and distances (u32) to its other fields |
| list of fields | its own size, the table's size, place of each field in the table or 0 (u16 each) |
| list, text | length (u32), then the entries, or UTF-8 and a zero |

Source: FlatBuffers' description of its binary form.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.flatbuffers_schema import NONE, Enum, Field, Kind, Schema
from hdeeprm_like.values import shown

DEEPEST = 64  # tables in one another
OFFSET = "I"  # code of a distance
SHARED = 16  # a message may refer to its parts more than once, but not hold more than so many times its bytes


def read_message(schema: Schema, raw: bytes, where: str) -> dict[str, Any]:
    """Return the content of a message.

    Raises:
        ProtocolError: it is no message of the schema; *where* names it.
    """
    return _Reader(schema, raw, where).message()


def write_message(schema: Schema, content: Mapping[str, Any], where: str) -> bytes:
    """Return a message as bytes.

    Raises:
        ProtocolError: the schema does not know its content.
    """
    return _Writer(schema, where).message(content)


class _Reader:
    """Reads one message; each place is checked, and what it holds is limited by its size."""

    def __init__(self, schema: Schema, raw: bytes, where: str) -> None:
        self._schema, self._raw, self._where = schema, raw, where
        self._left = SHARED * len(raw)  # parts, entries and letters that may still be read

    def message(self) -> dict[str, Any]:
        return self._table(self._schema.root, self._follow(0), 0)

    def _get(self, code: str, place: int) -> Any:
        if place < 0 or place + struct.calcsize(f"<{code}") > len(self._raw):
            raise self._wrong("is cut off, or refers to a place outside of it")
        return struct.unpack_from(f"<{code}", self._raw, place)[0]

    def _follow(self, place: int) -> int:
        return int(place + self._get(OFFSET, place))

    def _wrong(self, what: str) -> ProtocolError:
        return ProtocolError(f"{self._where}: no message of {self._schema.where}: {what}")

    def _table(self, name: str, place: int, depth: int) -> dict[str, Any]:
        self._count(1, depth)
        fields = place - self._get("i", place)
        size = self._get("H", fields)
        content: dict[str, Any] = {}
        for field in self._schema.tables[name].values():
            found = self._place(fields, size, place, field.slot)
            if field.kind.union:
                self._union(content, field, self._place(fields, size, place, field.slot - 1), found, depth)
            elif found:
                content[field.name] = self._value(field.kind, found, depth)
            elif field.required:
                raise self._wrong(f"{name} has no {field.name}")
            elif field.default is not None:
                content[field.name] = _named(field.kind.enum, field.default)
        return content

    def _place(self, fields: int, size: int, table: int, slot: int) -> int:
        """Return the place of a field, 0 if it is absent."""
        at = 4 + 2 * slot
        place = self._get("H", fields + at) if at + 2 <= size else 0
        return int(table + place) if place else 0

    def _union(self, content: dict[str, Any], field: Field, kind: int, place: int, depth: int) -> None:
        members, tables = self._schema.unions[field.kind.union]
        number = self._get("B", kind) if kind else 0
        if number == 0:
            return
        if number not in tables:
            raise self._wrong(f"{field.name}_type is {number}, which {field.kind.union} does not know")
        if not place:
            raise self._wrong(f"{field.name} is absent")
        content[f"{field.name}_type"] = members.name(number)
        content[field.name] = self._table(tables[number], self._follow(place), depth + 1)

    def _value(self, kind: Kind, place: int, depth: int) -> Any:
        if kind.code:
            return _named(kind.enum, self._get(kind.code, place))
        target = self._follow(place)
        if kind.table:
            return self._table(kind.table, target, depth + 1)
        length = self._get(OFFSET, target)
        if kind.item is None:
            return self._text(target + 4, length)
        size = struct.calcsize(f"<{kind.item.code or OFFSET}")
        if target + 4 + length * size > len(self._raw):
            raise self._wrong("a list is longer than it")
        self._count(length, depth)
        return [self._value(kind.item, target + 4 + size * at, depth) for at in range(length)]

    def _text(self, place: int, length: int) -> str:
        if place + length > len(self._raw):
            raise self._wrong("a text is longer than it")
        self._count(length + 1, 0)
        try:
            return self._raw[place : place + length].decode()
        except UnicodeDecodeError:
            raise self._wrong("a text is not UTF-8") from None

    def _count(self, parts: int, depth: int) -> None:
        self._left -= parts
        if self._left < 0 or depth > DEEPEST:
            raise self._wrong("refers to its own parts again and again")


def _named(enum: Enum | None, value: Any) -> Any:
    name = enum.name(value) if enum is not None else None
    return value if name is None else name


class _Writer:
    """Writes one message; a table comes before what it refers to, because distances are positive."""

    def __init__(self, schema: Schema, where: str) -> None:
        self._schema, self._where = schema, where
        self._bytes = bytearray(4)

    def message(self, content: Mapping[str, Any]) -> bytes:
        self._point(0, self._table(self._schema.root, content, 0))
        return bytes(self._bytes)

    def _wrong(self, what: str) -> ProtocolError:
        return ProtocolError(f"{self._where}: {self._schema.where}: {what}")

    def _point(self, place: int, target: int) -> None:
        struct.pack_into(f"<{OFFSET}", self._bytes, place, target - place)

    def _align(self, size: int, before: int = 0) -> int:
        """Return the next free place so that *before* bytes later a number of a size may stand."""
        self._bytes += bytes(-(len(self._bytes) + before) % size)
        return len(self._bytes)

    def _table(self, name: str, content: Mapping[str, Any], depth: int) -> int:
        """Append a table; return its place."""
        if depth > DEEPEST:
            raise self._wrong(f"{name}: nested too deeply")
        scalars, others = self._sorted(name, content)
        places: dict[int, int] = {}
        size = 4
        for slot, code in sorted(
            [*((slot, code) for slot, (code, _) in scalars.items()), *((slot, OFFSET) for slot in others)],
            key=lambda one: (-struct.calcsize(f"<{one[1]}"), one[0]),
        ):
            places[slot] = size
            size += struct.calcsize(f"<{code}")
        listed = 4 + 2 * (max(places, default=-1) + 1)
        fields = self._align(8, listed + 4)  # the first number after the distance may have eight bytes
        self._bytes += bytes(listed + size)
        place = fields + listed
        struct.pack_into("<HH", self._bytes, fields, listed, size)
        struct.pack_into("<i", self._bytes, place, listed)
        for slot, at in places.items():
            struct.pack_into("<H", self._bytes, fields + 4 + 2 * slot, at)
        for slot, (code, value) in scalars.items():
            self._put(code, place + places[slot], value, name)
        for slot, (kind, value) in others.items():
            self._point(place + places[slot], self._append(kind, value, f"{name}", depth))
        return place

    def _sorted(
        self, name: str, content: Mapping[str, Any]
    ) -> tuple[dict[int, tuple[str, Any]], dict[int, tuple[Kind, Any]]]:
        """Return the scalars of a table that are not at their default, and its other fields, by number."""
        if not isinstance(content, Mapping):
            raise self._wrong(f"{name} is {shown(content)}; an object is needed")
        scalars: dict[int, tuple[str, Any]] = {}
        others: dict[int, tuple[Kind, Any]] = {}
        known = set(content)
        for field in self._schema.tables[name].values():
            value = content.get(field.name)
            known -= {field.name, f"{field.name}_type"} if field.kind.union else {field.name}
            if value is None:
                if field.required:
                    raise self._wrong(f"{name} needs {field.name}")
            elif field.kind.union:
                number, table = self._member(field, content.get(f"{field.name}_type", NONE))
                scalars[field.slot - 1], others[field.slot] = ("B", number), (Kind(table=table), value)
            elif not field.kind.code:
                others[field.slot] = field.kind, value
            elif (number := self._number(field.kind, value, field.name)) != field.default:
                scalars[field.slot] = field.kind.code, number
        if known:
            raise self._wrong(f"{name} has no field {shown(min(known))}; it is of another version of the protocol")
        return scalars, others

    def _member(self, field: Field, name: Any) -> tuple[int, str]:
        members, tables = self._schema.unions[field.kind.union]
        number = members.numbers.get(name, 0) if isinstance(name, str) else 0
        if number == 0:
            raise self._wrong(f"{field.kind.union} has no {shown(name)}; it is of another version of the protocol")
        return number, tables[number]

    def _number(self, kind: Kind, value: Any, where: str) -> Any:
        if kind.enum is not None and isinstance(value, str):
            if value not in kind.enum.numbers:
                raise self._wrong(f"{where}: {shown(value)} is not known")
            return kind.enum.numbers[value]
        return value

    def _put(self, code: str, place: int, value: Any, where: str) -> None:
        try:
            struct.pack_into(f"<{code}", self._bytes, place, value)
        except (struct.error, OverflowError):
            raise self._wrong(f"{where}: {shown(value)} is no number of the type of its field") from None

    def _encoded(self, value: Any, where: str) -> bytes:
        try:
            if isinstance(value, str):
                return value.encode()
        except UnicodeEncodeError:
            pass  # half a pair of UTF-16
        raise self._wrong(f"{where}: {shown(value)} is no text")

    def _append(self, kind: Kind, value: Any, where: str, depth: int) -> int:
        """Append a table, a text or a list; return its place."""
        if kind.table:
            return self._table(kind.table, value, depth + 1)
        if kind.item is None:
            text = self._encoded(value, where)
            place = self._align(4)
            self._bytes += struct.pack("<I", len(text)) + text + b"\0"
            return place
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self._wrong(f"{where}: {shown(value)} is no list")
        code = kind.item.code or OFFSET
        size = struct.calcsize(f"<{code}")
        place = self._align(max(size, 4), 4)
        self._bytes += struct.pack("<I", len(value)) + bytes(size * len(value))
        for at, entry in enumerate(value):
            to = place + 4 + size * at
            if kind.item.code:
                self._put(code, to, self._number(kind.item, entry, where), where)
            else:
                self._point(to, self._append(kind.item, entry, where, depth))
        return place
