"""Decodes Server-Sent Events: bytes, cut anywhere, into what the events hold.

Source:
    https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from codecs import BOM_UTF8


class EventDecoder:
    """Takes a stream packet by packet; each byte is looked at once, however it is cut.

    What an unfinished event holds when a stream ends is never told.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The parts of a line that has not ended."""
        self._data: list[bytes] = []
        """The lines of an event that has not ended."""
        self._after_return = False
        """Whether the last packet ended in CR: an LF that follows belongs to it."""
        self._begun = False
        """Whether a line has ended."""

    def feed(self, packet: bytes) -> list[str]:
        r"""Return the data of the events that end in this packet, in their order.

        Raises:
            UnicodeDecodeError: An event is no UTF-8.

        >>> decoder = EventDecoder()
        >>> decoder.feed(b": hello\n\ndata: on"), decoder.feed(b"e\r"), decoder.feed(b"\n\r\n")
        ([], [], ['one'])
        """
        events: list[str] = []
        for line in self._lines(packet):
            if line:
                self._take(line)
            elif self._data:
                events.append(b"\n".join(self._data).decode())
                self._data.clear()
        return events

    def _lines(self, packet: bytes) -> list[bytes]:
        """Return the lines that end in this packet."""
        if not packet:
            return []
        if self._after_return and packet.startswith(b"\n"):
            packet = packet[1:]
        self._after_return = packet.endswith(b"\r")
        lines = packet.splitlines()  # of bytes: at LF, CRLF and CR alone
        rest = b"" if packet.endswith((b"\n", b"\r")) or not lines else lines.pop()
        if lines:
            lines[0] = b"".join((*self._line, lines[0]))
            self._line.clear()
            if not self._begun:
                lines[0] = lines[0].removeprefix(BOM_UTF8)
                self._begun = True
        if rest:
            self._line.append(rest)
        return lines

    def _take(self, line: bytes) -> None:
        """Keep a line of data; comments and other fields are of no use here."""
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
