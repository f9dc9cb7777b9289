// A button on each block that copies it; of what a command printed there is nothing to copy. A thumbnail leads to its picture.
"use strict";
for (const block of document.querySelectorAll("div.highlight")) {
  if (block.parentElement.classList.contains("highlight-text")) continue;
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd());
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  block.append(button);
}
for (const picture of document.querySelectorAll(".wall img")) {
  const link = document.createElement("a");
  link.href = picture.src;
  picture.replaceWith(link);
  link.append(picture);
}
