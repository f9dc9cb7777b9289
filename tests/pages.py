"""What tests read of a page in HTML."""

from html.parser import HTMLParser

ALONE = ("meta", "img", "link")  # elements that close themselves


class Page(HTMLParser):
    """A page whose elements all close.

    Attributes:
        addresses: what it loads or leads to. loaded: those of them that a browser loads. ids, texts: of all elements.
        tables: the texts of their cells, row by row.
    """

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.loaded, self.texts, self.ids = [], [], [], [], []
        self.tables, self.cell = [], False
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        found = [told[name] for name in ("src", "href", "xlink:href") if name in told]
        self.addresses += found
        self.loaded += found if tag not in ("a", "use") else []
        self.ids += [told["id"]] if "id" in told else []
        if tag not in ALONE:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = True
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.cell = self.cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.texts.append(data)
        if self.cell:
            self.tables[-1][-1][-1] += data
