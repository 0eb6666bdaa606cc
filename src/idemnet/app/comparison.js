// Before and after under one slider; at 100%, one pixel of the picture is one of the screen.
const place = (stage) => {
  const {value} = stage.querySelector("input");
  const {left, width} = stage.getBoundingClientRect();
  const sheet = stage.querySelector(".sheet").getBoundingClientRect();
  stage.style.setProperty("--border", `${value}%`);
  stage.style.setProperty("--cut", `${left + width * value / 100 - sheet.left}px`);
};

const zoom = (stage, actual) => {
  const pan = stage.querySelector(".pan");
  stage.style.setProperty("--wide", `${stage.dataset.width / devicePixelRatio}px`);
  stage.style.setProperty("--tall", `${stage.dataset.height / devicePixelRatio}px`);
  stage.classList.toggle("actual", actual);
  pan.tabIndex = actual ? 0 : -1;
  if (actual) {
    for (const shown of stage.querySelectorAll("img")) {
      const whole = new Image();  // what is shown stays until it is here
      whole.onload = () => { shown.src = whole.src; };
      whole.src = shown.dataset.whole;
    }
    pan.scrollTo((pan.scrollWidth - pan.clientWidth) / 2, (pan.scrollHeight - pan.clientHeight) / 2);
  }
  place(stage);
};

element.addEventListener("input", ({target}) => {
  const stage = element.querySelector(".stage");
  target.type === "checkbox" ? zoom(stage, target.checked) : place(stage);
});
element.addEventListener("scroll", () => place(element.querySelector(".stage")), true);
element.addEventListener("pointermove", (event) => {
  const pan = event.target.closest(".actual .pan");  // fingers scroll by themselves
  if (pan && event.buttons === 1 && event.pointerType === "mouse") {
    pan.scrollBy(-event.movementX, -event.movementY);
  }
});
addEventListener("resize", () => {
  const stage = element.querySelector(".stage");
  if (stage) place(stage);
});
