"""Takes the pictures of the documentation: a passing and a failing run, each in both themes, and on a narrow window.

usage: take_pictures.py GRADCTS LIARS FOLDER

Give LIARS as a relative path: it shows in the pictures. They are reduced to 64 colours, to be small, with Pillow (python3-pil).
"""

import base64
import io
import os
import subprocess
import sys
import tempfile

from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402


WIDE, NARROW = (1400, 860), (420, 860)
PASSING_CASE = "#case=prune/bounded/way-through-the-past"
FAILING_CASE = "#verdict=fail&case=stream/waits/producers/s1-s2-s1"


def save(png, path):
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def main(gradcts, liars, folder):
    with tempfile.TemporaryDirectory() as work:
        run = [gradcts, "run", "--quiet", "--report"]
        passing, failing = os.path.join(work, "passing.html"), os.path.join(work, "failing.html")
        subprocess.run([*run, f"html={passing}"], stdout=subprocess.DEVNULL, check=True)
        liar = os.path.join(liars, "libgradcts-lying-drops-an-edge.so")
        subprocess.run([*run, f"html={failing}", "--engine", liar], stdout=subprocess.DEVNULL, check=False)
        browser = Browser()
        try:
            for name, page, scheme, size, fragment in (
                    ("report-passing", passing, "light", WIDE, PASSING_CASE),
                    ("report-passing-dark", passing, "dark", WIDE, PASSING_CASE),
                    ("report-failing", failing, "dark", WIDE, FAILING_CASE),
                    ("report-failing-light", failing, "light", WIDE, FAILING_CASE),
                    ("report-narrow", failing, "light", NARROW, FAILING_CASE)):
                browser.size(*size)
                browser.prefer(scheme)
                browser.open(page, fragment)
                browser.run("[...document.querySelectorAll('#detail h3')].find(e => e.textContent === 'Graph')"
                            ".scrollIntoView()")
                save(base64.b64decode(browser.picture()), os.path.join(folder, name + ".png"))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
