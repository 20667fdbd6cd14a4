// The page of memory: plots lead to blocks and nodes, and a search for a block is its row.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const SETTLED_MS = 4000;
  const BLOCK = /^block:(0x[0-9a-f]+)$/i;
  const apply = shell.apply;

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.shell = window.dash_clientside.shell || {};

  // A point names a block by its address, a node by its position, or a graph by its key.
  window.dash_clientside.shell.memoryClicked = function (event) {
    const point = event && event.points && event.points[0];
    const what = point && point.customdata;
    if (typeof what === "number") shell.go({ page: "graph", view: "", node: what });
    else if (/^0x/.test(what || "")) shell.go({ search: `block:${what}` });
    else if (what) shell.go({ graph: what, view: "", body: "", node: null, search: "" });
  };

  // Show the table, also when plots above it get their height later; not once the user scrolls.
  function show() {
    window.clearInterval(settling);
    settling = window.setInterval(() => {
      const page = document.querySelector(".memory-page");
      if (page) page.scrollTop = page.scrollHeight;
    }, 250);
    window.setTimeout(stop, SETTLED_MS);
    for (const kind of ["wheel", "pointerdown", "keydown"]) {
      document.addEventListener(kind, stop, { once: true, passive: true });
    }
  }

  let showing = ""; // the block that was scrolled to: once is enough
  let settling = 0;
  const stop = () => window.clearInterval(settling);

  shell.apply = function (view) {
    apply(view);
    if (view.page !== "memory") showing = "";
    if (view.page !== "memory" || !window.dash_ag_grid) return;
    // The page may not be there yet.
    window.dash_ag_grid.getApiAsync("memory-blocks").then((grid) => {
      const found = BLOCK.exec(shell.view().search);
      grid.setGridOption("quickFilterText", found ? found[1] : "");
      const block = found ? found[1] : "";
      if (block && block !== showing) show();
      showing = block;
    });
  };
})(window.cgShell);
