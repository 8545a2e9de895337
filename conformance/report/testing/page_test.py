"""Tests of the page in a real browser.

usage: page_test.py GRADCTS LIARS [unittest arguments]
LIARS is the folder of the engines that lie; the reference engine stands where GRADCTS finds it.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find_browser  # noqa: E402

GRADCTS, LIARS = "", ""
PATTERNS = ("root", "acc/fan-in/edges", "stream", "thread", "prune")
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def gradcts(*arguments, status=(0,)):
    result = subprocess.run([GRADCTS, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            errors="replace", timeout=300, check=False)
    if result.returncode not in status:
        raise AssertionError(f"gradcts {' '.join(arguments)}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result


def read_records(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_records(path, records):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


class PageTest(unittest.TestCase):
    """One browser and the runs, shared by all cases."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.good, cls.bad = cls.path("good.jsonl"), cls.path("bad.jsonl")
        gradcts("run", *PATTERNS, "--report", f"json={cls.good}", "--report", f"html={cls.path('good.html')}")
        liar = os.path.join(LIARS, "libgradcts-lying-drops-an-edge.so")
        gradcts("run", *PATTERNS, "--engine", liar, "--report", f"json={cls.bad}", "--report",
                f"html={cls.path('bad.html')}", status=(1,))
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def setUp(self):
        self.browser.size(1400, 900)
        self.browser.prefer("light")

    def open(self, page, fragment=""):
        self.browser.open(page if "/" in page else self.path(page), fragment)
        self.assertEqual(self.browser.errors, [])

    def tearDown(self):
        self.assertEqual(self.browser.errors, [], "the page complained on the console")

    def run_js(self, script):
        return self.browser.run(script)

    def text(self, selector):
        return self.run_js(f"document.querySelector({json.dumps(selector)})?.innerText")

    def texts(self, selector):
        return self.run_js(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def count(self, selector):
        return self.run_js(f"document.querySelectorAll({json.dumps(selector)}).length")

    def shown(self):
        """How many cases the list has, not how many rows exist."""
        return int(self.text("#count").split()[0].replace(",", ""))

    def set_value(self, selector, value):
        self.run_js(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};
            e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input", {{bubbles: true}})); }})()""")


class Passing(PageTest):
    def test_it_says_that_all_is_well(self):
        self.open("good.html")
        self.assertIn("all as expected", self.text("#headline"))
        records = [r for r in read_records(self.good) if r["record"] == "scenario"]
        self.assertEqual(self.shown(), len(records))
        self.assertIn("No clause was broken", self.text("#detail"))
        self.assertEqual(set(self.texts("#area-table .code")), {r["clauses"][0].rsplit("-", 1)[0] for r in records})

    def test_a_case_shows_graph_program_and_clauses_in_full(self):
        clause = json.loads(gradcts("list", "--clauses", "--json").stdout)
        texts = {entry["id"]: entry["text"] for entry in clause}
        record = next(r for r in read_records(self.good) if r["record"] == "scenario" and len(r["scenario"]["nodes"]) > 1)
        self.open("good.html", f"#case={record['id']}")
        detail = self.text("#detail")
        for part in (record["title"], record["replay"], *(texts[clause] for clause in record["clauses"])):
            self.assertIn(part, detail)
        vertices = len(record["scenario"]["nodes"]) + len(record["scenario"]["leaves"])
        self.assertEqual(self.count("#detail svg .vertex"), vertices)
        for node in record["scenario"]["nodes"]:
            self.assertIn(node["name"], self.texts("#detail svg .strong"))
        self.assertGreater(self.count("#detail .program li"), 1)

    def test_captured_and_pruned_nodes_are_marked(self):
        found = set()
        for record in read_records(self.good):
            if record["record"] != "scenario" or not record["id"].startswith("prune"):
                continue
            self.open("good.html", f"#case={record['id']}")
            found |= {name for name in ("captured", "still") if self.count(f"#detail svg .{name}")}
            if len(found) == 2:
                return
        self.fail(f"of all cases of PRUNE none shows both: {found}")

    def test_nodes_stand_by_device(self):
        record = next(r for r in read_records(self.good) if r["record"] == "scenario" and r["id"].startswith("stream"))
        self.open("good.html", f"#case={record['id']}")
        self.assertGreater(self.count("#detail svg .d1"), 0)
        self.assertIn("sim:0", self.texts("#detail .legend li"))

    def test_names_for_screen_readers(self):
        self.open("bad.html")
        self.run_js("document.getElementById('list').focus()")
        self.browser.press("ArrowDown")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        nameless = [node["role"]["value"] for node in nodes if not node.get("ignored") and
                    node.get("role", {}).get("value") in ("button", "searchbox", "combobox", "listbox", "option", "tab", "image", "link",
                                                          "article", "region", "search") and
                    not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])
        roles = {node["role"]["value"] for node in nodes if not node.get("ignored") and "role" in node}
        for role in ("banner", "main", "search", "listbox", "option", "table", "heading", "status"):
            self.assertIn(role, roles)


