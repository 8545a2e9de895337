"""Types what a page tells its reader to type, in a fresh folder, and compares what is printed.

usage: page_test.py GRADCTS PAGE [--write]

docs/documentation.md says how blocks state what to do with them. --write puts what is printed into the page, into
blocks that leave nothing out.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import SOURCES, TYPED, Typist, blocks_of, inline_commands  # noqa: E402

END = "end-of-command-7c1f"
LIMIT_S = 240  # for one command, on a machine that is busy with other things


class Shell:
    """One bash for a page, so that `export` and `cd` last."""

    def __init__(self, folder, environment):
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, env=environment, text=True,
                                     errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, command):
        """What it printed, line by line, and its status."""
        watch = threading.Timer(LIMIT_S, self.bash.kill)
        watch.start()
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null; printf '\\n%s %d\\n' {END} $?\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(END):
                watch.cancel()
                if lines and lines[-1] == "":  # the line end before END
                    lines.pop()
                return lines, int(line.split()[1])
            lines.append(line.rstrip())
        raise TimeoutError(f"no end after {LIMIT_S} s: {command}")

    def close(self):
        self.bash.stdin.close()
        self.bash.wait(timeout=60)


def without_sizes(line):
    """Without times, and without the size of the suite, which grows with every idea: of a table of areas it is compared
    which columns are empty."""
    line = re.sub(r"\b\d[\d,]*(\.\d+)? (m?s|seconds)\b", r"T \2", line.rstrip())
    line = re.sub(r"\b\d[\d,]* a second", "N a second", line)
    line = re.sub(r"\b\d+ scenarios\b( of \d+)?", "N scenarios", line)
    if re.match(r"([A-Z][A-Z0-9]+|total) .*  \.", line):
        line = re.sub(r" +\d+\b", " N", line)
        line = re.sub(r" +\.", " .", line)
    return line


def agrees(expected, printed):
    """`...` alone stands for any number of lines."""
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        return any(agrees(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and without_sizes(expected[0]) == without_sizes(printed[0]) and agrees(expected[1:], printed[1:])


class Page:
    def __init__(self, gradcts, path, write):
        self.gradcts, self.path, self.write = gradcts, path, write
        self.build = os.path.dirname(os.path.dirname(gradcts))
        self.blocks = blocks_of(path)
        self.typist = Typist(gradcts)
        self.complaints, self.renewed = [], {}

    def check(self):
        for block in self.blocks:
            self.check_form(block)
        for command in inline_commands(self.path):
            self.complaints += [f"{self.path}: `{command}`: {problem}" for problem in self.typist.problems(command)]
        with tempfile.TemporaryDirectory(prefix="gradcts-page-") as folder:
            self.type_all(folder)
        if self.write and self.renewed:
            self.put_back()

    def check_form(self, block):
        typed = block.language in ("sh", "console")
        if not typed and any(TYPED.match(line) for line in block.lines) and "file" not in block.attributes:
            self.complaints.append(f"{block.where}: has commands, but is neither `sh` nor `console`")
        if typed:
            for command, _ in block.steps():
                self.complaints += [f"{block.where}: {command}: {problem}" for problem in self.typist.problems(command)]

    def lay_out(self, folder):
        """As a clone, with a build in it; and what is installed from it below the home folder."""
        work, home = os.path.join(folder, "gradcts"), os.path.join(folder, "home")
        os.makedirs(os.path.join(work, "build"))
        os.mkdir(home)
        for name in os.listdir(SOURCES):
            if name not in (".git", "build"):
                os.symlink(os.path.join(SOURCES, name), os.path.join(work, name))
        for name in ("release", "quickstart"):
            os.symlink(self.build, os.path.join(work, "build", name))
        if any("~/gradcts" in line for block in self.blocks for line in block.lines):
            subprocess.run(["cmake", "--install", self.build, "--component", "Unspecified",  # all but libtorch's adapter
                            "--prefix", os.path.join(home, "gradcts")], stdout=subprocess.DEVNULL, check=True)
        return work, home

    def type_all(self, folder):
        work, home = self.lay_out(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GRADCTS", "PYTHON"))}
        environment |= {"PATH": f"{os.path.dirname(self.gradcts)}:{environment['PATH']}", "HOME": home, "LC_ALL": "C.UTF-8",
                        "PYTHONDONTWRITEBYTECODE": "1"}
        shell = Shell(work, environment)
        for block in self.blocks:
            if "unrun" in block.attributes or not self.has(block.attributes.get("needs")):
                continue
            if "file" in block.attributes:
                shell.run(f"cat > {block.attributes['file']} <<'END_OF_FILE'\n" + "\n".join(block.lines) + "\nEND_OF_FILE")
            elif block.language in ("sh", "console"):
                self.type_block(shell, block)
        shell.close()

    def has(self, engine):
        folder = os.path.join(self.build, "lib", "gradcts")
        return engine is None or any(os.path.exists(os.path.join(folder, form.format(engine)))
                                     for form in ("libgradcts-{}.so", "gradcts-{}"))

    def type_block(self, shell, block):
        wanted = int(block.attributes.get("status", 0))
        renewed = []
        for command, expected in block.steps():
            printed, status = shell.run(command)
            shown = "\n".join("    " + line for line in printed[-40:])
            if status != wanted:
                self.complaints.append(f"{block.where}: {command}: status {status}, and not {wanted}\n{shown}")
            while expected and not expected[-1]:
                expected = expected[:-1]
            while printed and not printed[-1]:
                printed = printed[:-1]
            if block.language == "console" and not self.write and not agrees(expected, printed):
                self.complaints.append(f"{block.where}: {command}: prints\n{shown}")
            leaves_out = any(line.strip() == "..." for line in expected)
            renewed += ["$ " + command, *(expected if leaves_out or agrees(expected, printed) else printed)]
        if block.language == "console" and "needs" not in block.attributes:
            self.renewed[block.line] = renewed

    def put_back(self):
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for block in reversed(self.blocks):
            if block.line in self.renewed:
                lines[block.line:block.line + len(block.lines)] = self.renewed[block.line]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def main():
    page = Page(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), "--write" in sys.argv)
    page.check()
    print("\n".join(page.complaints), file=sys.stderr)
    return 1 if page.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
