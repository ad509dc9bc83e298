// Sets the reader's theme before anything is painted; a plain script, since modules run too late for that.
{
  let theme = null;
  try { theme = localStorage.getItem("funke.theme"); } catch { /* storage is switched off */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
