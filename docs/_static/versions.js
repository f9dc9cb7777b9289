// A choice of versions in the sidebar, where the site lies beside others and a list of them (.ci/publish_site.py).
"use strict";
(async () => {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  let known;
  try {
    const answer = await fetch(new URL("../versions.json", root));
    if (!answer.ok) return;
    known = await answer.json();
  } catch {
    return; // the site stands alone, or is read from files
  }
  const own = root.pathname.split("/").filter(Boolean).pop(), choice = document.createElement("select");
  choice.className = "versions";
  choice.setAttribute("aria-label", "version of the documentation");
  for (const name of known) choice.add(new Option(name, name, name === own, name === own));
  choice.addEventListener("change", () => location.assign(new URL(`../${choice.value}/index.html`, root)));
  document.querySelector(".sidebar-brand")?.after(choice);
})();
