// Stands in for Dash: records what the canvas tells it, and mounts the scene named in the address.
window.told = [];
window.heard = [];
window.dash_clientside = {
  no_update: "no update",
  set_props: (id, props) => window.told.push([id, props.data]),
};
for (const kind of ["ready", "select", "enter", "error"]) {
  document.addEventListener(`cglens:${kind}`, (event) => window.heard.push([kind, event.detail]));
}
document.addEventListener("DOMContentLoaded", () => {
  const query = new URLSearchParams(location.search);
  const host = document.getElementById("host");
  if (query.has("dark")) document.documentElement.dataset.mantineColorScheme = "dark";
  if (query.has("renderer")) host.dataset.renderer = query.get("renderer");
  window.returned = window.dash_clientside.cglens.mount(`/scene/${query.get("scene")}`, "host");
});
