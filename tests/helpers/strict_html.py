"""Reads an HTML page, and fails at what a browser would mend in silence."""

from __future__ import annotations

from html.parser import HTMLParser

_EMPTY = {"meta", "br", "hr", "img", "link", "input", "path"}
_ADDRESSES = {"src", "href", "action", "srcset", "data", "poster", "xlink:href", "formaction"}


class StrictPage(HTMLParser):
    """The tags, texts and attributes of a page whose tags are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> without a beginning"
        assert self._open.pop() == tag, f"</{tag}> in {self._open}"

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All text outside of tags."""
        return " ".join(self.texts)

    def check_harmless(self) -> None:
        """Fail if the page could run anything, or fetch anything."""
        assert not set(self.tags) & {"script", "iframe", "object", "embed", "link", "img", "base"}
        for name, value in self.attributes:
            assert not name.startswith("on"), name
            assert name not in _ADDRESSES, (name, value)
            if name == "style":
                assert "url" not in value and "<" not in value
        assert ("http-equiv", "Content-Security-Policy") in self.attributes
        assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in self.attributes
