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

  functions.isShown = (params) => Boolean(params.data) && params.data.key === shell.view().graph;

  functions.isChosen = (params) => Boolean(params.data) && params.data.position === shell.view().node;

  components.TypeChip = (params) => create(
    "span",
    { className: "type-count" },
    params.data && create("i", { style: { background: params.data.colour } }),
    params.value,
  );

  // Of a path the end says more than the beginning; filters and hover have all of it.
  components.PathEnd = (params) => String(params.value || "").split(/[\\/]/).slice(-1)[0];

  // A cell that leads to a node or a search, where its row knows how.
  components.NodeLink = (params) => {
    const link = params.data && params.data.links && params.data.links[params.colDef.field];
    const text = functions.shown(params);
    if (!link) return text;
    return create("a", { href: link.href, "data-go": link.go, className: "cell-link", title: String(params.value) }, text);
  };

  components.SelectLink = (params) => params.data ? create(
    "a",
    {
      href: "#",
      "data-go": JSON.stringify({ page: "graph", body: "", node: params.data.position, search: "", view: "" }),
      className: "cell-link",
    },
    params.value,
  ) : "";

  components.CopyCell = (params) => params.value ? create(
    "button",
    { className: "copy", title: params.value, "data-copy": JSON.stringify(params.value) },
    "copy",
  ) : "–";

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
