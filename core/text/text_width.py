"""Write text_width_table.h: how terminals space out what is not plain text.

    python3 core/text_width.py core/text_width_table.h            write it
    python3 core/text_width.py --check core/text_width_table.h    compare

The data are those of Python's own unicodedata, so the table's Unicode version
is that of the interpreter; the committed one was made by Python 3.13. --check
exits with 77 where the interpreter knows another version of Unicode.

A character has one class; what is in no range is one column wide:
  CONTROL    no column, stands alone: Cc, Zl, Zp
  MARK       no column, belongs to what precedes it: Mn, Me, most of Cf, and
             the vowels and finals of conjoining Hangul
  SPACING    one column, belongs to what precedes it: Mc
  WIDE       two columns: East Asian Wide and Fullwidth, regional indicators
  KEYCAP     one column, two before VS16: # * 0 to 9
  EMOJI      the same, and joined by ZWJ to what follows: narrow symbols
  PICTOGRAPH two columns, joined by ZWJ to what follows: wide symbols
EMOJI and PICTOGRAPH come from categories rather than from emoji-data.txt,
which unicodedata lacks: they hold every emoji, and symbols that are none.
"""

import sys
import unicodedata

# Unassigned, but Wide by the rules of UAX #11.
WIDE_BLOCKS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
               (0x20000, 0x2FFFD), (0x30000, 0x3FFFD)]
# Where the next versions of Unicode put their emoji.
FUTURE_EMOJI = [(0x1F6D0, 0x1F6FF), (0x1FA70, 0x1FAFF)]
# Cf that show: soft hyphen, and signs written before a number.
VISIBLE_FORMAT = {0x00AD, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD,
                  0x110CD} | set(range(0x0600, 0x0606))
HANGUL_TAILS = [(0x1160, 0x11FF), (0xD7B0, 0xD7C6), (0xD7CB, 0xD7FB)]
# Emoji that are letters or punctuation by category: !! !? i.
ODD_EMOJI = {0x203C, 0x2049, 0x2139}
KEYCAPS = set(b"#*0123456789")
REGIONAL = [(0x1F1E6, 0x1F1FF)]  # two make a flag; one shows as wide


def within(code, ranges):
    return any(first <= code <= last for first, last in ranges)


def classify(code):
    char = chr(code)
    category = unicodedata.category(char)
    symbol = category in ("So", "Sm") and (code >= 0x2000 or code in
                                           (0xA9, 0xAE))
    if category in ("Cc", "Zl", "Zp"):
        return "CONTROL"
    if category in ("Mn", "Me") or within(code, HANGUL_TAILS):
        return "MARK"
    if category == "Cf" and code not in VISIBLE_FORMAT:
        return "MARK"
    if category == "Mc":
        return "SPACING"
    if category == "Cn":
        if within(code, FUTURE_EMOJI):
            return "PICTOGRAPH"
        return "WIDE" if within(code, WIDE_BLOCKS) else None
    if within(code, REGIONAL):
        return "WIDE"
    if unicodedata.east_asian_width(char) in "WF":
        return "PICTOGRAPH" if symbol and code < 0x20000 else "WIDE"
    if code in KEYCAPS:
        return "KEYCAP"
    return "EMOJI" if symbol or code in ODD_EMOJI else None


def ranges():
    open_range = None
    for code in range(0x110000):
        kind = None if 0xD800 <= code <= 0xDFFF else classify(code)
        if open_range and open_range[2] == kind:
            open_range[1] = code
            continue
        if open_range and open_range[2]:
            yield open_range
        open_range = [code, code, kind]
    if open_range[2]:
        yield open_range


def render():
    version = unicodedata.unidata_version
    entries = ["{0x%05X, 0x%05X, %s}," % tuple(r) for r in ranges()]
    lines = ["    " + " ".join(entries[i:i + 2])
             for i in range(0, len(entries), 2)]
    return "\n".join(
        ["/* Made by text_width.py from Unicode %s; do not edit. */" % version,
         "/* clang-format off */",
         "static const text_range text_ranges[] = {"] + lines +
        ["};", "/* clang-format on */", ""])


def check(path):
    with open(path, encoding="ascii") as file:
        committed = file.read()
    if "Unicode %s;" % unicodedata.unidata_version not in committed:
        print("%s is of another Unicode version than this Python's" % path)
        return 77
    if committed != render():
        print("%s is stale: run text_width.py" % path)
        return 1
    return 0


def main(argv):
    if len(argv) == 3 and argv[1] == "--check":
        return check(argv[2])
    if len(argv) != 2:
        print(__doc__)
        return 2
    with open(argv[1], "w", encoding="ascii") as file:
        file.write(render())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
