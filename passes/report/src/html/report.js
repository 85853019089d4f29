"use strict";
(() => {
  const filters = document.getElementById("filters");
  if (!filters) return;
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const shown = document.getElementById("shown");
  const items = [...document.querySelectorAll(".findings > li")].map((element) => ({
    element,
    details: element.querySelector("details"),
    level: element.dataset.level,
    rule: element.dataset.rule,
    text: element.textContent.toLowerCase(),
  }));

  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set([...filters.querySelectorAll("[name=level]:checked")].map((box) => box.value));
    let count = 0;
    for (const item of items) {
      const fits = levels.has(item.level) && (!rule.value || rule.value === item.rule) && words.every((word) => item.text.includes(word));
      item.element.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.value = count === items.length ? `${count} shown` : `${count} of ${items.length} shown`;
  };

  const setOpen = (isOpen) => {
    for (const item of items) if (!item.element.hidden) item.details.open = isOpen;
  };

  // A link to a finding opens it.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };

  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", apply);
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
