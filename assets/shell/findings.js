// Findings: the filter of their table, and marks on the graph.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const UNMARKED = "unmarked";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const apply = shell.apply;

  functions.isFinding = (params) => Boolean(params.data) && params.data.id === shell.view().view;

  shell.apply = function (view) {
    apply(view);
    filter(view);
    mark(view);
  };

  function filter(view) {
    if (!document.getElementById("findings-table") || !window.dash_ag_grid) return;
    for (const entry of document.querySelectorAll("[data-filter]")) {
      entry.setAttribute("aria-pressed", String(JSON.parse(entry.dataset.filter) === view.search));
    }
    window.dash_ag_grid.getApiAsync("findings-table").then((grid) => {
      if (grid.getGridOption("quickFilterText") !== view.search) grid.setGridOption("quickFilterText", view.search);
      if (grid.cgChosen === view.view) return;
      grid.cgChosen = view.view;
      grid.redrawRows();
    });
  }

  function mark(view) {
    const button = document.querySelector("[data-marks]");
    if (!button) return;
    const shown = view.view !== UNMARKED;
    button.setAttribute("aria-pressed", String(shown));
    const canvas = (window.dash_clientside || {}).cglens;
    const host = document.querySelector(".graph-page .canvas-host[data-ready]");
    if (canvas && host) canvas.setMarks(shown ? button.dataset.marks : null, host.id);
  }

  document.addEventListener("cglens:marks", (event) => {
    const count = document.querySelector("[data-marks] .count");
    const { findings } = event.detail;
    if (count && findings !== null) count.textContent = findings.toLocaleString("en");
  });

  document.addEventListener("click", (event) => {
    const marks = event.target.closest("[data-marks]");
    if (marks) shell.go({ view: shell.view().view === UNMARKED ? "" : UNMARKED });
    const chosen = event.target.closest("[data-filter]");
    if (chosen) {
      const words = JSON.parse(chosen.dataset.filter);
      shell.go({ search: shell.view().search === words ? "" : words });
    }
  });
})(window.cgShell);
