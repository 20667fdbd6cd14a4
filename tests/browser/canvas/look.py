"""Pictures and times of the canvas: ``python -m tests.browser.canvas.look OUT [SCENE...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from .site import CHROMIUM, CHROMIUM_FLAGS, scene, serve

SIZES = {"1440": (1440, 900), "2560": (2560, 1440)}
SHOWN = ("block12", "chain813", "fork64", "synthetic10k", "synthetic100k", "shapes")


def main() -> None:
    """Write a PNG per scene, size and theme; print times per scene."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:] or SHOWN
    with serve() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_FLAGS))
        for name in wanted:
            scene(name)  # so that the times are the browser's alone
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    if theme == "dark" and size == "2560":
                        continue
                    page = browser.new_page(viewport={"width": width, "height": height})
                    page.on("console", lambda m: print("console:", m.text))
                    page.on("pageerror", lambda e: print("error:", e))
                    page.goto(f"{address}/page.html?scene={name}{'&dark' * (theme == 'dark')}")
                    page.wait_for_selector("#host[data-ready], #host[data-error]", timeout=60_000)
                    page.wait_for_timeout(200)
                    page.screenshot(path=out / f"{name}_{size}_{theme}.png")
                    if size == "1440" and theme == "light":
                        ready = page.evaluate("heard[0][1]")
                        fitted = page.evaluate("host.cglens.panBenchmark(30)")
                        stats = page.evaluate("host.cglens.stats()")
                        print(name, len(scene(name)), "bytes;", ready, fitted, stats)
                    page.close()
        browser.close()


if __name__ == "__main__":
    main()
