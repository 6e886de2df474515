"""Character sets of answers: which can be searched, and that a request names none. Pure.

Always: what is searched is bytes, in which a credential stands as ASCII, or with NULs between (UTF-16 and
UTF-32). So an answer in any other set (EBCDIC, UTF-7) is not passed while credentials are held. A server
may take the set that the request names, so a request to a host that a credential is bound to names none.
"""

import re
from typing import Final

from mediator.codings import PackedError
from mediator.text import clipped
from mediator.transcript import Headers

_SEARCHED: Final = re.compile(
    rb"utf-?8(mb[34])?|(us-?)?ascii|ansi_x3\.4-19(68|86)|iso[-_]?8859-\d{1,2}(-[ei])?|latin-?\d{1,2}|l[1-9]"
    rb"|(windows|cp|x-cp)-?(125\d|874|437|85[0-9]|86[0-69]|932|936|949|950)|ms_kanji|macintosh|mac-?roman|x-mac-[a-z]+"
    rb"|koi8-?[a-z]{1,2}|gb_?2312(-80)?|gbk|gb18030|x-gbk|big5(-hkscs)?|euc-?(jp|kr|cn|tw)|x-euc-[a-z]{2}"
    rb"|shift[-_]?jis|sjis|x-sjis|windows-31j|ks_c_5601-1987|iso-2022-(jp|kr|cn)(-\d)?|tis-?620|viscii"
    rb"|utf-?(16|32)([-_]?[bl]e)?|ucs-?[24]|iso-10646-ucs-[24]|unicode|binary|none|null"
)
_PARAMETER: Final = re.compile(rb";\s*charset\s*=\s*(\"[^\"]*\"|'[^']*'|[^;,\s]*)", re.IGNORECASE)
_WITH_CHARSET: Final = re.compile(rb";\s*+charset\s*+=\s*+(\"[^\"]*\"|[^;,]*)", re.IGNORECASE)
"""It begins with what stands there once: a run of blanks would be read anew from each of them."""
OFFERS: Final = frozenset((b"accept-charset",))
"""Headers of a request that are left out where an answer may give a credential back."""


def check_charset(headers: Headers) -> None:
    """Raise PackedError where an answer's text is in a set that cannot be searched."""
    for name, value in headers:
        if name.lower() == b"content-type" and b"charset" in value.lower():
            for quoted in _PARAMETER.findall(value):
                said = quoted.strip(b"\"' ").lower()
                if said and not _SEARCHED.fullmatch(said):
                    what = f"`{clipped(said)}`, which hark could not search for secrets"
                    raise PackedError(f"it is written in {what}")


def without_charset(value: bytes) -> bytes:
    """Return an Accept header that names no character set."""
    return _WITH_CHARSET.sub(b"", value) if b"charset" in value.lower() else value
