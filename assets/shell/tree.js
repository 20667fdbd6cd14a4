// Rows that open and close like a tree, and bars in cells: the browser's half of tree_table.py.
window.cgShell = window.cgShell || {};
(function (shell) {
  "use strict";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const components = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const create = (...args) => window.React.createElement(...args);

  // What the user opened or closed, by row; all else is as the server sent it. A link to another
  // row starts afresh, or what was closed before would hide that row.
  const toggled = new Map();
  const keyOf = (data, id) => `${data.tree}|${id}`;
  const isOpen = (data, id, initial) => {
    const key = keyOf(data, id);
    return toggled.has(key) ? toggled.get(key) : initial;
  };

  // Unlike in other tables, what is not there is left empty: most cells of a file are.
  functions.told = (params) => (params.data && params.data.texts && params.data.texts[params.colDef.field]) || "";
  functions.toldExactly = (params) =>
    (params.data && params.data.exact && params.data.exact[params.colDef.field]) || functions.told(params);

  functions.isMarked = (params) => Boolean(params.data && params.data.chosen);

  // Rows that a search finds, with those around them; null without one.
  let found = null;

  functions.treeShown = ({ data }) => {
    if (!data) return true;
    if (found) return found.has(data.id);
    return (data.above || []).every(([id, initial]) => isOpen(data, id, initial));
  };

  // What is typed into the search box narrows the tree, besides finding nodes.
  shell.filterTrees = function (view) {
    const table = document.querySelector(".grid.tree");
    if (!table || !window.dash_ag_grid) {
      found = null;
      return;
    }
    const text = view.search.replace(/^\w+:/, "").replace(/"/g, "").toLowerCase();
    window.dash_ag_grid.getApiAsync(table.id).then((grid) => {
      found = text ? new Set() : null;
      if (found) {
        grid.forEachNode(({ data }) => {
          if (!`${data.name} ${data.note} ${data.hint}`.toLowerCase().includes(text)) return;
          found.add(data.id);
          for (const [id] of data.above) found.add(id);
        });
      }
      grid.onFilterChanged();
    });
  };

  // ag-grid has sorted all rows by a column; put each back under its parent, in that order.
  functions.treeOrder = (params) => {
    const { nodes } = params;
    const children = new Map();
    for (const node of nodes) {
      const parent = node.data ? node.data.parent : "";
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(node);
    }
    const stack = [...(children.get("") || [])].reverse();
    for (let at = 0; stack.length; at += 1) {
      const node = stack.pop();
      nodes[at] = node;
      const below = children.get(node.data.id);
      if (below) stack.push(...below.reverse());
    }
  };

  components.TreeCell = (params) => {
    const { data, api, node } = params;
    if (!data) return "";
    const open = isOpen(data, data.id, data.open);
    const toggle = (event) => {
      event.stopPropagation();
      toggled.set(keyOf(data, data.id), !open);
      api.onFilterChanged();
      api.refreshCells({ rowNodes: [node], columns: ["name"], force: true });
    };
    const label = data.link
      ? create("a", { href: data.link.href, "data-go": data.link.go, className: "cell-link", title: data.hint || data.name }, data.name)
      : create("span", { title: data.hint || data.name }, data.name);
    return create(
      "span",
      { className: "tree-cell", style: { paddingLeft: `${14 * data.above.length}px` } },
      data.holds
        ? create("button", {
          className: "tree-toggle",
          onClick: toggle,
          "aria-expanded": String(open),
          "aria-label": open ? "Close" : "Open",
        }, open ? "▾" : "▸")
        : create("span", { className: "tree-toggle" }),
      create("span", { className: "tree-name" }, label),
      data.note ? create("span", { className: "tree-note" }, data.note) : null,
    );
  };

  components.FoundNodes = (params) => {
    const { data } = params;
    if (!data || !data.link) return "";
    return create("a", { href: data.link.href, "data-go": data.link.go, className: "cell-link" }, functions.told(params));
  };

  functions.hasNodes = (params) => Boolean(params.data && params.data.link);

  components.LineCell = (params) => {
    const { editor } = params.context || {};
    if (!editor || !params.data) return params.value;
    const href = editor.replace("{line}", params.value);
    return create("a", { href, className: "line-link", title: "Open in the editor" }, params.value);
  };

  // Code keeps its spaces; a line whose text is not known says its function instead.
  components.CodeCell = (params) => {
    const { data } = params;
    if (!data) return "";
    if (data.code === undefined) return create("span", { className: "absent" }, data.where || "");
    return create("span", { className: "code-text", title: data.code.trim() }, data.code);
  };

  components.PartBar = (params) => {
    const parts = (params.data && params.data.bars) || [];
    if (!parts.length) return "";
    const title = parts.map(([, , text]) => text).join("\n");
    const bars = parts.map(([share, colour], at) => create("span", {
      key: at,
      style: { width: `${Math.max(100 * share, share > 0 ? 0.5 : 0)}%`, background: colour },
    }));
    return create("div", { className: "part-bar", title }, bars);
  };
})(window.cgShell);
