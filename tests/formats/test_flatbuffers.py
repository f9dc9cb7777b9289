"""Binary messages by a schema: as `flatc` writes and reads them, and one line for what is none."""

import contextlib
import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.formats.flatbuffers_message import read_message, write_message
from hdeeprm_like.formats.flatbuffers_schema import read_schema

HERE = Path(__file__).parent.parent
FILE = HERE / "batsim5.fbs"
SCHEMA = read_schema(FILE)
FLATC = shutil.which("flatc")
SMALL = """
enum Colour : byte { Red = 1, Green }
table Point { x: double; y: double = 2.5; }
table Line { points: [Point]; }
union Shape { Point, Line }
table Drawing { name: string (required); colour: Colour = Green; shape: Shape; weight: ushort; sizes: [int]; }
root_type Drawing;
"""


def schema_of(folder, text):
    path = folder / "s.fbs"
    path.write_text(text)
    return read_schema(path)


def recorded():
    """All messages of the recorded conversations, in JSON."""
    found = []
    for path in sorted((HERE / "golden" / "batsim5").glob("*/transcript.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found += [json.loads(line["raw"]) for line in lines if "hex" not in line]
    return found


def without_null(value):
    if isinstance(value, dict):
        return {key: without_null(part) for key, part in value.items() if part is not None}
    return [without_null(part) for part in value] if isinstance(value, list) else value


def test_recorded_messages_come_back_from_bytes_as_they_were():
    messages = recorded()
    assert len(messages) > 400
    for message in messages:
        back = read_message(SCHEMA, write_message(SCHEMA, message, "m"), "m")
        assert {**back, "events": without_defaults(back, message)} == without_null(message)


def without_defaults(back, message):
    """The events that came back; those of a scheduler may have left out fields, which then have their defaults."""
    pairs = zip(back["events"], message["events"], strict=True)
    return [only(event, without_null(original)) for event, original in pairs]


def only(value, like):
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: only(part, like[key]) for key, part in value.items() if key in like}
    if isinstance(value, list) and isinstance(like, list):
        return [only(part, other) for part, other in zip(value, like, strict=True)]
    return value


@pytest.mark.skipif(FLATC is None, reason="FlatBuffers' compiler is not here")
def test_flatc_reads_what_we_write_and_writes_what_we_read(tmp_path):
    messages = recorded()[::7]
    ours = [write_message(SCHEMA, message, "m") for message in messages]
    read = [read_message(SCHEMA, raw, "m") for raw in ours]
    for number, (raw, message) in enumerate(zip(ours, read, strict=True)):
        (tmp_path / f"a{number}.bin").write_bytes(raw)
        (tmp_path / f"b{number}.json").write_text(json.dumps(message))
    flatc = [FLATC, "-o", f"{tmp_path}/", "--strict-json", "--defaults-json", "--raw-binary"]
    names = [str(tmp_path / f"a{number}.bin") for number in range(len(ours))]
    subprocess.run([*flatc, "--json", str(FILE), "--", *names], check=True)
    names = [str(tmp_path / f"b{number}.json") for number in range(len(ours))]
    subprocess.run([*flatc, "--binary", str(FILE), *names], check=True)
    for number, message in enumerate(read):
        assert without_null(json.loads((tmp_path / f"a{number}.json").read_text())) == message
        assert read_message(SCHEMA, (tmp_path / f"b{number}.bin").read_bytes(), "m") == message


def test_a_table_of_three_fields_is_these_bytes(tmp_path):
    schema = schema_of(tmp_path, "table T { a: uint8; b: string; c: double; } root_type T;")
    raw = write_message(schema, {"a": 7, "b": "hi", "c": 1.5}, "m")
    place = struct.unpack_from("<I", raw)[0]
    fields = place - struct.unpack_from("<i", raw, place)[0]
    assert struct.unpack_from("<5H", raw, fields) == (10, 17, 16, 12, 4)  # sizes, then where a, b and c are
    assert struct.unpack_from("<d", raw, place + 4) == (1.5,)
    assert raw[place + 16] == 7
    text = place + 12 + struct.unpack_from("<I", raw, place + 12)[0]
    assert raw[text : text + 7] == b"\2\0\0\0hi\0"
    assert (place + 4) % 8 == 0  # where eight bytes may stand


def test_defaults_enums_unions_and_lists(tmp_path):
    schema = schema_of(tmp_path, SMALL)
    content = {"name": "a", "shape_type": "Line", "shape": {"points": [{"x": 1.0}, {"x": 2.0, "y": 3.0}]}}
    back = read_message(schema, write_message(schema, {**content, "sizes": [-1, 2]}, "m"), "m")
    points = [{"x": 1.0, "y": 2.5}, {"x": 2.0, "y": 3.0}]
    line = {"shape_type": "Line", "shape": {"points": points}}
    assert back == {"name": "a", "colour": "Green", **line, "weight": 0, "sizes": [-1, 2]}
    red = write_message(schema, {"name": "a", "colour": "Red"}, "m")
    assert read_message(schema, red, "m")["colour"] == "Red"
    assert len(write_message(schema, {"name": "a", "colour": "Green"}, "m")) < len(red)  # a default takes no room


def test_fields_are_numbered_by_their_ids_where_a_schema_says_so(tmp_path):
    plain = schema_of(tmp_path, "table T { a: int; b: int; } root_type T;")
    numbered = schema_of(tmp_path, "table T { b: int (id: 1); a: int (id: 0); } root_type T;")
    content = {"a": 1, "b": 2}
    assert read_message(numbered, write_message(plain, content, "m"), "m") == content


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ({}, "Drawing needs name"),
        ({"name": "a", "pen": 1}, "Drawing has no field 'pen'; it is of another version of the protocol"),
        ({"name": "a", "shape_type": "Circle", "shape": {}}, "Shape has no 'Circle'"),
        ({"name": "a", "colour": "Blue"}, "colour: 'Blue' is not known"),
        ({"name": 3}, "Drawing: 3 is no text"),
        ({"name": "\ud800"}, "is no text"),
        ({"name": "a", "sizes": 3}, "Drawing: 3 is no list"),
        ({"name": "a", "shape_type": [], "shape": {}}, "Shape has no"),
        ({"name": "a", "weight": -1}, "-1 is no number of the type of its field"),
        ({"name": "a", "shape_type": "Line", "shape": {"points": [3]}}, "Point is 3; an object is needed"),
    ],
)
def test_what_a_schema_does_not_know_is_one_line(content, hint, tmp_path):
    with pytest.raises(ProtocolError, match=hint) as error:
        write_message(schema_of(tmp_path, SMALL), content, "message")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("table T { a: int }", "';' is needed before '}'"),
        ("table T { a: Unknown; } root_type T;", "T.a: there is no type 'Unknown'"),
        ("table T { a: int = x; } root_type T;", "T.a: default 'x' is no value of its type"),
        ("table T { a: [[int]]; } root_type T;", "a list of lists"),
        ("struct S { a: int; }", "'struct' is not known here"),
        ("enum E : float { A }", "enum E needs a type of whole numbers"),
        ("table T { a: " + "[" * 3000, "a list of lists"),
        ("enum E : int { A = b }", "'b' is no whole number"),
        ("table T { a: int (id: b); }", "'b' is no whole number"),
        ("table T { a: int (id: -1); }", "a: its id is -1"),
        ("table T { a: int (id: 99999999); } root_type T;", "T.a: its number is 99999999"),
        ("table T { a: int (id: 1); b: int (id: 1); } root_type T;", "T.b: its number is 1"),
        ("table T { a: U (id: 0); } union U { T } root_type T;", "T.a: its number is 0"),
        (f"table T {{ {' '.join(f'a{n}: double;' for n in range(8001))} }} root_type T;", "its number is 8000"),
        ("table T { a: int; a: long; }", "'a' is there twice"),
        ("table T { } enum T : int { A }", "'T' is declared twice"),
        ("table T { a: U; } union U { V } root_type T;", "U: 'V' is no table"),
        ("table T {", "ends too early"),
        ("table T { } root_type U;", "root_type 'U' is no table"),
        ("table T { a: int; } ?", "s.fbs:1: '\\?' is not part of a schema"),
    ],
)
def test_a_schema_that_is_none_is_one_line(text, hint, tmp_path):
    with pytest.raises(OptionsError, match=hint) as error:
        schema_of(tmp_path, text)
    assert "\n" not in str(error.value)


