"""Seeded changes to good inputs: of bytes, of lines and words, of what JSON holds."""

import copy
import json

ODD_NUMBERS = [
    0, -1, 1, 2, 0.5, -0.0, 1e-308, 1e308, -1e308, 1e30, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, 10**30, 10**400, 1e12,
]  # fmt: skip
ODD_TEXTS = [
    "", " ", "\0", "\n", "nan", "inf", "-inf", "null", "true", "../..", "/etc/passwd", "/dev/zero", "x" * 5000, "é",
    "\u202e", "\ud800", "%s%n", "{}", "a,b", "a;b", "w0!1", "1_000", "0x10", "1e999", "٣", "learned:x.py", "own.py:x",
]  # fmt: skip
ODD_VALUES = [None, True, False, [], {}, [[]], [{}], {"": ""}, *ODD_NUMBERS, *ODD_TEXTS]
ODD_BYTES = [b"\0", b"\xff\xfe", b"\r", b"\n\n", b"\x1f\x8b", b"<", b"&", b"]]>", b"\xef\xbb\xbf", b"\x1a", b'"', b"'"]


def changed_bytes(rng, data, most=30):
    """Return bytes with some of them flipped, gone, doubled or strange."""
    found = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if not found:
            break
        at, kind = rng.randrange(len(found)), rng.randrange(5)
        if kind == 0:
            found[at] = rng.randrange(256)
        elif kind == 1:
            del found[at : at + rng.randint(1, 40)]
        elif kind == 2:
            found[at:at] = rng.choice(ODD_BYTES)
        elif kind == 3:
            found[at:at] = found[at : at + rng.randint(1, 200)]
        elif rng.random() < 0.2:
            del found[at:]
    return bytes(found)


def changed_text(rng, text, comma=" "):
    """Return a table with words, lines and single characters changed."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 4)):
        at, kind = rng.randrange(len(lines)), rng.randrange(6)
        words = lines[at].split(comma)
        word = rng.randrange(len(words))
        if kind == 0:
            words[word] = odd_word(rng)
        elif kind == 1:
            words.insert(word, odd_word(rng))
        elif kind == 2:
            del words[word]
        elif kind == 3:
            lines.insert(at, rng.choice(lines))
        elif kind == 4:
            del words[:]
        else:
            words = [changed_bytes(rng, lines[at].encode(errors="surrogatepass"), 2).decode(errors="replace")]
        lines[at] = comma.join(words)
    return "\n".join(lines)


def odd_word(rng):
    """Return a number or a text that nobody expects."""
    if rng.random() < 0.7:
        number = rng.choice(ODD_NUMBERS)
        return str(-number if rng.random() < 0.3 else number)
    return rng.choice(ODD_TEXTS)


def changed_json(rng, content):
    """Return JSON content with some of its values changed, gone, doubled or put elsewhere."""
    found = copy.deepcopy(content)
    for _ in range(rng.randint(1, 3)):
        places = list(places_in(found))
        if not places:
            return rng.choice(ODD_VALUES)
        container, key = rng.choice(places)
        kind = rng.randrange(8)
        if kind >= 6 and isinstance(container[key], int | float) and not isinstance(container[key], bool):
            container[key] = rng.choice([1, 2, 3, 0.25, 7.5, 40])  # may well be accepted
        elif kind <= 2 or kind >= 6:
            container[key] = copy.deepcopy(rng.choice(ODD_VALUES))
        elif kind == 3:
            del container[key]
        elif kind == 4:
            container[key] = copy.deepcopy(rng.choice(places)[0])
        elif isinstance(container, dict):
            container[rng.choice(ODD_TEXTS)] = container[key]
        else:
            container.append(copy.deepcopy(container[key]))
    return found


def places_in(content):
    """Yield container and key of every value of JSON content."""
    keys = content.keys() if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield content, key
        yield from places_in(content[key])


def json_bytes(rng, content):
    """Return changed JSON as the bytes of a file; sometimes these are changed too."""
    text = json.dumps(changed_json(rng, content), ensure_ascii=rng.random() < 0.5)
    data = text.encode("utf-8", "surrogatepass")
    return changed_bytes(rng, data, 3) if rng.random() < 0.3 else data


def put(path, text):
    """Write a text that may hold half a surrogate pair; return its path."""
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


def copy_of_run(rng, source, folder, changed, commas=(",",)):
    """Copy the files of a run, one of them changed as its kind allows."""
    for path in sorted(source.iterdir()):
        data = path.read_bytes()
        if path == changed and path.suffix == ".csv":
            data = changed_text(rng, data.decode(), rng.choice(commas)).encode("utf-8", "surrogatepass")
        elif path == changed:
            data = json_bytes(rng, json.loads(data)) if path.suffix == ".json" else changed_bytes(rng, data)
        (folder / path.name).write_bytes(data)
