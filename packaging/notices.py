#!/usr/bin/env python3
"""notices.py BUILD DOCS [SOURCES]: what is inside a package, and on which terms.

BUILD is a build folder; its inside.txt says what was built in. DOCS, the package's folder of
documentation, gets llmprof.spdx.json (SPDX 2.3) and third_party/ with the licences. SOURCES
holds the Debian sources of the libraries that are linked in, if any are. Names, versions'
homes and licences are those of third_party/README.md, which lists every one of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DOCS = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")


class Part(NamedTuple):
    """Something of others that is in the package."""

    name: str
    version: str
    licence: str  # an SPDX expression
    home: str
    relation: str  # of the package to it, in SPDX's words
    origin: str  # a purl, or ""
    digest: str  # SHA-256 of its source archive, or ""
    notices: list[pathlib.Path]  # files with its copyright and licence


def known() -> dict[str, tuple[str, str]]:
    """Home and licence by name, from the table of what is in the program."""
    rows = {}
    for line in (ROOT / "third_party/README.md").read_text().splitlines():
        row = re.match(r"\| \[([^]]+)\]\(([^)]+)\) \| [^|]* \| ([^|]+) \|", line)
        if row:
            rows[row[1]] = (row[2], row[3].strip().replace(", ", " AND "))
    return rows


def inside(build: pathlib.Path) -> dict[str, str]:
    """What CMake found, "" for what it did not."""
    lines = (build / "inside.txt").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line)
    return {name: "" if value.endswith("NOTFOUND") else value for name, value in pairs}


def source_packages() -> list[tuple[str, str]]:
    """Debian's name and that of README.md."""
    lines = (HERE / "sources.txt").read_text().splitlines()
    return [
        (words[0], words[1]) for words in map(str.split, lines) if words and words[0] != "#"
    ]


def linked(sources: pathlib.Path) -> list[Part]:
    parts = []
    for package, name in source_packages():
        (dsc,) = (sources / "archives").glob(package + "_*.dsc")
        text = dsc.read_text()
        version = re.search(r"^Version: (\S+)", text, re.M)
        archive = re.search(
            r"^Checksums-Sha256:.*?^ ([0-9a-f]{64}) \d+ \S+\.orig\.tar\S+$", text, re.M | re.S
        )
        if not version or not archive:
            raise SystemExit(f"{dsc}: no version or checksum")
        home, licence = known()[name]
        parts.append(
            Part(
                name,
                version[1],
                licence,
                home,
                "STATIC_LINK",
                f"pkg:deb/debian/{package}@{version[1].replace('+', '%2B')}?arch=source",
                archive[1],
                [sources / package / "debian/copyright"],
            )
        )
    return parts


def other(name: str, version: str, relation: str, notices: list[pathlib.Path]) -> Part:
    home, licence = known()[name]
    return Part(name, version, licence, home, relation, "", "", notices)


def zig_parts(built: dict[str, str]) -> list[Part]:
    """What zig puts into what it links: its compiler_rt and glibc's start files."""
    folder = pathlib.Path(built["zig"])
    return [
        other("zig", built["zig_version"], "STATIC_LINK", [folder / "LICENSE"]),
        other("glibc", built["floor"], "STATIC_LINK", [folder / "lib/libc/glibc/LICENSES"]),
    ]


def carried(built: dict[str, str]) -> list[Part]:
    """What is built in from files of this machine."""
    parts = []
    if built["chartjs"]:
        notice = DOCS / "libjs-chart.js/copyright"
        parts.append(other("Chart.js", built["chartjs_version"], "CONTAINS", [notice]))
    if built["d3"]:
        names = [pathlib.Path(file).parts[4] for file in built["d3"].split(";")]
        notices = [DOCS / f"node-{name}/copyright" for name in names]
        parts.append(other("D3", built["d3_version"], "CONTAINS", notices))
    if built["nvtx"]:
        notice = pathlib.Path(built["nvtx"]) / "nvtx3/nvToolsExt.h"
        parts.append(other("NVTX", "3", "CONTAINS", [notice]))
    return parts


def reference(part: Part) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", part.name)


def package(part: Part) -> dict[str, object]:
    entry: dict[str, object] = {
        "SPDXID": reference(part),
        "name": part.name,
        "versionInfo": part.version,
        "downloadLocation": "NOASSERTION",
        "homepage": part.home,
        "filesAnalyzed": False,
        "licenseConcluded": part.licence,
        "licenseDeclared": part.licence,
        "copyrightText": "NOASSERTION",
        "comment": f"Copyright and licence: third_party/{part.name}.txt",
    }
    if part.digest:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": part.digest}]
    if part.origin:
        entry["externalRefs"] = [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": part.origin,
            }
        ]
    return entry


def document(built: dict[str, str], parts: list[Part]) -> dict[str, object]:
    name = f"llmprof-{built['version']}-{built['architecture']}"
    own = {
        "SPDXID": "SPDXRef-llmprof",
        "name": "llmprof",
        "versionInfo": built["version"],
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "primaryPackagePurpose": "APPLICATION",
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "Copyright (c) 2026 the llmprof authors",
    }
    packages = [own, *map(package, parts)]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "creators": ["Organization: the llmprof authors", "Tool: packaging/notices.py"],
        },
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-llmprof",
            },
            *(
                {
                    "spdxElementId": "SPDXRef-llmprof",
                    "relationshipType": one.relation,
                    "relatedSpdxElement": reference(one),
                }
                for one in parts
            ),
        ],
    }


def notice(file: pathlib.Path) -> str:
    """Of a header the comment that it begins with."""
    text = file.read_text(errors="replace")
    return text[: text.index("*/") + 2] + "\n" if file.suffix == ".h" else text


def write_notices(folder: pathlib.Path, parts: list[Part]) -> None:
    """Copyright files, and the licences that are named there without their text."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in parts:
        texts = dict.fromkeys(map(notice, one.notices))
        (folder / f"{one.name}.txt").write_text("\n".join(texts))
        name = one.licence.split(" ")[0].removesuffix("-or-later")
        if (COMMON / name).is_file():
            shutil.copyfile(COMMON / name, folder / f"{name}.txt")


def main(build: str, docs: str, sources: str = "") -> None:
    built = inside(pathlib.Path(build))
    parts = carried(built)
    if sources:
        parts = linked(pathlib.Path(sources)) + zig_parts(built) + parts
    folder = pathlib.Path(docs)
    write_notices(folder / "third_party", parts)
    text = json.dumps(document(built, parts), indent=2) + "\n"
    (folder / "llmprof.spdx.json").write_text(text)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        raise SystemExit("usage: notices.py BUILD DOCS [SOURCES]")
    main(*sys.argv[1:])
