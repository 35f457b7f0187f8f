// Runs before the first paint: the chosen theme, or that of the system.
try {
  const chosen = localStorage.getItem('sluice.theme')
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
} catch {
  // Storage may be forbidden: the system's theme is taken.
}
