"""Messages that something was done to: cut, broken, huge, deep, of wrong types; by seed, so that each comes again."""

import json

RAW = {  # JSON that replaces a value as it stands
    "a huge number": "1" + "0" * 4000,
    "a number of 5000 digits": "1" + "0" * 5000,
    "infinity": "1e999",
    "a constant": "NaN",
    "minus": "-1",
    "minus a huge number": "-1" + "0" * 400,
    "nothing": "null",
    "true": "true",
    "a fraction": "0.1e-300",
    "the largest float": "1.7976931348623157e308",
    "2**63": "9223372036854775808",
    "a long text": '"' + "x" * 100_000 + '"',
    "half a pair": '"\\ud800"',
    "a zero byte": '"\\u0000"',
    "lines": '"a\\n\\r\\tb"',
    "a deep list": "[" * 100_000 + "]" * 100_000,
    "a rather deep list": "[" * 900 + "]" * 900,
    "a deep object": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a long list": "[" + "0," * 20_000 + "0]",
    "an empty list": "[]",
    "an empty object": "{}",
    "a text": '"0-3"',
    "all machines": '"0-99999999999999"',
    "an odd set": '"3-1 x"',
    "a digit of another script": '"\\u0663"',
}
PLACE = "@hostile@"


def places_of(content, path=()):
    """Yield the path of every value in a JSON document but the whole."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places_of(value, (*path, key))


def replaced(dice, text, times):
    """Return a document with values replaced, taken away or given another name."""
    content = json.loads(text)
    raws = []
    for _ in range(times):
        places = list(places_of(content))
        if not places:
            break
        *path, last = dice.choice(places)
        inner = content
        for key in path:
            inner = inner[key]
        how = dice.random()
        if how < 0.1:
            del inner[last]
        elif how < 0.2 and isinstance(inner, dict):
            inner[dice.choice(["", "id", "type", "\0", "now"])] = inner.pop(last)
        else:
            raws.append(dice.choice(list(RAW.values())))
            inner[last] = f"{PLACE}{len(raws) - 1}"
    written = json.dumps(content)
    for number, raw in reversed(list(enumerate(raws))):
        written = written.replace(f'"{PLACE}{number}"', raw)
    return written.encode("utf-8", "surrogatepass")


def mutated(dice, texts):
    """Return the place of one of some messages (bytes), and the parts that come in its place."""
    at = dice.randrange(len(texts))
    text = texts[at]
    how = dice.choice(
        ["cut", "noise", "flip", "value", "value", "value", "values", "other", "parts", "around", "events"]
    )
    if how == "cut":
        return at, [text[: dice.randrange(len(text))]]
    if how == "noise":
        return at, [dice.randbytes(dice.choice([0, 1, 10, 1000, 100_000]))]
    if how == "flip":
        broken = bytearray(text)
        for _ in range(dice.randint(1, 6)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        return at, [bytes(broken)]
    if how == "other":
        return at, [dice.choice(texts)]
    if how == "parts":
        middle = dice.randrange(len(text))
        return at, [[text[:middle], text[middle:]], [text, b""], [b"", text], [b"x"] * 50][dice.randrange(4)]
    if how == "around":
        return at, [
            dice.choice([b"\xef\xbb\xbf", b" " * 100_000, b"\0", b"[", b"\xff\xfe"]) + text + dice.choice([b"", b"}"])
        ]
    if how == "events":
        content = json.loads(text)
        content["events"] = dice.choices(content["events"], k=dice.choice([2, 50])) if content["events"] else [[]]
        return at, [json.dumps(content).encode()]
    return at, [replaced(dice, text, 1 if how == "value" else dice.randint(2, 8))]
