"""The software bill of materials (SPDX 2.3): what is linked into the program, and into the libraries that it makes."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from urllib.parse import quote

from .common import LICENCE, VERSION
from .debian import needed_packages, versions
from .licences import COMPONENTS, GLIBC, Component
from .program import Program

PROGRAM, RUNTIME = "SPDXRef-ptc", "SPDXRef-ptc-runtime"


def identify(component: Component) -> str:
    """SPDX allows letters, digits, points and dashes."""
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", component.package)


def describe(identifier: str, name: str, version: str, licence: str, **more: object) -> dict:
    return {
        "SPDXID": identifier,
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **more,
    }


def describe_debian(component: Component, version: str) -> dict:
    locator = f"pkg:deb/debian/{quote(component.package, safe='')}@{quote(version, safe='')}?arch=amd64"
    return describe(
        identify(component),
        component.package,
        version,
        component.licence,
        summary=component.name,
        supplier="Organization: Debian",
        originator=component.originator,
        primaryPackagePurpose="LIBRARY",
        externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}],
    )


def write_sbom(program: Program, epoch: int) -> str:
    # A release loads glibc alone; of what a development build loads beside it, only the version is known.
    shared = [
        GLIBC if package == GLIBC.package else Component(package, package, "NOASSERTION", "NOASSERTION")
        for package in needed_packages(program)
    ]
    found = versions([component.package for component in (*COMPONENTS, *shared)])
    checksum = hashlib.sha256(program.path.read_bytes()).hexdigest()
    packages = [
        describe(
            PROGRAM,
            "ptc",
            VERSION,
            LICENCE,
            supplier="Organization: ptc",
            packageFileName="ptc",
            primaryPackagePurpose="APPLICATION",
            checksums=[{"algorithm": "SHA256", "checksumValue": checksum}],
        ),
        describe(
            RUNTIME,
            "ptc-runtime",
            VERSION,
            LICENCE,
            supplier="Organization: ptc",
            summary="What a compiled model holds beside its own code and weights",
            primaryPackagePurpose="LIBRARY",
        ),
    ]
    packages += [describe_debian(component, found[component.package]) for component in (*COMPONENTS, *shared)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM), (PROGRAM, "CONTAINS", RUNTIME)]
    relations += [(PROGRAM, "STATIC_LINK", identify(component)) for component in COMPONENTS]
    relations += [(PROGRAM, "DYNAMIC_LINK", identify(component)) for component in shared]
    relations += [(RUNTIME, "STATIC_LINK", identify(component)) for component in COMPONENTS if component.in_models]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"ptc-{VERSION}-linux-x86_64",
        "documentNamespace": f"https://spdx.org/spdxdocs/ptc-{VERSION}-{digest}",
        "creationInfo": {"created": created, "creators": ["Organization: ptc", f"Tool: tools/release-{VERSION}"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    return json.dumps(document, indent=1) + "\n"
