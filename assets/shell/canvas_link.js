// Hands the view to the canvas: which scene, which colours, what is selected, what matches.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const api = () => (window.dash_clientside || {}).cglens;

  // The canvases whose scene is shown: only they can take a selection, since the scene before has
  // other nodes. Two of them show one comparison.
  const shown = () => (api() ? [...document.querySelectorAll(".canvas-host[data-ready]")] : []);

  shell.mount = (scene) => api().mount(scene.src, scene.host);

  document.addEventListener("cglens:ready", (event) => {
    shell.apply(shell.view());
    // They may have come before the scene did.
    const found = shell.matches;
    const matches = found && found.search === shell.view().search ? found.indices : null;
    api().setMatches(matches, event.target.id);
  });

  // Show the parts of a view that need no new scene.
  shell.apply = function (view) {
    const legends = document.getElementById("legend");
    if (legends) {
      const known = legends.querySelector(`[data-colouring="${view.colour}"]`);
      legends.dataset.colour = known ? view.colour : "type";
      for (const entry of legends.querySelectorAll("[data-term]")) {
        entry.setAttribute("aria-pressed", String(entry.dataset.term === view.search));
      }
    }
    const colour = document.querySelector("#colour input:checked");
    if (colour && colour.value !== view.colour) {
      window.dash_clientside.set_props("colour", { value: view.colour });
    }
    if (document.getElementById("graphs-table") && window.dash_ag_grid) {
      window.dash_ag_grid.getApiAsync("graphs-table").then((grid) => {
        grid.setGridOption("quickFilterText", view.search);
        grid.redrawRows();
      });
    }
    const kernels = document.getElementById("kernels-view");
    if (kernels) kernels.dataset.view = view.view;
    shell.filterTrees(view);
    shell.measureLegend();
    shell.showRow(view);
    shell.showChange(view);
    if (window.cgReplay) {
      const at = view.body ? `${view.body}/` : "";
      window.cgReplay.setSelection(view.node === null ? null : at + view.node);
    }
    for (const { id } of shown()) {
      api().setColouring(view.colour, id);
      api().setSelection(view.node, id);
    }
  };

  // A legend that does not fit on its line says so with a button.
  shell.measureLegend = function () {
    const legends = document.getElementById("legend");
    if (!legends) return;
    if (!legends.dataset.watched) {
      legends.dataset.watched = "true";
      new ResizeObserver(() => shell.measureLegend()).observe(legends);
    }
    const shown = [...legends.querySelectorAll(".legend")].find((one) => one.offsetParent !== null);
    const open = legends.classList.contains("open");
    const fits = !shown || (!open && shown.scrollWidth <= shown.clientWidth + 1);
    legends.classList.toggle("overflows", open || !fits);
    const more = legends.querySelector("[data-legend-more]");
    more.textContent = open ? "Show less" : "Show all";
    more.setAttribute("aria-expanded", String(open));
  };

  // Mark the selected node's row; in creation order its place is known, so show it as well.
  shell.showRow = function (view) {
    if (document.getElementById("kernels-table") && window.dash_ag_grid) {
      window.dash_ag_grid.getApiAsync("kernels-table").then((grid) => grid.redrawRows());
    }
    const box = document.getElementById("nodes-box");
    if (!box || !box.classList.contains("open") || !window.dash_ag_grid) return;
    window.dash_ag_grid.getApiAsync("nodes-table").then((grid) => {
      const sorted = grid.getColumnState().some((column) => column.sort);
      const filtered = Object.keys(grid.getFilterModel() || {}).length > 0;
      if (view.node !== null && !sorted && !filtered) grid.ensureIndexVisible(view.node, "middle");
      grid.redrawRows();
    });
  };

  shell.setMatches = function (indices) {
    if (window.cgReplay) {
      const body = shell.view().body;
      window.cgReplay.setMatches(indices && indices.map((index) => (body ? `${body}/${index}` : String(index))));
    }
    for (const { id } of shown()) api().setMatches(indices, id);
  };

  shell.fit = function () {
    for (const { id } of shown()) api().fit(id);
    if (window.cgReplay) window.cgReplay.fit();
  };
})(window.cgShell);
