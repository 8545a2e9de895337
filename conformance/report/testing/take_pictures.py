"""Takes the pictures of the documentation: a passing run in the light theme, a failing one in the dark.

usage: take_pictures.py GRADCTS LIARS FOLDER

Give LIARS as a relative path: it shows in the pictures. They are 16 million colours; those of the documentation were
reduced to 64, to be small.
"""

import base64
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402


def main(gradcts, liars, folder):
    with tempfile.TemporaryDirectory() as work:
        run = [gradcts, "run", "--quiet", "--report"]
        passing, failing = os.path.join(work, "passing.html"), os.path.join(work, "failing.html")
        subprocess.run([*run, f"html={passing}"], stdout=subprocess.DEVNULL, check=True)
        liar = os.path.join(liars, "libgradcts-lying-drops-an-edge.so")
        subprocess.run([*run, f"html={failing}", "--engine", liar], stdout=subprocess.DEVNULL, check=False)
        browser = Browser()
        try:
            for name, page, scheme, fragment in (
                    ("report-passing", passing, "light", "#case=prune/bounded/way-through-the-past"),
                    ("report-failing", failing, "dark", "#verdict=fail&case=stream/waits/producers/s1-s2-s1")):
                browser.size(1400, 860)
                browser.prefer(scheme)
                browser.open(page, fragment)
                browser.run("[...document.querySelectorAll('#detail h3')].find(e => e.textContent === 'Graph')"
                            ".scrollIntoView()")
                with open(os.path.join(folder, name + ".png"), "wb") as file:
                    file.write(base64.b64decode(browser.picture()))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
