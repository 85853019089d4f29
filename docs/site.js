"use strict";
// The search lists pages of rules first, each in the order of mdBook.
(() => {
  const results = document.getElementById("mdbook-searchresults");
  if (!results) return;
  const isOfRule = (item) => /rules\/PTX\d+\.html/.test(item.querySelector("a")?.getAttribute("href") ?? "");
  const sort = () => {
    const items = [...results.children];
    const sorted = [...items.filter(isOfRule), ...items.filter((item) => !isOfRule(item))];
    // Moving items is a change, too: sorted ones are left alone.
    if (sorted.some((item, at) => item !== items[at])) results.append(...sorted);
  };
  new MutationObserver(sort).observe(results, { childList: true });
  // Those of a search in the address may be there already.
  sort();
})();
