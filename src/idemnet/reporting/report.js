"use strict";
// One slider: a border to move, and a choice of pictures for either side of it.
for (const compare of document.querySelectorAll(".compare")) {
  const stage = compare.querySelector(".stage");
  const range = stage.querySelector("input");

  const move = () => stage.style.setProperty("--border", `${range.value}%`);

  const choose = (side, kind) => {
    for (const picture of stage.querySelectorAll("img")) {
      const chosen = picture.dataset.kind === kind;
      picture.classList.toggle(side, chosen);
      if (chosen) stage.querySelector(`.corner.${side}`).textContent = picture.dataset.label;
    }
  };

  range.addEventListener("input", move);
  move();
  for (const choices of compare.querySelectorAll(".choices")) {
    const { side } = choices.dataset;
    choices.addEventListener("change", (event) => choose(side, event.target.value));
    // A browser that reloads the page may bring back what was chosen before.
    choose(side, choices.querySelector(":checked").value);
  }
}
