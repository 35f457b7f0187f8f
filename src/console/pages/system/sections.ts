import type words from '../../words/en/system.json'

type Section = keyof (typeof words)['sections']

/** The sections of the page, in its order. */
const SECTIONS: readonly Section[] = [
  'server',
  'limits',
  'workers',
  'upstream',
  'entries',
  'database',
  'redis',
  'journal',
  'log',
  'auth',
  'mail',
  'money',
  'wallet',
  'management',
  'mcp',
  'alerts',
  'capture',
  'overload',
  'metrics',
  'telemetry',
  'video',
  'simulator',
]

/** Keys that stand alone in the file, by the section that shows them. */
const ALONE: ReadonlyMap<string, Section> = new Map([
  ['upstreams', 'entries'],
  ['fallbacks', 'entries'],
  ['models', 'entries'],
  ['model_groups', 'entries'],
  ['keys', 'entries'],
  ['data_dir', 'database'],
])

/** Whether the words know the section. */
export function isSection(name: string): name is Section {
  return SECTIONS.some((section) => section === name)
}

/** The settings by section; one that the words do not know comes last, under its own name. */
export function sectionsOf<Setting extends { readonly name: string }>(
  settings: readonly Setting[],
): ReadonlyArray<readonly [section: string, settings: readonly Setting[]]> {
  const sections = new Map<string, Setting[]>(SECTIONS.map((section) => [section, []]))
  for (const setting of settings) {
    const [first = ''] = setting.name.split('.')
    const section = ALONE.get(setting.name) ?? first
    sections.set(section, [...(sections.get(section) ?? []), setting])
  }
  return [...sections].filter(([, members]) => members.length > 0)
}
