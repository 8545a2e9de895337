"""Builds a mutant of the reference engine beside an existing build: only what it touches is compiled again.

The patched files lie in an overlay folder that comes first on the include path, so that every object that
includes a patched header sees the patched one. The objects go before the archives on the link line and so
take the place of the archives' members. What all sources include of other libraries is read once, as a
precompiled header: half of the time goes there.
"""
import pathlib
import shlex
import subprocess
import tempfile
import threading

from patch_files import ROOT, apply

# The engine's adapter; and the same from all sources anew, for controlled schedules: gradcts-rebuilt-reference.
ADAPTER = "gradcts-reference"
COMMON_HEADERS = ("algorithm", "atomic", "chrono", "condition_variable", "cstdio", "functional", "map", "memory", "mutex",
                  "optional", "regex", "set", "string", "thread", "unordered_map", "variant", "vector",
                  "absl/container/flat_hash_map.h", "absl/container/inlined_vector.h", "absl/types/span.h",
                  "nlohmann/json.hpp")


class BuildFailed(Exception):
    """The first of the compiler's or linker's words; `output` has all of them."""

    def __init__(self, first, output=""):
        super().__init__(first)
        self.output = output


class EngineBuild:
    """An existing build folder (Ninja) with the target built; reads it and changes nothing."""

    def __init__(self, build, target=ADAPTER):
        self.build, self.target = pathlib.Path(build).resolve(), target
        commands = self._ninja("-t", "commands", target).splitlines()
        self.link_command = self._part_of(commands[-1])
        linked = shlex.split(self.link_command)
        if not (self.build / linked[linked.index("-o") + 1]).exists():
            raise SystemExit(f"mutants: {target} is not built: cmake --build {build} --target {target}")
        outputs = set()
        self.compile_commands = {}
        for line in commands:
            words = shlex.split(line)
            if "-c" in words:
                source, output = words[words.index("-c") + 1], words[words.index("-o") + 1]
                self.compile_commands[output] = (words, source)
                outputs.add(output)
        self.dependencies = self._dependencies(outputs)
        self.common = {}  # flags to the header that is precompiled with them
        self.common_folder = tempfile.TemporaryDirectory(prefix="gradcts-common-")
        self.common_lock = threading.Lock()

    @staticmethod
    def _part_of(link):
        """The link itself, of `: && link && :`."""
        return [part for part in link.split(" && ") if part.strip() not in (":", "")][0]

    def _ninja(self, *arguments):
        done = subprocess.run(["ninja", "-C", str(self.build), "--quiet", *arguments],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"mutants: {self.build}: not a Ninja build with {self.target}: {done.stdout}{done.stderr}")
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

    def objects_among(self, outputs):
        """Those of the outputs that the target is made of."""
        return [output for output in outputs if output in self.compile_commands]

    def objects_of(self, mutant):
        return [output for output, files in self.dependencies.items() if files & set(mutant.files)]

    def _source(self, source, overlay, mutant):
        """What is compiled in place of the source. One that CMake made of several (CMAKE_UNITY_BUILD) names these
        by their absolute paths, so it is copied with others."""
        path = (self.build / source).resolve()
        relative = str(path.relative_to(ROOT))
        if relative in mutant.files:
            return overlay / relative
        if path.parent.name != "Unity":
            return source
        text = path.read_text()
        for name in mutant.files:
            text = text.replace(f'"{ROOT / name}"', f'"{overlay / name}"')
        copy = overlay / path.name
        copy.write_text(text)
        return copy

    def compile(self, output, folder, mutant, extra):
        """The object anew, from the overlay `folder`/source; its path."""
        words, source = self.compile_commands[output]
        words, overlay = list(words), folder / "source"
        words[words.index("-c") + 1] = str(self._source(source, overlay, mutant))
        target = folder / output.replace("/", "_")
        words[words.index("-o") + 1] = str(target)
        for flag in ("-MF", "-MT"):
            if flag in words:
                del words[words.index(flag):words.index(flag) + 2]
        words = [word for word in words if word != "-MD"]
        compiler = next(i for i, word in enumerate(words) if word.endswith(("++", "g++-12")) or "clang" in word)
        words = words[compiler:] + ["-w", *extra]  # without a cache: the overlay is another one each time
        words[1:1] = [*self._common_header(words), "-I", str(overlay)]
        self._call(words)
        return target

    def _common_header(self, words):
        """The flags that include the precompiled header that fits these; none with Clang, which has another way."""
        if "clang" in words[0]:
            return []
        flags = list(words)
        for flag in ("-o", "-c"):
            del flags[flags.index(flag):flags.index(flag) + 2]
        with self.common_lock:
            if tuple(flags) not in self.common:
                header = pathlib.Path(self.common_folder.name) / f"common{len(self.common)}.h"
                lines = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in COMMON_HEADERS]
                header.write_text("".join(lines))
                self._call([*flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
                self.common[tuple(flags)] = header
            return ["-include", str(self.common[tuple(flags)])]

    def _call(self, words):
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise BuildFailed(errors[0] if errors else f"{words[0]} failed", done.stderr)

    def check(self, mutant, folder):
        """Applies the patch and reads what it touches with the compiler, without making code."""
        apply(mutant, folder / "source")
        for output in self._fewest_objects(mutant):
            self.compile(output, folder, mutant, ["-fsyntax-only"])

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
        made = {output: self.compile(output, folder, mutant, ["-O1"]) for output in objects}
        return self.link(mutant.name, made, folder)

    def link(self, name, made, folder):
        """The library or program with these objects in place of the build's (`made`: the build's to the new)."""
        made = dict(made)
        words = shlex.split(self.link_command)
        output = words.index("-o") + 1
        is_library = words[output].endswith(".so")
        library = folder / (f"libgradcts-{name}.so" if is_library else name)
        words[output] = str(library)
        words = [str(made.pop(word, word)) for word in words]
        archive = next(i for i, word in enumerate(words) if word.endswith(".a"))
        words[archive:archive] = [str(path) for path in made.values()]
        self._call(words)
        return library

