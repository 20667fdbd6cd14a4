// Hands the view to the canvas: which scene, which colours, what is selected, what matches.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const state = { ready: false };
  shell.canvas = state;

  const api = () => (window.dash_clientside || {}).cglens;

  shell.mount = function (scene) {
    state.ready = false;
    api().mount(scene.src, scene.host);
  };

  // Only a scene that is shown can take a selection: the one before it has other nodes.
  document.addEventListener("cglens:ready", () => {
    state.ready = true;
    shell.apply(shell.view());
    // They may have come before the scene did.
    const found = shell.matches;
    api().setMatches(found && found.search === shell.view().search ? found.indices : null);
  });

  // Show the parts of a view that need no new scene.
  shell.apply = function (view) {
    const legends = document.getElementById("legend");
    if (legends) {
      legends.dataset.colour = view.colour;
      for (const entry of legends.querySelectorAll("[data-term]")) {
        entry.setAttribute("aria-pressed", String(entry.dataset.term === view.search));
      }
    }
    if (document.getElementById("colour")) {
      window.dash_clientside.set_props("colour", { value: view.colour });
    }
    if (document.getElementById("graphs-table") && window.dash_ag_grid) {
      window.dash_ag_grid.getApiAsync("graphs-table").then((grid) => {
        grid.setGridOption("quickFilterText", view.search);
      });
    }
    shell.showRow(view);
    const canvas = api();
    if (!state.ready || !canvas) return;
    canvas.setColouring(view.colour);
    canvas.setSelection(view.node);
  };

  // Mark the selected node's row; in creation order its place is known, so show it as well.
  shell.showRow = function (view) {
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
    const canvas = api();
    if (state.ready && canvas) canvas.setMatches(indices);
  };

  shell.fit = function () {
    const canvas = api();
    if (state.ready && canvas) canvas.fit();
  };
})(window.cgShell);
