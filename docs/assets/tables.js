// Tables that scroll can be scrolled with the keyboard.
const reach = () =>
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((table) => {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  });
document$.subscribe(() => requestAnimationFrame(reach));
window.addEventListener("resize", reach);
