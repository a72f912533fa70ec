#!/usr/bin/env python3
"""report.html in headless Chromium: no errors, no requests, tables that sort and
filter, and text that stays text.

$LLMPROF names the program. Exit status 77: selenium, Chromium or its driver is
missing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    webdriver = None  # type: ignore[assignment]

HERE = Path(__file__).resolve().parent
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")

HAS_INK = """
const pixels = arguments[0].getContext("2d")
  .getImageData(0, 0, arguments[0].width, arguments[0].height).data;
return pixels.some((value) => value !== 0);
"""


def missing():
    if webdriver is None:
        return f"{sys.executable} has no selenium"
    if not CHROMIUM or not DRIVER:
        return "no chromium or chromedriver on the PATH"
    return None


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1300,900",
                     "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def llmprof(*words):
    subprocess.run([os.environ["LLMPROF"], *map(str, words)], check=True,
                   stdout=subprocess.DEVNULL)


class Shown(unittest.TestCase):
    """A page, which make(folder) writes, in a browser; it may complain and load nothing."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = cls.make(Path(cls.folder.name))
        cls.browser = start()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.open(self.page)

    def open(self, page):
        self.browser.get("about:blank")
        self.browser.get(page.as_uri())

    def tearDown(self):
        self.assertEqual([], self.browser.get_log("browser"))
        self.assertEqual([], self.browser.execute_script(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)"))

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)


