"""What tools/release makes, as users have it: unpacked, checked against its sums, built against, and in the example's CI job.

release_test.py PTC
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from deployed import ROOT, attempt, build_with_cmake, build_with_pkg_config, run

PTC = Path(sys.argv[1]).resolve()
FOLDER = Path(tempfile.mkdtemp())
EPOCH = 1700000000
TIME = {"SOURCE_DATE_EPOCH": str(EPOCH)}
DIGITS = ROOT / "examples/digits"


def release(out: Path, program: Path = PTC, **environment: str):
    return attempt(ROOT / "tools/release", "--ptc", program, "--out", out, env=TIME | environment)


def read_folder(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def linked_archives() -> set[str]:
    """Static libraries that the BUILD files name."""
    found = set()
    for top in ("compiler", "dialects", "runtime", "tools"):
        for file in (ROOT / top).rglob("*BUILD*"):
            found.update(re.findall(r'"-l:(lib[\w-]+\.a)"', file.read_text()))
    return found


class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        for name in ("first", "second"):
            done = release(FOLDER / name)
            if done.returncode:
                raise AssertionError(done.stdout)
        cls.made = read_folder(FOLDER / "first")
        (cls.version,) = re.findall(r"^ptc (\S+)", run(PTC, "--version"))
        cls.name = f"ptc-{cls.version}-linux-x86_64"
        cls.archive, cls.package = FOLDER / f"first/{cls.name}.tar.gz", FOLDER / f"first/ptc_{cls.version}_amd64.deb"
        run("tar", "-xzf", cls.archive, "-C", FOLDER)
        cls.unpacked, cls.installed = FOLDER / cls.name, FOLDER / "installed"
        run("dpkg-deb", "-x", cls.package, cls.installed)
        cls.bill = json.loads(cls.made["sbom.spdx.json"])

    def test_two_runs_give_the_same_bytes(self) -> None:
        second = read_folder(FOLDER / "second")
        self.assertEqual(sorted(self.made), sorted(second))
        self.assertEqual([name for name in self.made if self.made[name] != second[name]], [])

    def test_sums(self) -> None:
        said = run("sha256sum", "--check", "SHA256SUMS", cwd=FOLDER / "first")
        self.assertEqual(sorted(re.findall(r"^(.*): OK$", said, re.M)), sorted(self.made.keys() - {"SHA256SUMS"}))

    def test_the_page_names_every_file(self) -> None:
        page = (ROOT / "docs/release.md").read_text()
        for name in self.made:
            name = re.sub(r"none-.*\.whl", "none-PLATFORM.whl", name.replace(self.version, "VERSION"))
            self.assertIn(f"`{name}`", page)

    def test_programs(self) -> None:
        version = run(PTC, "--version")
        self.assertEqual(run(self.unpacked / "bin/ptc", "--version"), version)
        self.assertEqual(run(self.installed / "usr/bin/ptc", "--version"), version)
        (wheel,) = (FOLDER / "first").glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            self.assertEqual(files.read("ptc/bin/ptc"), PTC.read_bytes())

    def test_one_version_everywhere(self) -> None:
        path = {"PKG_CONFIG_PATH": str(self.unpacked / "lib/pkgconfig")}
        self.assertEqual(run("pkg-config", "--modversion", "ptc", env=path).strip(), self.version)
        cmake = (self.unpacked / "lib/cmake/ptc/ptc-config-version.cmake").read_text()
        self.assertIn(f'set(PACKAGE_VERSION "{self.version}")', cmake)
        self.assertEqual(run("dpkg-deb", "--field", self.package, "Version").strip(), self.version)

    def test_owners_and_times_tell_nothing(self) -> None:
        self.assertEqual(self.archive.read_bytes()[4:8], bytes(4))  # gzip's time
        with tarfile.open(self.archive) as files:
            entries = files.getmembers()
        self.assertEqual({(entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries}, {(0, 0, "", EPOCH)})
        self.assertEqual([entry.name for entry in entries], sorted(entry.name for entry in entries))
        listed = run("dpkg-deb", "--contents", self.package, env={"TZ": "UTC"}).splitlines()
        self.assertEqual({line.split()[1] for line in listed}, {"root/root"})
        self.assertEqual({" ".join(line.split()[3:5]) for line in listed}, {"2023-11-14 22:13"})

    def test_what_the_package_needs(self) -> None:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", PTC))
        others = [name for name in needed if not re.match(r"lib[cm]\.so|ld-linux", name)]
        depends = run("dpkg-deb", "--field", self.package, "Depends").strip().split(", ")
        self.assertRegex(depends[0], r"^libc6 \(>= 2\.\d+\)$")
        self.assertEqual(len(depends) > 1, bool(others), depends)
        self.assertFalse((self.installed / "usr/include/dlpack").exists())  # libdlpack-dev's
        self.assertEqual([path.name for path in self.installed.iterdir()], ["usr"])

    def test_cmake(self) -> None:
        said = build_with_cmake(FOLDER / "archive-cmake", self.unpacked / "lib/cmake/ptc")
        self.assertIn("image 1 is a 7", said)

    def test_cmake_through_the_link_of_lib(self) -> None:
        (self.installed / "lib").symlink_to("usr/lib")
        said = build_with_cmake(FOLDER / "package-cmake", self.installed / "lib/cmake/ptc")
        (self.installed / "lib").unlink()
        self.assertIn("image 1 is a 7", said)

    def test_pkg_config(self) -> None:
        build_with_pkg_config(FOLDER / "archive", self.unpacked / "lib/pkgconfig")
        build_with_pkg_config(FOLDER / "package", self.installed / "usr/lib/pkgconfig")

    def test_documents(self) -> None:
        folder = self.unpacked / "share/doc/ptc"
        licence, notices = (ROOT / "LICENSE").read_bytes(), self.made["NOTICES.txt"]
        self.assertEqual((folder / "LICENSE").read_bytes(), licence)
        self.assertEqual((folder / "NOTICES.txt").read_bytes(), notices)
        self.assertEqual((folder / "sbom.spdx.json").read_bytes(), self.made["sbom.spdx.json"])
        self.assertEqual((folder / "CHANGELOG.md").read_bytes(), (ROOT / "CHANGELOG.md").read_bytes())
        copyright = (self.installed / "usr/share/doc/ptc/copyright").read_bytes()
        self.assertTrue(copyright.startswith(licence) and copyright.endswith(notices))

    def test_notices_have_the_texts(self) -> None:
        notices = self.made["NOTICES.txt"].decode()
        for text in (
            "LLVM Exceptions to the Apache 2.0 License",
            "2. Grant of Copyright License.",  # Apache-2.0 itself, to which Debian's files only refer
            "GCC RUNTIME LIBRARY EXCEPTION",
            "Developed at SunPro",
            "Idiap Research Institute",
            "Copyright (C) 1998-2010 Gilles Vollant",
            "University of Cincinnati",
        ):
            self.assertIn(text, notices)

    def test_every_linked_library_is_named(self) -> None:
        notices, packages = self.made["NOTICES.txt"].decode(), {entry["name"] for entry in self.bill["packages"]}
        archives = linked_archives()
        self.assertIn("libminizip.a", archives)
        expected = {run("dpkg-query", "-S", f"*/x86_64-linux-gnu/{name}").split(":")[0] for name in archives}
        expected |= {"llvm-22-dev", "libmlir-22-dev", "liblld-22", "libclc-22", "libonnx-dev", "libcli11-dev"}
        expected |= {"libfmt-dev", "libdlpack-dev", "libstdc++-12-dev", "libgcc-12-dev"}
        for name in sorted(expected):
            self.assertIn(f"({name})", notices)
            self.assertIn(name, packages)
        self.assertIn("libc6", packages)

    def test_bill_of_materials(self) -> None:
        bill = self.bill
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        self.assertEqual(bill["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        by_id = {entry["SPDXID"]: entry for entry in bill["packages"]}
        self.assertEqual(len(by_id), len(bill["packages"]))
        program = by_id["SPDXRef-ptc"]
        self.assertEqual(program["checksums"][0]["checksumValue"], hashlib.sha256(PTC.read_bytes()).hexdigest())
        linked = set()
        for relation in bill["relationships"]:
            self.assertIn(relation["spdxElementId"], by_id.keys() | {"SPDXRef-DOCUMENT"})
            self.assertIn(relation["relatedSpdxElement"], by_id)
            linked.add(relation["relatedSpdxElement"])
        self.assertEqual(linked, by_id.keys())
        for entry in bill["packages"]:
            self.assertRegex(entry["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(entry["licenseDeclared"] and entry["supplier"])
            if not entry["name"].startswith("ptc"):
                version = run("dpkg-query", "-W", "-f", "${Version}", entry["name"])
                self.assertEqual(entry["versionInfo"], version)

    def test_a_missing_program_leaves_no_folder(self) -> None:
        done = release(FOLDER / "absent", FOLDER / "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, f"release: error: {FOLDER}/nothing: No such file or directory\n")
        self.assertFalse((FOLDER / "absent").exists())
        done = release(FOLDER / "absent", DIGITS / "run")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, f"release: error: {DIGITS}/run: it is no ELF program\n")
        self.assertFalse((FOLDER / "absent").exists())

    def test_what_fails_at_the_end_leaves_the_folder_as_it_was(self) -> None:
        tools, out = FOLDER / "tools", FOLDER / "kept/out"
        tools.mkdir()
        out.mkdir(parents=True)
        (out / "SHA256SUMS").write_text("those of before\n")
        for name in ("python3", "git", "readelf", "ldd", "bash", "cat", "dpkg-query"):  # all but dpkg-deb
            (tools / name).symlink_to(shutil.which(name))
        done = release(out, PATH=str(tools))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "release: error: dpkg-deb: No such file or directory")
        self.assertEqual(read_folder(out), {"SHA256SUMS": b"those of before\n"})
        self.assertEqual(os.listdir(out.parent), ["out"])

    def test_the_example_of_a_job(self) -> None:
        job, out = ROOT / "examples/ci/compile_model.sh", FOLDER / "job"
        model, images = DIGITS / "model.pt2", DIGITS / "images.safetensors"
        run(job, self.archive, model, images, DIGITS / "expected.safetensors", out)
        run("sha256sum", "--check", "model.so.sha256", cwd=out)
        report = json.loads((out / "report.json").read_text())
        self.assertEqual(report["library"]["sha256"], hashlib.sha256((out / "model.so").read_bytes()).hexdigest())
        self.assertEqual(report["ptc"] + "\n", run(PTC, "--version"))
        self.assertLess(report["largest_difference"], 1e-5)
        self.assertGreater(report["bench"]["median_ms"], 0)
        # Images as results: a job that compares nothing must not pass.
        done = attempt(job, self.archive, model, images, images, FOLDER / "job-2")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertFalse((FOLDER / "job-2").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
