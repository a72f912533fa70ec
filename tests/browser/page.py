#!/usr/bin/env python3
"""report.html in headless Chromium: no errors, no requests, tables that sort and
filter, and text that stays text.

$LLMPROF names the program. Exit status 77: selenium, Chromium or its driver is
missing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select
except ImportError:
    webdriver = None

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
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        file = Path(cls.folder.name) / "report.html"
        subprocess.run([os.environ["LLMPROF"], "exec", str(HERE / "page.lua"), str(file)],
                       check=True)
        cls.url = file.as_uri()
        cls.browser = start()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.browser.get("about:blank")
        self.browser.get(self.url)

    def tearDown(self):
        self.assertEqual([], self.browser.get_log("browser"))
        self.assertEqual([], self.browser.execute_script(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)"))

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

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

    def test_empty_cells_sort_last(self):
        for _ in range(2):
            self.sort("SM %")
            self.assertEqual(["12.3", "", ""], self.column("SM %"))

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

    def test_link_to_a_hidden_row_shows_it(self):
        self.find("#table-kernels input").send_keys("gemm")
        self.assertEqual(["1", "3"], self.column("#"))
        link = self.find("a[href='#kernel-2']")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
        link.click()
        self.assertEqual(["1", "2", "3"], self.column("#"))

    def test_names_stay_text(self):
        self.assertIn("<script>alert(1)</script>", self.column("kernel"))
        self.assertEqual(0, len(self.browser.find_elements(By.TAG_NAME, "img")))

    def test_charts_are_drawn(self):
        if "built without Chart.js" in self.find("main").text:
            self.skipTest("llmprof was built without Chart.js")
        for name in ("categories", "roofline", "tpot"):
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


def main():
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
