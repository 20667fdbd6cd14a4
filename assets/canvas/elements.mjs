// The elements of a mounted canvas, in the order in which they lie over one another.

function element(tag, className, attributes = {}) {
  const result = document.createElement(tag);
  result.className = className;
  for (const [name, value] of Object.entries(attributes)) result.setAttribute(name, value);
  return result;
}

/** Build them; `buttons` maps a button's text to its description and what it does. */
export function buildElements(buttons) {
  const root = element("div", "cglens-root");
  const canvas = element("canvas", "cglens-picture", {
    tabindex: "0",
    role: "application",
    "aria-label": "Graph",
  });
  const announcer = element("div", "cglens-announcer", { "aria-live": "polite" });
  const notice = element("div", "cglens-notice", { role: "status" });
  const failure = element("div", "cglens-failure", { role: "alert" });
  notice.hidden = failure.hidden = true;
  const row = element("div", "cglens-buttons");
  for (const [text, [label, act]] of Object.entries(buttons)) {
    const button = element("button", "cglens-button", {
      type: "button",
      title: label,
      "aria-label": label,
    });
    button.textContent = text;
    button.addEventListener("click", act);
    row.append(button);
  }
  root.append(canvas, element("div", "cglens-focus"), row, notice, failure, announcer);
  return { root, canvas, announcer, notice, failure };
}
