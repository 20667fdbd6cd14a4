// Keyboard: one key each, never while a field is being typed in.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const click = (id) => {
    const element = document.getElementById(id);
    if (element) element.click();
  };

  const KEYS = {
    "/": () => {
      const box = document.getElementById("search");
      if (box) {
        box.focus();
        box.select();
      }
    },
    n: () => (shell.view().search ? shell.stepMatch(1) : shell.stepChange(1)),
    p: () => (shell.view().search ? shell.stepMatch(-1) : shell.stepChange(-1)),
    j: () => shell.stepChange(1),
    k: () => shell.stepChange(-1),
    J: () => shell.stepChange(1, true),
    K: () => shell.stepChange(-1, true),
    "[": () => shell.stepGraph(-1),
    "]": () => shell.stepGraph(1),
    f: () => shell.fit(),
    t: () => click("nodes-open"),
    "?": () => click("help-open"),
    u: () => {
      const body = shell.view().body.split("/").filter(Boolean);
      if (body.length) {
        const node = Number(body[body.length - 2]);
        shell.go({ body: body.slice(0, -2).join("/"), node, search: "" });
      }
    },
    Escape: () => {
      const view = shell.view();
      if (view.node !== null) shell.go({ node: null });
      else if (view.search) shell.go({ search: "" });
    },
  };

  const TYPING = "input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable], [role=dialog], [role=listbox]";

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target;
    if (target.id === "search") {
      if (event.key === "Enter") shell.stepWhenFound(event.shiftKey ? -1 : 1, target.value);
      if (event.key === "Escape") target.blur();
      return;
    }
    if (target.closest(TYPING)) return;
    const act = KEYS[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
})(window.cgShell);