class Failing(PageTest):
    def failures(self):
        return [r for r in read_records(self.bad) if r.get("verdict") == "fail"]

    def test_it_says_so(self):
        self.open("bad.html")
        self.assertIn(f"{len(self.failures())} results of", self.text("#headline"))
        self.assertIn("not as expected", self.text("#headline"))
        self.assertGreater(self.count("#detail .broken tbody tr"), 1)
        self.assertEqual(self.run_js("document.querySelector('#list .row .badge').className"), "badge v-fail")

    def test_filters(self):
        self.open("bad.html")
        records = [r for r in read_records(self.bad) if r["record"] == "scenario"]
        every = len(records)
        self.browser.click('[data-verdict="fail"]')
        self.assertEqual(self.shown(), len(self.failures()))
        self.browser.click('[data-verdict="pass"]')
        self.assertEqual(self.shown(), sum(r["verdict"] in ("fail", "pass") for r in records))
        self.browser.click("#reset")
        self.assertEqual(self.shown(), every)
        clause = self.failures()[0]["findings"][0]["clause"]
        self.set_value("#clause", clause)
        self.assertEqual(self.shown(), sum(clause in r["clauses"] or clause in [f["clause"] for f in r["findings"]] for r in records))
        self.browser.click("#reset")
        feature = "pass.inputs" if any("pass.inputs" in r["features"] for r in records) else records[0]["features"][0]
        self.set_value("#feature", feature)
        self.assertEqual(self.shown(), sum(feature in r["features"] for r in records))
        self.browser.click("#reset")
        self.browser.click('#area-table [data-area="ACC"]')
        self.assertEqual(self.shown(), sum(any(c.startswith("ACC-") for c in r["clauses"]) for r in records))
        self.browser.click("#reset")
        words = records[3]["id"].split("/")
        self.set_value("#text", f"{words[-1]} {words[0].upper()}")
        self.assertGreaterEqual(self.shown(), 1)
        self.assertLess(self.shown(), every)
        self.set_value("#text", "no such text anywhere")
        self.assertEqual(self.shown(), 0)
        self.assertEqual(self.count("#list .row"), 0)

    def test_a_failing_case_shows_its_evidence(self):
        record = self.failures()[0]
        self.open("bad.html", f"#case={record['id']}")
        detail = self.text("#detail")
        for finding in record["findings"]:
            for part in ("where", "expected", "observed"):
                self.assertIn(finding[part], detail)
        self.assertIn(record["replay"], detail)
        self.assertGreater(self.count("#detail svg .vertex.bad"), 0, "the failing node in red")
        events = len(record["outcome"]["events"])
        self.assertIn(f"Timeline of {events} event", self.run_js("document.querySelector('.timeline svg[role=img]').getAttribute('aria-label')"))
        self.assertGreater(self.count("#detail svg .item"), 1)

    def test_threads_and_streams_have_lanes_with_waits(self):
        record = next(r for r in self.failures() if r["id"].startswith("stream") and len(r["scenario"].get("streams", [])) > 1)
        self.open("bad.html", f"#case={record['id']}")
        lanes = self.texts(".timeline svg[aria-hidden] text")
        self.assertTrue(any("main thread" in lane for lane in lanes), lanes)
        self.assertTrue(any("thread 1" in lane for lane in lanes), lanes)
        self.assertTrue(any("stream s1" in lane for lane in lanes), lanes)
        self.assertGreater(self.count("#detail svg .arrow"), 0)

    def test_the_replay_command_is_copied_and_works(self):
        record = self.failures()[0]
        self.open("bad.html", f"#case={record['id']}")
        # What is copied is caught here: a browser without a window has no clipboard to read.
        self.run_js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        self.browser.click(".replay button")
        self.assertEqual(self.run_js("window.copied"), record["replay"])
        self.assertEqual(self.text(".replay button"), "Copied")
        self.assertTrue(record["replay"].startswith("gradcts replay "))
        self.assertIn("FAIL " + record["id"], gradcts(*record["replay"].split()[1:], status=(1,)).stdout)

    def test_keys(self):
        self.open("bad.html")
        self.browser.press("/")
        self.assertEqual(self.run_js("document.activeElement.id"), "text")
        self.browser.type("prune")
        self.assertEqual(self.run_js("document.getElementById('text').value"), "prune")
        self.browser.press("ArrowDown")
        self.assertEqual(self.run_js("document.activeElement.id"), "list")
        first = self.text("#detail h2.id")
        self.browser.press("ArrowDown")
        second = self.text("#detail h2.id")
        self.assertNotEqual(first, second)
        self.assertEqual(self.run_js("document.getElementById(document.querySelector('#list').getAttribute('aria-activedescendant'))"
                                     ".querySelector('.id').textContent"), second)
        self.browser.press("Enter")
        self.assertEqual(self.run_js("document.activeElement.id"), "detail")
        self.browser.press("Escape")
        self.assertEqual(self.run_js("document.activeElement.id"), "list")
        self.browser.press("End")
        self.assertEqual(self.run_js("document.querySelector('#list .row[aria-selected=true]').getAttribute('aria-posinset')"),
                         str(self.shown()))
        self.assertIn("text=prune", self.run_js("location.hash"), "the address keeps what is chosen")

    def test_the_focus_stays_on_a_filter(self):
        self.open("bad.html")
        self.run_js("document.querySelector('[data-verdict=fail]').focus()")
        self.browser.press("Enter")
        self.assertEqual(self.run_js("document.activeElement.dataset.verdict"), "fail")
        self.assertEqual(self.run_js("document.activeElement.getAttribute('aria-pressed')"), "true")

    def test_themes(self):
        paper = "getComputedStyle(document.body).backgroundColor"
        self.open("bad.html")
        light = self.run_js(paper)
        self.browser.prefer("dark")
        dark = self.run_js(paper)
        self.assertNotEqual(light, dark)
        self.browser.click('#theme [data-theme="light"]')
        self.assertEqual(self.run_js(paper), light, "the switch counts more than the system")
        self.browser.click('#theme [data-theme="auto"]')
        self.assertEqual(self.run_js(paper), dark)
        self.browser.prefer("light")
        self.browser.click('#theme [data-theme="dark"]')
        self.assertEqual(self.run_js(paper), dark)
        self.browser.click('#theme [data-theme="auto"]')

    def test_contrast(self):
        """Text against what it stands on, by the formula of WCAG 2, for every colour that carries meaning."""
        pairs = [("ink", "paper"), ("ink", "panel"), ("soft", "panel"), ("soft", "shade"), ("accent", "panel"), ("fail", "panel"),
                 ("pass", "panel"), ("hang", "panel"), ("crash", "panel"), ("error", "panel"), ("unsupported", "panel"), ("unsupported", "shade"), ("hang", "warn-soft"),
                 ("fail", "fail-soft"), ("pass", "pass-soft"), ("ink", "chosen"), ("ink", "node"), ("ink", "device-1"), ("ink", "device-2")]
        self.open("bad.html")
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            for text, ground in pairs:
                colours = [self.run_js(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()")
                           for name in (text, ground)]
                light, dark = sorted(map(self.luminance, colours), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, f"{text} on {ground}, {scheme}: {colours}")

    @staticmethod
    def luminance(colour):
        channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def test_a_narrow_window(self):
        self.browser.size(380, 800)
        self.open("bad.html")
        self.assertLessEqual(self.run_js("document.documentElement.scrollWidth"), 380, "nothing sticks out")
        self.assertFalse(self.run_js("document.getElementById('detail').checkVisibility()"))
        self.browser.click("#list .row")
        self.assertTrue(self.run_js("document.getElementById('detail').checkVisibility()"))
        self.assertLessEqual(self.run_js("document.getElementById('detail').scrollWidth"), 380)
        self.browser.click("#detail .back")
        self.assertFalse(self.run_js("document.getElementById('detail').checkVisibility()"))


class Several(PageTest):
    def report(self, name, *arguments):
        page = self.path(name)
        gradcts("report", f"html={page}", *arguments)
        return page

    def test_engines_side_by_side(self):
        page = self.report("both.html", self.good, self.bad)
        self.open(page)
        self.assertEqual(self.count("#runs .run"), 2)
        self.assertEqual(len(self.texts("#area-table thead th")), 3)
        record = next(r for r in read_records(self.bad) if r.get("verdict") == "fail")
        self.open(page, f"#case={record['id']}")
        self.assertEqual(self.texts(".tabs [aria-selected]").__len__(), 2)
        self.browser.click(".tabs button:nth-child(1)")
        self.assertIn("pass", self.text("#detail .verdict").lower())
        self.browser.press("ArrowRight")
        self.assertIn("fail", self.text("#detail .verdict").lower())
        failing = self.count('[data-verdict="fail"]')
        self.assertEqual(failing, 1)
        self.set_value("#run", "0")
        self.assertEqual(self.count('[data-verdict="fail"]'), 0, "the first engine has no failure")

    def test_comparison_with_an_earlier_run(self):
        now = read_records(self.good)
        earlier = copy.deepcopy(now)
        scenarios = [r for r in earlier if r["record"] == "scenario" and r["verdict"] == "pass"]
        scenarios[0]["verdict"] = "crash"  # fixed since
        scenarios[1]["flaky"] = True
        current = [r for r in now if r["record"] == "scenario" and r["verdict"] == "pass"]
        current[2].update(verdict="fail", as_expected=False,
                          findings=[{"clause": "ROOT-1", "where": "x", "expected": "1", "observed": "2"}])
        earlier.remove(scenarios[3])  # added since
        now.remove(current[4])  # gone
        now[0]["scenarios"] = now[0]["suite_size"] = sum(r["record"] == "scenario" for r in now)
        old, new = self.path("old.jsonl"), self.path("new.jsonl")
        write_records(old, earlier)
        write_records(new, now)
        self.open(self.report("compared.html", new, "--against", old))
        facts = self.text("#runs .run")
        for part in ("1 new failure", "1 fixed", "1 new cases that pass", "1 gone"):
            self.assertIn(part, facts)
        self.assertIn(current[4]["id"], self.text("#detail"))
        self.set_value("#change", "new")
        self.assertEqual(self.texts("#list .row .id"), [current[2]["id"]])
        self.set_value("#change", "fixed")
        self.assertEqual(self.texts("#list .row .id"), [scenarios[0]["id"]])
        self.browser.click("#list .row")
        self.assertIn("it was crash in the earlier run", self.text("#detail .verdict"))
        self.browser.click("#reset")
        self.browser.click('[data-verdict="flaky"]')
        self.assertEqual(self.texts("#list .row .id"), [scenarios[1]["id"]])

    def test_a_run_that_was_cut_short(self):
        with open(self.bad, encoding="utf-8") as file:
            text = file.read()
        cut = self.path("cut.jsonl")
        with open(cut, "w", encoding="utf-8") as file:
            file.write(text[:len(text) // 2])
        self.open(self.report("cut.html", cut))
        self.assertIn("cut short", self.text("#runs"))
        self.assertGreater(self.shown(), 1)

    def test_whatever_an_engine_writes_stays_text(self):
        records = read_records(self.bad)
        record = next(r for r in records if r.get("verdict") == "fail")
        record.update(title=HOSTILE, note=HOSTILE, detail=HOSTILE, replay=HOSTILE)
        record["findings"][0].update(where=HOSTILE, expected=HOSTILE, observed=HOSTILE)
        record["scenario"]["title"] = HOSTILE
        hostile = self.path("hostile.jsonl")
        write_records(hostile, records)
        self.open(self.report("hostile.html", hostile), f"#case={record['id']}")
        self.assertIn(HOSTILE, self.text("#detail"))
        self.assertIsNone(self.run_js("window.hacked ?? null"))
        self.assertEqual(self.count("img"), 0)

    def test_ten_thousand_cases(self):
        records = read_records(self.good) + [r for r in read_records(self.bad) if r["record"] == "scenario"]
        header, scenarios = records[0], [r for r in records if r["record"] == "scenario"]
        many = [header]
        for i in range(10000):
            record = dict(scenarios[i % len(scenarios)])
            record["id"] = f"{record['id']}/{i}"
            many.append(record)
        header["scenarios"] = header["suite_size"] = 10000
        large = self.path("large.jsonl")
        write_records(large, many)
        self.open(self.report("large.html", large))
        self.assertEqual(self.shown(), 10000)
        self.assertLess(self.count("#list .row"), 60, "only the rows in sight exist")
        self.run_js("document.getElementById('list').focus()")
        self.browser.press("End")
        self.assertEqual(self.run_js("document.querySelector('#list .row[aria-selected=true]').getAttribute('aria-posinset')"), "10000")
        self.assertIn("Graph", self.text("#detail"))
        self.set_value("#text", "/9999")
        self.assertEqual(self.texts("#list .row .id"), [many[-1]["id"]])


if __name__ == "__main__":
    if not find_browser():
        sys.exit("page_test.py: no Chromium is installed; ci/setup --tests installs it")
    GRADCTS, LIARS = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
