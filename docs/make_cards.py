"""The picture of the benchmark's page: the score of each card beside the longest wait that its policy leaves."""

from pathlib import Path

from hdeeprm_like.results.pictures import picture
from hdeeprm_like.studies.benchmark.page import label_of, read_card

CARDS = Path(__file__).parent / "cards"


def write_cards(path: Path) -> None:
    """Draw the cards that have come so far and were played in all cases, the best on top."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = []
    for card in map(read_card, sorted(CARDS.glob("*.json"))):
        own, score = [one["name"] for one in card["policies"]], card["score"]["fixed"]
        if score["played"] == score["cases"]:
            waits = [one["wait_max"] for case in card["cases"] for one in case["summary"] if one["policy"] in own]
            found.append((score["mean"], max(waits) / 86400.0, label_of(card)))
    scores, days, names = zip(*sorted(found), strict=True)
    with picture(path, width=9.0, height=4.0) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(names, scores)
        left.set_xlabel("score")
        right.barh(names, days)
        right.set_xlabel("longest wait (days)")
