// Shows data flow over the graph when the view asks for it, and says so on its button.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const apply = shell.apply;

  shell.apply = function (view) {
    apply(view);
    const button = document.querySelector("[data-flows]");
    if (!button) return;
    const shown = view.view === "data" && !button.disabled;
    button.setAttribute("aria-pressed", String(shown));
    const canvas = (window.dash_clientside || {}).cglens;
    const host = document.querySelector(".graph-page .canvas-host[data-ready]");
    if (canvas && host) canvas.setFlows(shown ? button.dataset.flows : null, host.id);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-flows]");
    if (button) shell.go({ view: shell.view().view === "data" ? "" : "data" });
  });
})(window.cgShell);
