// Cells of the tables. Texts come ready from the server; numbers beside them are for sorting.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const components = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const create = (...args) => window.React.createElement(...args);

  functions.shown = (params) => {
    const texts = params.data && params.data.texts;
    if (texts && texts[params.colDef.field] !== undefined) return texts[params.colDef.field];
    return params.value === null || params.value === undefined ? "–" : String(params.value);
  };

  functions.exact = (params) => {
    const exact = params.data && params.data.exact;
    return (exact && exact[params.colDef.field]) || functions.shown(params);
  };

  functions.isChosen = (params) => Boolean(params.data) && params.data.position === shell.view().node;

  components.TypeChip = (params) => create(
    "span",
    { className: "type-count" },
    params.data && create("i", { style: { background: params.data.colour } }),
    params.value,
  );

  components.GraphLink = (params) => create(
    "a",
    { href: params.data.href, "data-go": params.data.go, className: "cell-link", title: params.data.title },
    params.value,
  );

  components.TypeBar = (params) => {
    const types = params.data.types || [];
    const total = types.reduce((sum, type) => sum + type.count, 0) || 1;
    const bars = types.map((type) => create("span", {
      key: type.name,
      style: { width: `${(100 * type.count) / total}%`, background: type.colour },
    }));
    const words = types.slice(0, 3).map((type) => create(
      "span",
      { key: type.name, className: "type-count" },
      create("i", { style: { background: type.colour } }),
      `${type.text} ${type.name}`,
    ));
    return create("div", { className: "type-bar", title: types.map((t) => `${t.text} ${t.name}`).join("\n") },
      create("div", { className: "bars" }, bars), create("div", { className: "words" }, words));
  };
})(window.cgShell);
