// What the theme leaves out for keyboards and screen readers: the search has a name, wide code can be scrolled by keys.
document$.subscribe(() => {
  document.querySelector('[data-md-component="search"]')?.setAttribute("aria-label", "Search")
  for (const code of document.querySelectorAll("pre code, .md-typeset__scrollwrap")) code.tabIndex = 0
})
