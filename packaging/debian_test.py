"""Makes the Debian package of a build and looks at it as its user would: what it says of itself, what is in it, and
whether what is in it works from where it was unpacked.

usage: debian_test.py BUILD CPACK
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, CPACK = "", ""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        made = run(CPACK, "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", cls.folder.name, cwd=BUILD)
        packages = glob.glob(os.path.join(cls.folder.name, "*.deb"))
        if made.returncode != 0 or len(packages) != 1:
            raise AssertionError(f"cpack: status {made.returncode}, {packages}\n{made.stdout}\n{made.stderr}")
        cls.package = packages[0]
        cls.tree = os.path.join(cls.folder.name, "tree")
        subprocess.run(["dpkg-deb", "-x", cls.package, cls.tree], check=True)

    def field(self, name):
        return run("dpkg-deb", "-f", self.package, name).stdout.strip()

    def files(self):
        """(mode, owner, path) of each."""
        lines = run("dpkg-deb", "-c", self.package).stdout.splitlines()
        return [(line.split()[0], line.split()[1], line.split(maxsplit=5)[5].split(" -> ")[0][1:]) for line in lines]

    def test_it_says_what_it_is(self):
        self.assertEqual(self.field("Package"), "gradcts")
        self.assertRegex(os.path.basename(self.package), r"\Agradcts_\d+\.\d+\.\d+_[a-z0-9]+\.deb\Z")
        self.assertNotIn("gradcts", self.field("Description").splitlines()[0], "the synopsis does not repeat the name")
        for line in self.field("Description").splitlines():
            self.assertLessEqual(len(line), 80)
        self.assertRegex(self.field("Maintainer"), r"\A.+ <.+@.+>\Z")

    def test_it_needs_no_more_than_it_uses(self):
        needed = {word.split()[0] for word in self.field("Depends").split(",")}
        self.assertTrue({"libc6", "libstdc++6"} <= needed, needed)
        self.assertFalse([name for name in needed if "torch" in name or name.endswith("-dev") or "test" in name], needed)

    def test_files_stand_where_debian_has_them(self):
        for mode, owner, path in self.files():
            self.assertEqual(owner, "root/root", path)
            self.assertRegex(path, r"\A/(usr/(bin|include|lib|share)?/?.*)?\Z")
            self.assertRegex(mode, r"\A[dl-]r.(x|-)r.(x|-)r-(x|-)\Z|\Al", f"{path} has the mode {mode}")
            self.assertFalse(path.endswith(("_test.py", ".pyc")) or "__pycache__" in path, path)
            self.assertFalse(any(word in path for word in ("lying", "/testing", "gradcts-libtorch")), path)
        paths = {path for _, _, path in self.files()}
        for path in ("/usr/bin/gradcts", "/usr/share/man/man1/gradcts.1", "/usr/share/doc/gradcts/copyright",
                     "/usr/share/gradcts/python/gradcts_kit/binding.py", "/usr/share/bash-completion/completions/gradcts",
                     "/usr/include/gradcts/conformance/adapters/adapter.h"):
            self.assertTrue(path in paths or path + ".gz" in paths, f"no {path}")

    def test_every_engine_of_ours_is_in_it(self):
        built = {os.path.basename(path) for path in glob.glob(os.path.join(BUILD, "lib/gradcts/libgradcts-*.so"))}
        packed = {os.path.basename(path) for _, _, path in self.files() if "/gradcts/libgradcts-" in path}
        self.assertEqual(packed, built - {"libgradcts-libtorch.so"})

    def test_nothing_points_to_where_it_was_built(self):
        for folder, _, names in os.walk(self.tree):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if file.read(4) != b"\x7fELF":
                        continue
                self.assertNotRegex(run("readelf", "-d", path).stdout, r"R(UN)?PATH\)", f"{path} searches in another place")

    def test_it_works(self):
        environment = {"PATH": os.path.join(self.tree, "usr/bin") + ":/usr/bin:/bin", "HOME": self.folder.name,
                       "PYTHONPATH": os.path.join(self.tree, "usr/share/gradcts/python")}
        gradcts = os.path.join(self.tree, "usr/bin/gradcts")
        for engine in ("reference", "reference-compiled",
                       os.path.join(self.tree, "usr/share/gradcts/templates/python/my_adapter.py")):
            result = run(gradcts, "run", "root", "--engine", engine, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertTrue(re.search(r"all as expected\n\Z", result.stdout), result.stdout)
        explored = run(gradcts, "explore", "thread/callers/own-graphs/2", "--strategy", "pos", "--schedules", "20",
                       env=environment)
        self.assertEqual(explored.returncode, 0, explored.stdout + explored.stderr)


if __name__ == "__main__":
    BUILD, CPACK = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
