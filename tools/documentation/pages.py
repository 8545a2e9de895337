"""What a page says: fenced blocks with their attributes, commands in them, and whether a command could be typed."""

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^```(\S*)[ \t]*(.*)$")
# What begins a command that a reader would type.
TYPED = re.compile(r"^(\$ |gradcts |ci/|cmake |ctest |python3 |git |apt-get |sqlite3 )")


@dataclass
class Block:
    """```LANGUAGE ATTRIBUTES, as in docs/documentation.md."""
    page: str
    line: int  # of the fence, from 1
    language: str
    attributes: dict
    lines: list = field(default_factory=list)

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    def steps(self):
        """(command, lines of output that follow it). In `sh` each line is a command, and nothing follows."""
        steps, going_on = [], False
        for line in self.lines:
            if going_on:
                steps[-1][0] += "\n" + line
            elif self.language == "console" and line.startswith("$ "):
                steps.append([line[2:], []])
            elif self.language == "sh" and line.strip() and not line.startswith("#"):
                steps.append([line, []])
            elif self.language == "console" and steps:
                steps[-1][1].append(line)
                continue
            else:
                continue
            going_on = line.endswith("\\")
        return [(command, output) for command, output in steps]


def attributes_of(text, where):
    attributes = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if name not in ("file", "status", "unrun", "needs") or not equals:
            raise ValueError(f"{where}: '{word}' says nothing about a block; there are file=, status=, unrun=, needs=")
        attributes[name] = value
    return attributes


def blocks_of(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    blocks, open_block = [], None
    page = os.path.relpath(path, SOURCES)
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if open_block is not None:
            if line == "```":
                blocks.append(open_block)
                open_block = None
            else:
                open_block.lines.append(line)
        elif fence:
            where = f"{page}:{number}"
            open_block = Block(page, number, fence[1], attributes_of(fence[2], where))
    return blocks


def inline_commands(path):
    """`gradcts ...` within sentences."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```$", "", file.read(), flags=re.S | re.M)
    text = re.sub(r"^<!-- (.*?) -->$.*?^<!-- end of \1 -->$", "", text, flags=re.S | re.M)  # tables that a test writes
    return [" ".join(found.split()) for found in re.findall(r"(?<!`)`(gradcts [^`]+)`(?!`)", text)]


class Typist:
    """Says what is wrong with a command without running it."""

    def __init__(self, gradcts):
        self.gradcts, self.help = gradcts, {}
        with open(os.path.join(SOURCES, "CMakePresets.json"), encoding="utf-8") as file:
            presets = json.load(file)
        self.presets = {preset["name"] for preset in presets["configurePresets"]}

    def help_of(self, command):
        if command not in self.help:
            result = subprocess.run([self.gradcts, command, "--help"], capture_output=True, text=True, timeout=60, check=False)
            self.help[command] = result.stdout if result.returncode == 0 else None
        return self.help[command]

    def problems(self, text):
        """Of one line, which may hold several commands."""
        reader = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";&|<>()")
        reader.whitespace_split = True
        try:
            words = list(reader)
        except ValueError:  # a quotation mark that is none: a part of a sentence
            words = text.split()
        problems, command = [], []
        for word in [*words, ";"]:
            if set(word) <= set(";&|()"):
                problems += self.problems_of(command)
                command = []
            else:
                command.append(word)
        return problems

    def problems_of(self, words):
        while words and re.match(r"^[A-Z_]+=", words[0]):
            words = words[1:]
        if not words:
            return []
        name = os.path.basename(words[0]) if words[0].endswith("/gradcts") else words[0]
        if name == "gradcts" and len(words) > 1:
            return self.gradcts_problems(words[1:])
        if name.startswith("ci/"):
            return self.script_problems(name, words[1:])
        if name == "cmake" and "--preset" in words:
            preset = words[words.index("--preset") + 1]
            return [] if preset in self.presets else [f"no preset '{preset}'"]
        if name in ("python3", "sh", "bash") and len(words) > 1 and "/" in words[1] and "$" not in words[1]:
            return [] if os.path.exists(os.path.join(SOURCES, words[1])) else [f"no file '{words[1]}'"]
        return []

    def gradcts_problems(self, words):
        if words[0].startswith("-"):
            return [] if words[0] in ("--help", "--version") else [f"no flag '{words[0]}'"]
        if not re.fullmatch(r"[a-z]+", words[0]):  # COMMAND, or a picture of one
            return []
        known = self.help_of(words[0])
        if known is None:
            return [f"no command 'gradcts {words[0]}'"]
        flags = [word.split("=")[0] for word in words[1:] if re.match(r"^-{1,2}[a-z]", word)]
        return [f"'gradcts {words[0]}' has no flag '{flag}'" for flag in flags
                if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", known)]

    @staticmethod
    def script_problems(name, words):
        path = os.path.join(SOURCES, name)
        if not os.access(path, os.X_OK):
            return [f"no script '{name}'"]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return [f"'{name}' has no flag '{word}'" for word in words if word.startswith("--") and word not in text]
