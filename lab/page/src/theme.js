// Light, dark, or as the system says. The choice is kept where the browser lets us keep it.

import { redrawAll } from './charts.js';
import { switcher } from './dom.js';

const kKey = 'leantea-report-theme';

// A page from disk may have no storage.
const stored = () => { try { return localStorage.getItem(kKey) ?? 'auto'; } catch { return 'auto'; } };
const store = (theme) => { try { localStorage.setItem(kKey, theme); } catch { /* then it holds until the page is closed */ } };

function apply(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function themeSwitch(place) {
  const choose = (theme) => { apply(theme); store(theme); redrawAll(); };
  apply(stored());
  place.append(switcher('Colours', [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']], stored(), choose));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
}
