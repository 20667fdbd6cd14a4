// Copy buttons.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = JSON.parse(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    // Without https the clipboard is closed to scripts on other hosts than localhost.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  button.textContent = "copied";
  setTimeout(() => (button.textContent = label), 1200);
});
