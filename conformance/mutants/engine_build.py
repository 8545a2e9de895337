"""Builds a mutant of the reference engine beside an existing build: only what it touches is compiled again.

The patched files lie in an overlay folder that comes first on the include path, so that every object that
includes a patched header sees the patched one. The objects go before the archives on the link line and so
take the place of the archives' members.
"""
import pathlib
import shlex
import subprocess

from patch_files import ROOT, apply

TARGET = "gradcts-reference"


class BuildFailed(Exception):
    """The compiler's or linker's words."""


class EngineBuild:
    """An existing build folder (Ninja) with the engine's adapter in it, or another program of the engine's; reads
    it and changes nothing."""

    def __init__(self, build, target=TARGET):
        self.build = pathlib.Path(build).resolve()
        commands = self._ninja("-t", "commands", target).splitlines()
        self.link_command = self._part_of(commands[-1])
        outputs = set()
        self.compile_commands = {}
        for line in commands:
            words = shlex.split(line)
            if "-c" in words:
                source, output = words[words.index("-c") + 1], words[words.index("-o") + 1]
                self.compile_commands[output] = (words, source)
                outputs.add(output)
        self.dependencies = self._dependencies(outputs)

    @staticmethod
    def _part_of(link):
        """The link itself, of `: && link && :`."""
        return [part for part in link.split(" && ") if part.strip() not in (":", "")][0]

    def _ninja(self, *arguments):
        done = subprocess.run(["ninja", "-C", str(self.build), "--quiet", *arguments],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"mutants: {self.build}: not a Ninja build with what is wanted: "
                             f"{done.stdout}{done.stderr}")
        return done.stdout

    def _dependencies(self, outputs):
        """For each object: the files of the project that it is made of."""
        found = {}
        for block in self._ninja("-t", "deps").split("\n\n"):
            first, _, rest = block.partition("\n")
            output = first.split(":")[0].strip()
            if output in outputs:
                inside = set()
                for line in rest.splitlines():
                    path = (self.build / line.strip()).resolve()
                    if path.is_relative_to(ROOT):
                        inside.add(str(path.relative_to(ROOT)))
                found[output] = inside
        return found

    def objects_of(self, mutant):
        return [output for output, files in self.dependencies.items() if files & set(mutant.files)]

    def _compile(self, output, folder, mutant, extra):
        words, source = self.compile_commands[output]
        words, overlay = list(words), folder / "source"
        relative = str((self.build / source).resolve().relative_to(ROOT))
        if relative in mutant.files:
            words[words.index("-c") + 1] = str(overlay / relative)
        target = folder / output.replace("/", "_")
        words[words.index("-o") + 1] = str(target)
        for flag in ("-MF", "-MT"):
            if flag in words:
                del words[words.index(flag):words.index(flag) + 2]
        words = [word for word in words if word != "-MD"]
        compiler = next(i for i, word in enumerate(words) if word.endswith(("++", "g++-12")) or "clang" in word)
        words[compiler + 1:compiler + 1] = ["-I", str(overlay)]
        words += ["-w", *extra]
        self._call(words)
        return target

    def _call(self, words):
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise BuildFailed(errors[0] if errors else f"{words[0]} failed")

    def check(self, mutant, folder):
        """Applies the patch and reads what it touches with the compiler, without making code."""
        apply(mutant, folder / "source")
        for output in self._fewest_objects(mutant):
            self._compile(output, folder, mutant, ["-fsyntax-only"])

    def _fewest_objects(self, mutant):
        """Objects that together include every touched file: one for each source, one for each header."""
        objects, wanted = [], set(mutant.files)
        for output, files in sorted(self.dependencies.items(), key=lambda item: len(item[1])):
            if files & wanted:
                objects.append(output)
                wanted -= files
        return objects

    def make(self, mutant, folder):
        """The mutant's engine as a library in `folder`, or the program with that engine; its path."""
        apply(mutant, folder / "source")
        objects = self.objects_of(mutant)
        made = {output: self._compile(output, folder, mutant, ["-O1"]) for output in objects}
        words = shlex.split(self.link_command)
        output = words.index("-o") + 1
        is_library = words[output].endswith(".so")
        library = folder / (f"libgradcts-{mutant.name}.so" if is_library else mutant.name)
        words[output] = str(library)
        words = [str(made.pop(word, word)) for word in words]
        archive = next(i for i, word in enumerate(words) if word.endswith(".a"))
        words[archive:archive] = [str(path) for path in made.values()]
        self._call(words)
        return library

