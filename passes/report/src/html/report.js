"use strict";
(() => {
  const filters = document.getElementById("filters");
  if (!filters) return;
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const shown = document.getElementById("shown");
  const boxes = [...filters.querySelectorAll("[name=level]")];
  const bars = [...document.querySelectorAll(".bar")];
  const items = [...document.querySelectorAll(".findings > li")].map((element) => ({
    element,
    details: element.querySelector("details"),
    values: element.dataset,
    text: undefined,
  }));
  // Of each facet but the rule, which the list of rules has: the chosen value.
  const chosen = { certainty: "", file: "", kernel: "" };

  const textOf = (item) => (item.text ??= item.element.textContent.toLowerCase());

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const wanted = Object.entries({ ...chosen, rule: rule.value }).filter(([, value]) => value);
    let count = 0;
    for (const item of items) {
      const fits = levels.has(item.values.level) && wanted.every(([facet, value]) => item.values[facet] === value) && words.every((word) => textOf(item).includes(word));
      item.element.hidden = !fits;
      count += fits ? 1 : 0;
    }
    for (const bar of bars) {
      const { facet, value } = bar.dataset;
      bar.setAttribute("aria-pressed", String((facet === "rule" ? rule.value : chosen[facet]) === value));
    }
    shown.value = count === items.length ? `${count} shown` : `${count} of ${items.length} shown`;
  };

  // The filters in the address: `#q=…&rule=PTX401&level=error`.
  const write = () => {
    const address = new URLSearchParams();
    if (search.value) address.set("q", search.value);
    if (rule.value) address.set("rule", rule.value);
    for (const [facet, value] of Object.entries(chosen)) if (value) address.set(facet, value);
    const levels = boxes.filter((box) => box.checked).map((box) => box.value);
    if (levels.length < boxes.length) address.set("level", levels.join(","));
    history.replaceState(null, "", `#${address}`);
  };

  const change = () => {
    write();
    apply();
  };

  // A link to a finding or a rule opens it; another address holds filters.
  const follow = () => {
    const hash = location.hash.slice(1);
    const target = hash && document.getElementById(decodeURIComponent(hash));
    if (target instanceof HTMLDetailsElement) target.open = true;
    if (!hash.includes("=")) return;
    const address = new URLSearchParams(hash);
    search.value = address.get("q") ?? "";
    rule.value = address.get("rule") ?? "";
    for (const facet of Object.keys(chosen)) chosen[facet] = address.get(facet) ?? "";
    const levels = address.get("level")?.split(",");
    for (const box of boxes) box.checked = !levels || levels.includes(box.value);
    apply();
  };

  const setOpen = (isOpen) => {
    for (const item of items) if (!item.element.hidden) item.details.open = isOpen;
  };

  // The cells of 32 lanes, once they are seen.
  const draw = (figure) => {
    const set = (key) => (figure.dataset[key] === undefined ? undefined : Number(figure.dataset[key]));
    const [named, here, wrong] = ["named", "here", "wrong"].map(set);
    const has = (lanes, lane) => ((lanes >>> lane) & 1) === 1;
    const list = document.createElement("ol");
    list.setAttribute("aria-hidden", "true");
    for (let lane = 0; lane < 32; lane++) {
      const isNamed = named === undefined ? undefined : has(named, lane);
      const isHere = here === undefined ? undefined : has(here, lane);
      let [kind, mark] = ["none", ""];
      if (isNamed && isHere === false) [kind, mark] = ["missing", "–"];
      else if (isNamed) [kind, mark] = ["named", "✓"];
      else if (isNamed === false && isHere) [kind, mark] = ["unnamed", "!"];
      else if (isNamed === undefined && isHere !== undefined) [kind, mark] = isHere ? ["named", "✓"] : ["missing", "–"];
      const cell = document.createElement("li");
      cell.className = has(wrong, lane) ? `${kind} wrong` : kind;
      for (const [part, text] of [["number", lane], ["mark", mark]]) {
        const span = cell.appendChild(document.createElement("span"));
        span.className = part;
        span.textContent = text;
      }
      list.append(cell);
    }
    figure.querySelector("figcaption").after(list);
  };
  const drawIn = (details) => {
    for (const figure of details.querySelectorAll("figure.lanes")) if (!figure.querySelector("ol")) draw(figure);
  };
  for (const { details } of items) {
    details.addEventListener("toggle", () => details.open && drawIn(details));
    if (details.open) drawIn(details);
  }

  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", change);
  for (const bar of bars) {
    bar.addEventListener("click", () => {
      const { facet, value } = bar.dataset;
      const is = facet === "rule" ? rule.value : chosen[facet];
      const next = is === value ? "" : value;
      if (facet === "rule") rule.value = next;
      else chosen[facet] = next;
      change();
    });
  }
  document.getElementById("open").addEventListener("click", () => setOpen(true));
  document.getElementById("close").addEventListener("click", () => setOpen(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  window.addEventListener("hashchange", follow);
  apply();
  follow();
})();