class Page(Shown):
    @classmethod
    def make(cls, folder):
        llmprof("exec", HERE / "page.lua", folder / "report.html")
        return folder / "report.html"

    def setUp(self):
        super().setUp()
        self.unfold("kernels")

    def unfold(self, name):
        """Open a section, as a click on its title does."""
        summary = self.find(f"#{name} > summary")
        self.browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", summary)
        summary.click()

    def column(self, title):
        """The cells of a column of the kernels that are shown, from top to bottom."""
        heads = [head.text for head in
                 self.browser.find_elements(By.CSS_SELECTOR, "#table-kernels th")]
        index = heads.index(title) + 1
        cells = self.browser.find_elements(
            By.CSS_SELECTOR, f"#table-kernels tbody td:nth-child({index})")
        return [cell.text for cell in cells if cell.is_displayed()]

    def sort(self, title):
        for button in self.browser.find_elements(By.CSS_SELECTOR, "#table-kernels th button"):
            if button.text == title:
                button.click()
                return
        self.fail(f"no column {title}")

    def test_numbers_sort_both_ways(self):
        self.assertEqual(["20.000", "7.000", "5.000"], self.column("total ms"))
        self.sort("calls")
        self.assertEqual(["200", "10", "4"], self.column("calls"))
        self.sort("calls")
        self.assertEqual(["4", "10", "200"], self.column("calls"))
        self.assertEqual(["3", "2", "1"], self.column("#"))

    def test_words_sort_by_the_alphabet(self):
        self.sort("stage")
        self.assertEqual(["decode", "decode", "prefill/sam"], self.column("stage"))
        self.assertEqual("ascending", self.find("#table-kernels th:nth-child(3)")
                         .get_attribute("aria-sort"))

    def test_filter(self):
        self.find("#table-kernels input").send_keys("GEMM<8")
        self.assertEqual(["3"], self.column("#"))
        self.assertEqual("1 of 3 rows", self.find("#table-kernels .tools .note").text)
        self.find("#table-kernels input").clear()
        self.find("#table-kernels input").send_keys(" ")
        Select(self.find("#table-kernels select")).select_by_visible_text("prefill/sam")
        self.assertEqual(["2"], self.column("#"))

    def test_a_column_says_what_it_means(self):
        head = self.find("#table-kernels th:nth-child(6) button")
        self.assertEqual("total ms", head.text)
        self.assertEqual("sum of their durations", head.get_attribute("title"))

    def test_a_table_is_copied_as_it_is_shown(self):
        self.browser.execute_cdp_cmd("Browser.grantPermissions", {
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.find("#table-kernels input").send_keys("gemm")
        self.sort("calls")
        for name, line in (("CSV", "#,kernel,stage"), ("Markdown", "| # | kernel | stage |")):
            self.find(f"#table-kernels [aria-label$='as {name}']").click()
            said = self.find("#table-kernels .copies [role='status']")
            WebDriverWait(self.browser, 10).until(lambda _, said=said: said.text)
            self.assertEqual("2 rows copied", said.text)
            copied = self.browser.execute_async_script(
                "navigator.clipboard.readText().then(arguments[0], arguments[0])")
            self.assertTrue(copied.startswith(line), copied)
            self.assertEqual(3 + (name == "Markdown"), len(copied.splitlines()))

    def test_link_to_a_hidden_row_shows_it(self):
        self.find("#table-kernels input").send_keys("gemm")
        self.assertEqual(["1", "3"], self.column("#"))
        self.unfold("kernels")
        self.find(".moves a[href='#finding-1']").click()
        self.assertTrue(self.find("#finding-1 ul").is_displayed())
        link = self.find("a[href='#kernel-2']")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
        link.click()
        self.assertEqual(["1", "2", "3"], self.column("#"))
        self.assertTrue(self.browser.execute_script(
            "const box = document.getElementById('kernel-2').getBoundingClientRect();"
            "return box.top >= 0 && box.bottom <= innerHeight"))

    def test_names_stay_text(self):
        self.assertIn("<script>alert(1)</script>", self.column("full name"))
        self.assertEqual(0, len(self.browser.find_elements(By.TAG_NAME, "img")))

    def test_charts_are_drawn(self):
        if "built without Chart.js" in self.find("main").text:
            self.skipTest("llmprof was built without Chart.js")
        for section, name in (("stages", "categories"), ("roofline", "roofline"),
                              ("aggregates", "tpot")):
            self.unfold(section)
            canvas = self.find(f"#chart-{name} canvas")
            self.assertTrue(self.browser.execute_script(HAS_INK, canvas), name)

    def test_dark_and_paper(self):
        def background(media, scheme):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "media": media,
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            return self.browser.execute_script(
                "return getComputedStyle(document.body).backgroundColor")

        self.addCleanup(background, "", "light")
        self.assertEqual("rgb(255, 255, 255)", background("screen", "light"))
        self.assertEqual("rgb(20, 23, 27)", background("screen", "dark"))
        self.assertEqual("rgb(255, 255, 255)", background("print", "dark"))

    def frames(self, graph="#flame-1"):
        """Functions of the flame graph, by name."""
        return {element.find_element(By.CSS_SELECTOR, "text").get_attribute("textContent"): element
                for element in self.browser.find_elements(By.CSS_SELECTOR, f"{graph} svg svg")}

    def place(self, name):
        """Where a function begins and how wide it is, as shares of the graph; None: hidden."""
        return self.browser.execute_script(
            "const frame = arguments[0].querySelector('rect').getBoundingClientRect();"
            "const graph = arguments[0].ownerSVGElement.getBoundingClientRect();"
            "return frame.width ? [(frame.left - graph.left) / graph.width,"
            "  frame.width / graph.width] : null;",
            self.frames()[name])

    def assert_place(self, name, left, width):
        place = self.place(name)
        self.assertAlmostEqual(left, place[0], places=2)
        self.assertAlmostEqual(width, place[1], places=2)

    def focused(self):
        return self.browser.execute_script(
            "const text = document.activeElement.querySelector('text');"
            "return text && text.textContent;")

    def test_a_flame_graph_is_as_wide_as_samples(self):
        self.unfold("cpu_samples")
        self.assert_place("main (work)", 0, 1)
        self.assert_place("leaf (work)", 0, 0.6)
        self.assert_place("</script><svg onload=alert(1)>", 0.6, 0.3)
        self.assertEqual("leaf (work): 6 samples, 60.0 %; in itself 60.0 %",
                         self.frames()["leaf (work)"].find_element(By.CSS_SELECTOR, "title")
                         .get_attribute("textContent"))
        graph = self.find("#flame-1 .stacks > svg")
        self.assertTrue(graph.accessible_name)
        self.assertIn("leaf (work)", self.frames()["leaf (work)"].accessible_name)

    def test_a_click_widens_a_function(self):
        self.unfold("cpu_samples")
        whole = self.find("#flame-1 .tools button")
        self.assertFalse(whole.is_displayed())
        self.frames()["run (work)"].find_element(By.CSS_SELECTOR, "rect").click()
        self.assert_place("run (work)", 0, 1)
        self.assert_place("leaf (work)", 0, 1)
        self.assert_place("main (work)", 0, 1)
        self.assertIsNone(self.place("</script><svg onload=alert(1)>"))
        self.assertIn("run (work): 6 samples", self.find("#flame-1 .said").text)
        whole.click()
        self.assert_place("run (work)", 0, 0.6)

    def test_a_kernel_has_the_stack_that_launched_it(self):
        self.unfold("lines")
        frames = self.frames("#flame-lines-1")
        self.assertEqual(["forward (model.py:5)", "gemm", "</script><svg onload=alert(1)>"],
                         list(frames))
        self.assertEqual(self.browser.execute_script(
            "const { colours } = JSON.parse(document.getElementById('data').textContent);"
            "const probe = document.createElement('i');"
            "probe.style.color = `var(--${colours.gemm})`;"
            "document.body.append(probe);"
            "return getComputedStyle(probe).color"), self.browser.execute_script(
                "return getComputedStyle(arguments[0].querySelector('rect')).fill",
                frames["gemm"]))
        frames["gemm"].find_element(By.CSS_SELECTOR, "rect").click()
        self.assertIn("gemm: 6.00 ms, 60.0 %", self.find("#flame-lines-1 .said").text)
        frames["forward (model.py:5)"].find_element(By.CSS_SELECTOR, "rect").click()
        self.assertIn("forward (m/layers/model.py:5): 6.00 ms, 60.0 %; itself 0.0 %",
                      self.find("#flame-lines-1 .said").text)
        self.assertIn("4 x </script>", self.find("#table-lines tbody").text)

    def test_keys_go_through_a_flame_graph(self):
        self.unfold("cpu_samples")
        stops = self.browser.find_elements(By.CSS_SELECTOR, "#flame-1 [tabindex='0']")
        self.assertEqual(1, len(stops))
        self.browser.execute_script("arguments[0].focus()", stops[0])
        for key, name in ((Keys.ARROW_DOWN, "run (work)"),
                          (Keys.ARROW_RIGHT, "</script><svg onload=alert(1)>"),
                          (Keys.ARROW_LEFT, "run (work)"), (Keys.ARROW_DOWN, "leaf (work)"),
                          (Keys.ARROW_DOWN, "leaf (work)"), (Keys.ARROW_UP, "run (work)")):
            ActionChains(self.browser).send_keys(key).perform()
            self.assertEqual(name, self.focused())
        ActionChains(self.browser).send_keys(Keys.ENTER).perform()
        self.assert_place("run (work)", 0, 1)
        ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.assert_place("run (work)", 0, 0.6)


class Drawn(Shown):
    """What tests of a page with a timeline share."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if "events-data" not in cls.page.read_text(encoding="utf-8"):
            raise unittest.SkipTest("llmprof was built without D3")

    def open(self, page):
        super().open(page)
        WebDriverWait(self.browser, 60).until(
            lambda browser: browser.find_element(By.ID, "events").is_displayed())

    def canvas(self):
        return self.find("#events canvas")

    def view(self):
        """From when until when the timeline shows, in ns, once it is drawn."""
        return self.browser.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => {"
            "const { from, until } = document.querySelector('#events canvas').dataset;"
            "done([Number(from), Number(until)]); }));")

    def length(self):
        first, last = self.view()
        return last - first

    def press(self, *keys):
        self.browser.execute_script("arguments[0].focus()", self.canvas())
        ActionChains(self.browser).send_keys(*keys).perform()

    def look_for(self, word):
        self.find("#events input").send_keys(word, Keys.ENTER)


class Timeline(Drawn):
    """The timeline of a recorded run."""

    @classmethod
    def make(cls, folder):
        llmprof("recipes/alt_llm.lua", "capture=recorded",
                "recorded=tests/fixtures/recorded/alt_llm", f"run.root={folder}")
        return folder / "latest" / "report.html"

    def kernel(self):
        """The name of the largest kernel, as its row has it, up to what is shortened."""
        row = self.browser.execute_script(
            "return document.querySelector('#kernel-1 code').textContent")
        return row.split("\u2026")[0].split("<")[0]

    def test_it_is_drawn_with_names(self):
        self.assertTrue(self.browser.execute_script(HAS_INK, self.canvas()))
        first = self.browser.execute_script(
            "return performance.getEntriesByType('paint')[0].startTime")
        print(f"first paint after {first:.0f} ms, the timeline painted in",
              self.canvas().get_attribute("data-paint"), "ms", file=sys.stderr)
        for element in self.browser.find_elements(
                By.CSS_SELECTOR, "#events button, #events input, #events canvas"):
            self.assertTrue(element.accessible_name, element.get_attribute("outerHTML"))

    def test_the_first_screen_has_all_of_it(self):
        """From what runs to how far to trust it, where there is room and where there is little;
        what a gain assumes stands there, too, where there is room."""
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        for width in (1400, 420):
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            box = "return arguments[0].getBoundingClientRect()"
            trust = self.browser.execute_script(box, self.find("header > .note:last-of-type"))
            self.assertLessEqual(trust["bottom"], 900, width)
            self.assertGreaterEqual(width, self.browser.execute_script(
                "return document.documentElement.scrollWidth"))
            move = self.find(".moves li").text
            self.assertIn("torch.compile", move)
            self.assertEqual(width == 1400, "gains if" in move)

    def test_a_new_size_is_drawn_at_once(self):
        """A canvas of a new size is empty: none is on the screen like that."""
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_script(
            "window.sizes = [];"
            "const canvas = arguments[0];"
            "const pen = canvas.getContext('2d');"
            "const fill = pen.fillRect.bind(pen);"
            "let painted = canvas.width;"
            "pen.fillRect = (...box) => { painted = canvas.width; fill(...box); };"
            "new ResizeObserver(() => window.sizes.push([canvas.width, painted]))"
            "  .observe(canvas.parentElement);", self.canvas())
        for width in (1000, 700):
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            WebDriverWait(self.browser, 30).until(
                lambda _, width=width: self.browser.execute_script(
                    "return window.sizes.at(-1)?.[0] <= arguments[0]", width))
        for size, painted in self.browser.execute_script("return window.sizes"):
            self.assertEqual(size, painted)

    def test_the_timeline_has_the_categories_of_the_charts(self):
        names = {entry.text for entry in
                 self.browser.find_elements(By.CSS_SELECTOR, "#events .legend button")}
        stages = self.browser.execute_script(
            "return JSON.parse(document.getElementById('data').textContent)"
            ".categories.series.map(({ name }) => name)")
        self.assertIn("memory", names)
        self.assertLessEqual(set(stages) - {"other", "GPU idle"}, names)

    def test_keys_zoom_and_move(self):
        before = self.length()
        self.press("www")
        self.assertAlmostEqual(before / 1.5 ** 3, self.length(), delta=before / 1e4)
        first, last = self.view()
        self.press("d")
        self.assertGreater(self.view()[0], first)
        self.press("aa")
        self.assertLess(self.view()[1], last)
        self.press("0")
        self.assertGreaterEqual(self.length(), before - 1)
        self.look_for(self.kernel())
        self.press("f")
        took = float(self.browser.execute_script(
            "return document.querySelector('#events .detail dd').textContent").split()[0])
        self.assertAlmostEqual(1.1 * took * 1e3, self.length(), delta=0.02e3 + 2)

    def test_the_wheel_zooms_once_it_was_clicked(self):
        before, origin = self.length(), ScrollOrigin.from_element(self.canvas())
        ActionChains(self.browser).scroll_from_origin(origin, 0, -120).perform()
        self.assertEqual(before, self.length())
        self.browser.execute_script("arguments[0].focus()", self.canvas())
        self.browser.execute_script(
            "arguments[0].dispatchEvent(new WheelEvent('wheel', { deltaY: -120, bubbles: true,"
            " cancelable: true, clientX: 600, clientY: 500 }))", self.canvas())
        self.assertLess(self.length(), before)

    def test_dragging_moves(self):
        self.press("wwww")
        before = self.view()
        ActionChains(self.browser).move_to_element(self.canvas()).click_and_hold() \
            .move_by_offset(-150, 0).release().perform()
        after = self.view()
        self.assertGreater(after[0], before[0])
        self.assertAlmostEqual(after[1] - after[0], before[1] - before[0], delta=2)

    def test_two_fingers_zoom(self):
        self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled",
                                     {"enabled": True, "maxTouchPoints": 2})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setTouchEmulationEnabled",
                        {"enabled": False})
        self.open(self.page)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})",
                                    self.canvas())
        box = self.browser.execute_script(
            "const box = arguments[0].getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]", self.canvas())
        before = self.length()
        for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchMove", 120),
                            ("touchEnd", None)):
            points = [] if apart is None else [{"x": box[0] - apart, "y": box[1], "id": 1},
                                               {"x": box[0] + apart, "y": box[1], "id": 2}]
            self.browser.execute_cdp_cmd("Input.dispatchTouchEvent",
                                         {"type": kind, "touchPoints": points})
        self.assertLess(self.length(), before)

    def test_search_and_click_name_the_kernel_and_lead_to_its_row(self):
        self.look_for(self.kernel())
        self.assertIn("1 of ", self.find("#events .status").text)
        said = self.find("#events .detail").text
        self.assertIn(self.kernel(), said)
        for fact in ("stage", "launched by", "delay", "took"):
            self.assertIn(fact, said)
        self.press(Keys.ARROW_RIGHT)
        self.assertNotEqual(said, self.find("#events .detail").text)
        self.press(Keys.ARROW_LEFT)
        self.assertEqual(said, self.find("#events .detail").text)
        link = self.find("#events .detail a")
        target = link.get_attribute("hash")
        link.click()
        self.assertTrue(self.browser.execute_script(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return box.top >= 0 && box.bottom <= innerHeight", target))

    def test_the_pointer_names_what_is_below_it(self):
        self.look_for(self.kernel())
        canvas, tip = self.canvas(), self.find("#events .tip")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        height = canvas.rect["height"]
        gutter = min(190, canvas.rect["width"] // 4)
        for lane in range(int((height - 22) / 18)):  # the event is in the middle of one of them
            ActionChains(self.browser).move_to_element_with_offset(
                canvas, gutter // 2, 31 + 18 * lane - int(height / 2)).perform()
            self.view()
            if tip.is_displayed() and self.kernel() in tip.text:
                break
        for fact in (self.kernel(), "took", "stage", "category", "launched by"):
            self.assertIn(fact, tip.text)
        ActionChains(self.browser).move_to_element(self.find("h1")).perform()
        self.view()
        self.assertFalse(tip.is_displayed())

    def test_dragging_with_shift_measures(self):
        before, canvas = self.view(), self.canvas()
        ActionChains(self.browser).move_to_element(canvas).key_down(Keys.SHIFT).click_and_hold() \
            .move_by_offset(120, 0).release().key_up(Keys.SHIFT).perform()
        said = self.find("#events .detail").text
        for fact in ("time", "kernels", "GPU busy", "idle", "gemm"):
            self.assertIn(fact, said)
        self.assertEqual(before, self.view())
        self.press("m")
        self.assertNotEqual(said, self.find("#events .detail").text)
        self.press(Keys.ESCAPE)
        self.assertEqual("", self.find("#events .detail").text)

    def test_the_legend_shows_a_category_alone(self):
        entry = self.find("#events .legend button")
        fill = self.browser.execute_script(
            "return getComputedStyle(arguments[0].querySelector('i')).backgroundColor", entry)
        self.assertEqual(self.browser.execute_script(
            "const { colours } = JSON.parse(document.getElementById('data').textContent);"
            "const probe = document.createElement('i');"
            "probe.style.background = `var(--${colours[arguments[0]]})`;"
            "document.body.append(probe);"
            "return getComputedStyle(probe).backgroundColor", entry.text), fill)
        entry.click()
        self.assertRegex(self.find("#events .status").text, r"^[\d,]+ events$")
        self.assertEqual("true", entry.get_attribute("aria-pressed"))
        entry.click()
        self.assertEqual("", self.find("#events .status").text)

    def test_each_kernel_lies_in_its_stage(self):
        self.look_for("gemm")
        for _ in range(40):
            self.assertRegex(self.find("#events .detail").text, r"stage\s(prefill|decode)\s")
            self.press("n")

    def test_marks_of_the_axis_do_not_overlap(self):
        self.look_for(self.kernel())
        for _ in range(8):
            ends = self.browser.execute_async_script(
                "const [canvas, done] = [document.querySelector('#events canvas'), arguments[0]];"
                "const pen = canvas.getContext('2d');"
                "const [write, ends] = [pen.fillText, []];"
                "pen.fillText = (text, x, y) => {"
                "  if (/^[\\d,.]+ (ns|µs|ms|s)$/.test(text) && y < 20)"
                "    ends.push([x, x + pen.measureText(text).width]);"
                "  write.call(pen, text, x, y); };"
                "canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'w' }));"
                "requestAnimationFrame(() => requestAnimationFrame(() => {"
                "  delete pen.fillText; done(ends); }));")
            for i in range(1, len(ends)):
                self.assertLess(ends[i - 1][1], ends[i][0])

    def test_a_search_that_is_deleted_letter_by_letter_ends(self):
        field = self.find("#events input")
        field.send_keys("x")
        self.assertIn(" events", self.find("#events .status").text)
        field.send_keys(Keys.BACKSPACE)
        self.assertEqual("", self.find("#events .status").text)
        before = self.length()  # drawn without an error, which tearDown would find
        self.press("w")
        self.assertLess(self.length(), before)

    def test_a_click_shows_a_name_in_full(self):
        self.find("#kernels > summary").click()
        name = self.find("#table-kernels td > span[title]")
        short, full = name.text, name.get_attribute("title")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", name)
        name.click()
        self.assertEqual(full, name.find_element(By.TAG_NAME, "code").get_attribute("textContent"))
        name.send_keys(Keys.ENTER)
        self.assertEqual(short, name.text)

    def test_a_row_leads_to_its_launches(self):
        self.find("#kernels > summary").click()
        button = self.find("#kernel-1 .jump")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()
        self.assertRegex(self.find("#events .status").text, r"^[\d,]+ of [\d,]+ events$")
        self.assertIn(self.kernel(), self.find("#events .detail").text)
        self.press(Keys.ESCAPE)
        self.assertEqual("", self.find("#events .status").text)
        self.assertEqual("", self.find("#events .detail").text)

    def test_a_gap_and_a_finding_lead_to_their_places(self):
        self.find("#gaps > summary").click()
        row = self.find("#table-gaps tbody tr")
        long, at = (float(row.find_elements(By.TAG_NAME, "td")[i].text.replace(",", ""))
                    for i in (1, 2))
        row.find_element(By.CSS_SELECTOR, ".jump").click()
        first, last = self.view()
        self.assertAlmostEqual(at * 1e6, (2 * first + last) / 3, delta=long * 2e4 + 2000)
        self.assertIn("idle", self.find("#events .detail").text)
        self.find(".moves .jump").click()
        self.assertRegex(self.find("#events .status").text, r"^[\d,]+ of [\d,]+ events$")

    def test_a_link_leads_to_an_event(self):
        self.look_for(self.kernel())
        said = self.find("#events .detail").text
        self.find("#events [data-key=l]").click()
        url = self.browser.current_url
        self.assertRegex(url, r"#t=[\d.]+ms&sel=kernel:\d+$")
        self.browser.get("about:blank")
        self.browser.get(url)
        WebDriverWait(self.browser, 60).until(lambda browser: said == self.find(
            "#events .detail").text)

    def test_lanes_are_collapsed_moved_and_pinned(self):
        def lanes():
            return [name.get_attribute("textContent") for name in
                    self.browser.find_elements(By.CSS_SELECTOR, "#events .names .name")]

        before, height = lanes(), self.canvas().rect["height"]
        name = self.find("#events .names .name.gpu")
        title = name.text
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", name)
        name.click()
        self.view()
        self.assertEqual("false", name.get_attribute("aria-expanded"))
        self.assertEqual(height - 12, self.canvas().rect["height"])
        name.send_keys(Keys.ALT + Keys.ARROW_UP)
        self.view()
        self.assertEqual(before.index(title) - 1, lanes().index(title))
        name.send_keys("p")
        self.view()
        self.assertEqual(title, lanes()[0])
        name.send_keys(Keys.ARROW_DOWN)
        self.assertEqual(lanes()[1], self.browser.execute_script(
            "return document.activeElement.textContent"))
        self.assertEqual(1, len(self.browser.find_elements(
            By.CSS_SELECTOR, "#events .names [tabindex='0']")))

    def test_a_click_selects_what_is_there(self):
        box = self.canvas().rect
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})",
                                    self.canvas())
        # the lanes of stages come first, below the axis
        ActionChains(self.browser).move_to_element_with_offset(
            self.canvas(), 60, 31 - int(box["height"] / 2)).click().perform()
        self.assertIn("stages", self.find("#events .detail").text)

    def test_damaged_data_is_said(self):
        page = self.page.read_text(encoding="utf-8")
        mark = 'id="events-data">'
        at = page.index(mark) + len(mark) + 4000
        broken = Path(self.folder.name) / "broken.html"
        broken.write_text(page[:at] + page[page.index("</script>", at):], encoding="utf-8")
        self.open(broken)
        self.assertIn("cannot be drawn", self.find("#events .status").text)


class Compared(Drawn):
    """Two timelines that are aligned by step."""

    @classmethod
    def make(cls, folder):
        page = folder / "compared.html"
        llmprof("recipes/alt_llm.lua", "capture=recorded",
                "recorded=tests/fixtures/recorded/alt_llm", f"out={folder / 'run'}")
        llmprof("compare", folder / "run", "tests/fixtures/torch/lines.json", "-o", page)
        return page

    def test_one_follows_the_other(self):
        other = self.find("#events2 canvas")
        self.assertTrue(self.browser.execute_script(HAS_INK, other))
        self.press("www")
        self.view()
        seen = [float(other.get_attribute(f"data-{end}")) for end in ("from", "until")]
        self.assertAlmostEqual(self.length(), seen[1] - seen[0], delta=2)
        before = self.view()
        self.browser.execute_script("arguments[0].focus()", other)
        ActionChains(self.browser).send_keys("d").perform()
        self.view()
        self.assertNotEqual(before, self.view())

    def test_it_says_what_became_of_the_stages(self):
        self.assertIn("decode", self.find("h1").text)
        self.assertTrue(self.find("#table-compare_times").is_displayed())


class Large(Drawn):
    """A timeline of 200,000 events."""

    @classmethod
    def make(cls, folder):
        llmprof("exec", HERE / "page.lua", folder / "report.html", "200000")
        return folder / "report.html"

    def test_each_step_of_panning_is_a_frame(self):
        """A frame of all events draws no more than the screen has pixels for."""
        self.press("w")
        frames, moved, rectangles = self.browser.execute_async_script(
            "const [canvas, done] = [document.querySelector('#events canvas'), arguments[0]];"
            "const pen = canvas.getContext('2d');"
            "let [steps, moved, rectangles] = [0, 0, 0];"
            "const fill = pen.fillRect.bind(pen);"
            "pen.fillRect = (...box) => { rectangles += 1; fill(...box); };"
            "let [began, before] = [0, ''];"
            "const go = () => {"
            "  if (canvas.dataset.from !== before) moved += 1;"
            "  before = canvas.dataset.from;"
            "  if (steps === 60) {"
            "    done([60000 / (performance.now() - began), moved, rectangles / 60]); return; }"
            "  steps += 1;"
            "  canvas.dispatchEvent(new KeyboardEvent('keydown', { key: steps % 2 ? 'd' : 'a' }));"
            "  requestAnimationFrame(go); };"
            "const start = () => {"
            "  [began, before] = [performance.now(), canvas.dataset.from];"
            "  requestAnimationFrame(go); };"
            "requestAnimationFrame(() => requestAnimationFrame(start));")
        print(f"200,000 events: {frames:.0f} frames a second, {rectangles:.0f} rectangles each",
              file=sys.stderr)
        self.assertEqual(60, moved)
        self.assertLess(rectangles, 3 * self.canvas().rect["width"])


class Ranks(Drawn):
    """The page of `llmprof ranks`: steps and collectives of four ranks."""

    @classmethod
    def make(cls, folder):
        llmprof("ranks", "tests/fixtures/ranks4", "--out", folder / "ranks")
        return folder / "ranks" / "report.html"

    def test_a_collective_is_waiting_and_transfer(self):
        self.assertTrue(self.browser.execute_script(HAS_INK, self.canvas()))
        first = self.length()
        self.look_for("all-reduce")
        for _ in range(8):
            if "for other ranks, then transfer" in self.find("#events .detail").text:
                break
            self.press("n")
        detail = self.find("#events .detail").text
        self.assertRegex(detail, r"rank \d, collectives")
        self.assertIn("for other ranks, then transfer", detail)
        self.press("0")
        self.assertGreater(self.length(), first)


class RanksOfARun(Drawn):
    """The page of a run of four ranks' files: all ranks above the lanes of the first."""

    @classmethod
    def make(cls, folder):
        llmprof("recipes/vllm_serve.lua", "capture=recorded", "recorded=tests/fixtures/ranks4",
                f"out={folder / 'run'}")
        return folder / "run" / "report.html"

    def test_ranks_and_the_trace_of_the_first_are_side_by_side(self):
        self.assertTrue(self.browser.execute_script(HAS_INK, self.canvas()))
        self.assertLess(self.page.stat().st_size, 8 << 20)
        self.look_for("all-reduce")
        lanes = set()
        for _ in range(200):
            detail = self.find("#events .detail").text
            self.assertLessEqual(detail.count("prefill, step") + detail.count("decode, step"), 1)
            lanes.update(re.findall(r"rank \d, collectives|GPU 0, stream \d+", detail))
            if len(lanes) == 5:
                break
            self.press("n")
        self.assertEqual(5, len(lanes), lanes)


def main():
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
