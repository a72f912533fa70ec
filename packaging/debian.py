#!/usr/bin/env python3
"""debian.py DOCS VERSION MAINTAINER: what Debian wants otherwise than others do.

DOCS is usr/share/doc/llmprof of a package that is being made.
"""

from __future__ import annotations

import email.utils
import gzip
import os
import pathlib
import shutil
import sys
import time

COMMON = pathlib.Path("/usr/share/common-licenses")


def compress(path: pathlib.Path, into: pathlib.Path) -> None:
    data = path.read_bytes()
    path.unlink()
    into.write_bytes(gzip.compress(data, 9, mtime=0))


def changelog(version: str, maintainer: str) -> bytes:
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return (
        f"llmprof ({version}) unstable; urgency=medium\n\n"
        "  * What changed is in changelog.gz.\n\n"
        f" -- {maintainer}  {email.utils.formatdate(epoch)}\n"
    ).encode()


def copyright_file(docs: pathlib.Path) -> None:
    """Licences that every Debian system has are named, not carried."""
    notices = []
    common = []
    for path in sorted((docs / "third_party").glob("*.txt")):
        if (COMMON / path.stem).is_file():
            path.unlink()
            common.append(str(COMMON / path.stem))
        else:
            notices.append(path.name)
    terms = (docs / "LICENSE").read_text()
    (docs / "LICENSE").unlink()
    (docs / "copyright").write_text(
        f"{terms}\n"
        "What else is in the package, with its version and licence, is listed in\n"
        "llmprof.spdx.json; copyright and licence of each part are in third_party/:\n"
        + "".join(f"  {name}\n" for name in notices)
        + "with the full text of\n"
        + "".join(f"  {name}\n" for name in common)
    )


def main(folder: str, version: str, maintainer: str) -> None:
    docs = pathlib.Path(folder)
    share = docs.parent.parent
    copyright_file(docs)
    compress(docs / "CHANGELOG.md", docs / "changelog.gz")
    (docs / "changelog.Debian.gz").write_bytes(
        gzip.compress(changelog(version, maintainer), 9, mtime=0)
    )
    page = share / "man/man1/llmprof.1"
    compress(page, page.with_name("llmprof.1.gz"))
    functions = share / "zsh/vendor-completions"
    shutil.move(share / "zsh/site-functions", functions)
    overrides = share / "lintian/overrides/llmprof"
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(pathlib.Path(__file__).with_name("lintian-overrides"), overrides)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: debian.py DOCS VERSION MAINTAINER")
    main(*sys.argv[1:])
