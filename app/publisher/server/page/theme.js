// Light or dark, before anything is drawn: this is the one script that is not a module, so that no page flashes.
'use strict';
{
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // storage is forbidden: the system's choice
    }
  };
  const light = matchMedia('(prefers-color-scheme: light)');
  const apply = () => {
    root.dataset.theme = stored() ?? (light.matches ? 'light' : 'dark');
  };
  apply();
  light.addEventListener('change', apply);

  window.toggleTheme = () => {
    const next = root.dataset.theme === 'light' ? 'dark' : 'light';
    try {
      localStorage.setItem('theme', next);
    } catch {
      // Kept until the page is left, then.
    }
    root.dataset.theme = next;
    window.dispatchEvent(new Event('themechange'));
  };
}
