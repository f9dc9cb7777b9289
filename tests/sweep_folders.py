"""What a sweep leaves in its folder."""

import json


def lines_in(folder):
    files = sorted((folder / "results").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_bytes().split(b"\n")[:-1]]


def without_seconds(path):
    rows = [line.split(",") for line in path.read_text().splitlines()]
    place = rows[0].index("seconds")
    return [row[:place] + row[place + 1 :] for row in rows]