EXAMPLE = write_message(SCHEMA, next(message for message in recorded() if len(message["events"]) > 2), "m")


@given(st.data())
def test_a_damaged_message_is_read_or_refused(data):
    raw = bytearray(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    with contextlib.suppress(ProtocolError):
        read_message(SCHEMA, raw, "m")


def doubled(levels):
    """A message of a table whose list names one table twice, whose list names one table twice, and so on."""
    raw = struct.pack("<I", 12)  # distance to the first table, behind its list of fields
    for level in range(levels):
        last = level == levels - 1
        raw += struct.pack("<4H", 6, 8, 4, 0) + struct.pack("<iI", 8, 4)  # list of fields, table
        raw += struct.pack("<3I", *((0, 0, 0) if last else (2, 20, 16))) + bytes(4)  # its list
    return raw


def test_a_message_that_refers_to_one_part_again_and_again_is_refused(tmp_path):
    schema = schema_of(tmp_path, "table T { parts: [T]; } root_type T;")
    assert read_message(schema, doubled(3), "m") == {"parts": [{"parts": [{"parts": []}] * 2}] * 2}
    with pytest.raises(ProtocolError, match="again and again"):
        read_message(schema, doubled(40), "m")
    inner = {"parts": []}
    for _ in range(70):
        inner = {"parts": [inner]}
    with pytest.raises(ProtocolError, match="nested too deeply"):
        write_message(schema, inner, "m")


def test_many_references_to_one_long_text_are_refused(tmp_path):
    """Ten references to 4,000 bytes, and 1,900 of them: what a message holds is limited by its size."""
    schema = schema_of(tmp_path, "table T { texts: [string]; } root_type T;")
    for references in (10, 1900):
        raw = struct.pack("<I", 12) + struct.pack("<4H", 6, 8, 4, 0) + struct.pack("<iI", 8, 4)
        raw += struct.pack("<I", references)
        raw += b"".join(struct.pack("<I", 4 * (references - at)) for at in range(references))
        raw += struct.pack("<I", 4000) + b"x" * 4001
        if references == 10:
            assert read_message(schema, raw, "m") == {"texts": ["x" * 4000] * 10}
        else:
            with pytest.raises(ProtocolError, match="again and again"):
                read_message(schema, raw, "m")
