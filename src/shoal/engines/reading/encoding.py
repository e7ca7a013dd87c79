"""From bytes to UTF-8, by the mark or the encoding given, or a refusal with the offset; never replaced."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.engines.reading.content import Bytes, Content
from shoal.errors import BadData

# UTF-32 first: its little-endian mark begins with that of UTF-16
_MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF8 = {"utf-8", "utf-8-sig"}
_ADVICE = 'give the encoding, e.g. encoding = "latin-1" under [data]'
_STEP = 1 << 20


@dataclass(frozen=True)
class Text:
    """UTF-8 bytes, without a byte order mark from `start` on."""

    name: str
    data: Bytes
    start: int
    encoding: str

    def __len__(self) -> int:
        return len(self.data) - self.start


def decoded(content: Content, encoding: str | None) -> Text:
    """Return the content as UTF-8; a file that is UTF-8 already is not copied."""
    text = begun(content, encoding)
    _refuse_nul(text)
    return text


def begun(content: Content, encoding: str | None) -> Text:
    """The same without a look at the whole of it, where it is UTF-8 already."""
    marked = next((codec for mark, codec in _MARKS.items() if content.data[: len(mark)] == mark), None)
    codec = _known(content.name, encoding) if encoding is not None else marked or "utf-8"
    data = content.data if codec in _UTF8 else _recoded(content, codec)
    start = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
    return Text(content.name, data, start, codec)


def refuse_other_than_utf8(text: Text) -> None:
    """Raise BadData with the offset of the first byte that is not UTF-8, if there is one."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(text.start, len(text.data), _STEP):
        pending = len(decoder.getstate()[0])
        chunk = text.data[at : at + _STEP]
        try:
            decoder.decode(chunk, final=at + _STEP >= len(text.data))
        except UnicodeDecodeError as error:
            offset = at - pending + error.start
            raise BadData(f"{text.name}: byte offset {offset} is not UTF-8; {_ADVICE}") from None


def _known(name: str, encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise BadData(f"{name}: there is no encoding {encoding!r}; {_ADVICE}") from None


def _recoded(content: Content, codec: str) -> bytes:
    try:
        return str(memoryview(content.data), codec).encode()
    except UnicodeDecodeError as error:
        at = error.start
        raise BadData(f"{content.name}: byte offset {at} is not {codec}; {_ADVICE}") from None
    except (LookupError, ValueError):  # a codec that is not about text, a lone surrogate
        raise BadData(f"{content.name}: the file is not text in {codec}; {_ADVICE}") from None


def _refuse_nul(text: Text) -> None:
    at = text.data.find(b"\0", text.start)
    if at < 0:
        return
    line = text.data[:at].count(b"\n") + 1
    raise BadData(
        f"{text.name}: line {line} holds a NUL byte, so this is no plain text; if it is UTF-16 without a byte"
        ' order mark, set encoding = "utf-16-le" under [data]'
    )
