import type { ReactNode } from 'react'

/** One path each, drawn on 16 × 16 with a line of 1.5. */
const PATHS = {
  alert: 'M8 2.2 14.3 13.3H1.7L8 2.2ZM8 6.4v3.2M8 11.4v.1',
  arrowDown: 'M8 3v10M4 9l4 4 4-4',
  arrowUp: 'M8 13V3M4 7l4-4 4 4',
  bell: 'M4.2 11.2V7.3a3.8 3.8 0 0 1 7.6 0v3.9l1 1.3H3.2l1-1.3ZM6.8 14h2.4',
  book: 'M3 3.2h4A1.6 1.6 0 0 1 8.6 4.8V13A1.4 1.4 0 0 0 7.2 11.6H3V3.2ZM13.6 3.2h-3.4A1.6 1.6 0 0 0 8.6 4.8V13a1.4 1.4 0 0 1 1.4-1.4h3.6V3.2Z',
  building: 'M3 13.5v-10l6-1v11M9 6.5l4 .8v6.2M1.5 13.5h13M5.2 5.8h1.5M5.2 8.3h1.5M5.2 10.8h1.5',
  chart: 'M2.5 13.5h11M4.5 11V8M8 11V4.5M11.5 11V6.5',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  chevronDown: 'M4 6l4 4 4-4',
  chevronLeft: 'M10 4L6 8l4 4',
  chevronRight: 'M6 4l4 4-4 4',
  chevronUp: 'M4 10l4-4 4 4',
  circle: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Z',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2.2 1.3',
  columns: 'M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  cube: 'M8 2.2l5 2.7v6.2l-5 2.7-5-2.7V4.9l5-2.7ZM3 4.9l5 2.8 5-2.8M8 7.7v6.1',
  cross: 'M4 4l8 8M12 4l-8 8',
  dash: 'M4 8h8',
  download: 'M8 2.5v7M5 7l3 3 3-3M2.8 12.8h10.4',
  edit: 'M3 13l.6-2.6 7.3-7.3 2 2-7.3 7.3L3 13Z',
  external: 'M6.5 3.5h-3v9h9v-3M9 3h4v4M12.8 3.2 7.5 8.5',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  flag: 'M4 14V2.5M4 3h8l-1.8 2.7L12 8.5H4',
  gear: 'M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4ZM8 2v1.8M8 12.2V14M2 8h1.8M12.2 8H14M3.8 3.8l1.2 1.2M11 11l1.2 1.2M3.8 12.2 5 11M11 5l1.2-1.2',
  globe:
    'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM2.5 8h11M8 2.5c2 1.7 2.4 3.6 2.4 5.5S10 11.8 8 13.5C6 11.8 5.6 9.9 5.6 8S6 4.2 8 2.5Z',
  help: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM6.5 6.6a1.55 1.55 0 1 1 2.3 1.35c-.5.3-.8.6-.8 1.15M8 11v.1',
  home: 'M2.5 7.5 8 2.8l5.5 4.7M4 6.5v7h8v-7M6.7 13.5V9.8h2.6v3.7',
  inbox: 'M2.5 9.5 4.3 3h7.4l1.8 6.5v3.5h-11V9.5ZM2.5 9.5H6a2 2 0 0 0 4 0h3.5',
  key: 'M10.2 2.6a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4ZM7.9 8.1 3 13M4.6 11.4 6.4 13.2',
  keyboard: 'M2 4.5h12v7.5H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5 9.6h6',
  link: 'M6.8 9.2a2.5 2.5 0 0 0 3.7.2l2-2a2.5 2.5 0 0 0-3.6-3.6l-.8.8M9.2 6.8a2.5 2.5 0 0 0-3.7-.2l-2 2a2.5 2.5 0 0 0 3.6 3.6l.8-.8',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1',
  live: 'M8 7.2v1.6M4.8 4.8a4.5 4.5 0 0 0 0 6.4M11.2 4.8a4.5 4.5 0 0 1 0 6.4M2.7 2.7a7.5 7.5 0 0 0 0 10.6M13.3 2.7a7.5 7.5 0 0 1 0 10.6',
  logout: 'M6.5 3h-3.5v10h3.5M10 5l3 3-3 3M13 8H6.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z',
  person: 'M8 2.8a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5ZM3 13.5c.4-2.6 2.4-4 5-4s4.6 1.4 5 4',
  people:
    'M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3ZM1.8 13c.3-2.4 2-3.7 4.2-3.7S9.9 10.6 10.2 13M10.5 3.2a2.2 2.2 0 0 1 0 4.3M11.6 9.5c1.5.5 2.4 1.7 2.6 3.5',
  play: 'M5 3.2v9.6l7.5-4.8L5 3.2Z',
  plus: 'M8 3v10M3 8h10',
  power: 'M8 2.5v5M4.6 4.6a4.8 4.8 0 1 0 6.8 0',
  pulse: 'M1.8 8.5h3l1.7-5 3 9 1.7-4h3',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 2.5v2.8h-2.8',
  rotate: 'M3 8a5 5 0 0 1 8.7-3.4L13 6M13 3v3h-3M13 8a5 5 0 0 1-8.7 3.4L3 10M3 13v-3h3',
  search: 'M7 2.7a4.3 4.3 0 1 0 0 8.6 4.3 4.3 0 0 0 0-8.6ZM10.2 10.2l3.3 3.3',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1',
  shield: 'M8 2.3l5 1.7v3.6c0 3-2 5.1-5 6.1-3-1-5-3.1-5-6.1V4l5-1.7Z',
  sun: 'M8 5.3a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4ZM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1',
  switch: 'M4.5 6.5 8 3l3.5 3.5M4.5 9.5 8 13l3.5-3.5',
  system: 'M2.5 3.5h11v7h-11zM6 13h4M8 10.5V13',
  tool: 'M10.3 2.6a3.3 3.3 0 0 0-3.1 4.4L2.6 11.6l1.8 1.8L9 8.8a3.3 3.3 0 0 0 4.3-4.1l-2 2-1.8-1.8 2-2a3.3 3.3 0 0 0-1.2-.3Z',
  trash: 'M3 4.5h10M6.3 4.5v-2h3.4v2M4.3 4.5l.6 9h6.2l.6-9M6.7 7v4M9.3 7v4',
  stop: 'M4.5 4.5h7v7h-7z',
  tree: 'M5.5 2.5h5v3h-5zM2 10.5h4.5v3H2zM9.5 10.5H14v3H9.5zM8 5.5v2.5M4.2 10.5V8h7.6v2.5',
  undo: 'M5.5 3 2.8 5.7l2.7 2.7M2.8 5.7h6.4a3.6 3.6 0 0 1 0 7.2H5',
  wallet: 'M2.5 4.5h10v8.5h-10zM2.5 4.5l8-2v2M10 8.8h2.5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The sign of the product: a gate over water. */
export function Sign({ size = 24 }: { readonly size?: number }): ReactNode {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="var(--c-accent)" />
      <g fill="none" stroke="var(--c-on-accent)" strokeWidth="2.6" strokeLinecap="round">
        <path d="M10 6v9M22 6v9M10 9h12" />
        <path d="M6 20c2.5 0 2.5 2 5 2s2.5-2 5-2 2.5 2 5 2 2.5-2 5-2" />
        <path d="M6 25.5c2.5 0 2.5 1.5 5 1.5s2.5-1.5 5-1.5 2.5 1.5 5 1.5 2.5-1.5 5-1.5" opacity=".65" />
      </g>
    </svg>
  )
}
