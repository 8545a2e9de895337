"""The examples for GitHub Actions and GitLab: well formed, made of commands that exist, and what they run on an engine
does what they say.

usage: ci_examples_test.py GRADCTS [unittest arguments]
"""

import os
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import SOURCES, Typist  # noqa: E402

GRADCTS = ""
TEMPLATES = os.path.join(SOURCES, "conformance/adapters/templates")


def load(name):
    with open(os.path.join(TEMPLATES, "ci", name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def github_steps():
    return load("github-actions.yml")["jobs"]["conformance"]["steps"]


def github_script(name):
    return next(step["run"] for step in github_steps() if step.get("name") == name)


class CiExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        data = os.path.join(self.folder, "data")
        os.mkdir(data)
        os.symlink(os.path.join(SOURCES, "conformance/adapters/python"), os.path.join(data, "python"))
        os.symlink(TEMPLATES, os.path.join(data, "templates"))
        for name in ("my_adapter.py", "my_engine.py"):
            with open(os.path.join(TEMPLATES, "python", name), encoding="utf-8") as file:
                self.write(name, file.read())
        self.variables = {"GRADCTS_DATA": data, "ENGINE": "./my_adapter.py",
                          "AREAS": load("github-actions.yml")["env"]["AREAS"]}

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def plant_a_bug(self):
        with open(os.path.join(TEMPLATES, "python/my_engine.py"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("x * factor for x in g", text)
        self.write("my_engine.py", text.replace("x * factor for x in g", "x for x in g"))

    def run_script(self, script):
        environment = {**os.environ, **self.variables, "PYTHONDONTWRITEBYTECODE": "1",
                       "PATH": f"{os.path.dirname(GRADCTS)}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)

    def test_every_command_exists(self):
        gitlab = load("gitlab-ci.yml")["conformance"]
        scripts = [step["run"] for step in github_steps() if "run" in step] + gitlab["before_script"] + gitlab["script"]
        typist, seen = Typist(GRADCTS), 0
        for script in scripts:
            syntax = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
            self.assertEqual(syntax.stderr, "")
            for line in script.splitlines():
                self.assertEqual(typist.problems(line.strip().replace("gradcts-source/", "")), [], line)
                seen += line.strip().startswith(("gradcts run", "- gradcts run"))
        self.assertEqual(seen, 2, "each example runs the suite")

    def test_both_keep_what_they_build_and_what_they_find(self):
        steps, gitlab = github_steps(), load("gitlab-ci.yml")["conformance"]
        cache = next(step["with"] for step in steps if step.get("uses", "").startswith("actions/cache"))
        self.assertEqual([cache["path"]], gitlab["cache"]["paths"])
        self.assertIn("GRADCTS_REVISION", cache["key"])
        self.assertIn("GRADCTS_REVISION", gitlab["cache"]["key"])
        self.assertEqual(gitlab["artifacts"]["reports"]["junit"], "report.xml")
        for step in steps[-2:]:
            self.assertEqual(step["if"], "always()", "reports are kept when the suite fails")
        self.assertEqual(gitlab["artifacts"]["when"], "always")

    def test_an_engine_that_conforms(self):
        for script in (github_script("Conformance"), "\n".join(load("gitlab-ci.yml")["conformance"]["script"])):
            result = self.run_script(script)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            for report in ("report.xml", "report.jsonl", "report.html"):
                os.remove(os.path.join(self.folder, report))
                self.assertFalse(os.path.exists(report))

    def test_failures_are_marked(self):
        self.plant_a_bug()
        self.assertEqual(self.run_script(github_script("Conformance")).returncode, 1)
        marks = self.run_script(github_script("Mark what is not as expected"))
        self.assertEqual(marks.returncode, 0, marks.stderr)
        lines = marks.stdout.splitlines()
        self.assertTrue(0 < len(lines) <= 11, marks.stdout)
        self.assertRegex(lines[0], r"\A::error title=[a-z0-9/-]+::fail: [A-Z]+-\d+: .*expected .*, observed .*%0Agradcts replay ")

    def test_a_run_that_did_not_begin_is_marked(self):
        marks = self.run_script(github_script("Mark what is not as expected"))
        self.assertEqual(marks.stdout, "::error title=gradcts::report.jsonl was not written: the run did not begin\n")


if __name__ == "__main__":
    GRADCTS = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
