import type { Path } from '../../../shared/config/config-error.ts'
import { isObject } from '../../../shared/config/is-object.ts'
import type { Remarks } from '../draft.ts'

const SECTIONS = ['router_settings', 'litellm_settings'] as const

export interface KnownModels {
  /** Names and patterns that clients may ask for, aliases included. */
  readonly names: ReadonlySet<string>
}

/** `fallbacks` and `default_fallbacks` of both sections; those of router_settings count first. */
export function fallbacksOf(
  file: Readonly<Record<string, unknown>>,
  { names }: KnownModels,
  remarks: Remarks,
): Record<string, string[]> {
  const found = new Map<string, string[]>()
  for (const section of SECTIONS) {
    const settings = isObject(file[section]) ? file[section] : {}
    const entries: readonly unknown[] = Array.isArray(settings['fallbacks']) ? settings['fallbacks'] : []
    for (const [index, entry] of entries.entries()) {
      for (const [model, others] of Object.entries(isObject(entry) ? entry : {})) {
        const path = [section, 'fallbacks', index, model]
        if (model !== '*' && !isKnown(model, names)) remarks.lose(path, `no deployment of "${model}" was carried`)
        else if (!found.has(model)) found.set(model, knownOnes(others, path, model))
      }
    }
    const path = [section, 'default_fallbacks']
    if (settings['default_fallbacks'] !== undefined && !found.has('*')) {
      found.set('*', knownOnes(settings['default_fallbacks'], path, '*'))
    }
  }
  const rest = found.get('*') ?? []
  const plain = [...names].filter((name) => !name.endsWith('*') && !found.has(name))
  for (const name of rest.length === 0 ? [] : plain) found.set(name, rest)
  found.delete('*')
  const lists = [...found].map(([model, others]): [string, string[]] => [
    model,
    [...new Set(others)].filter((other) => other !== model),
  ])
  return Object.fromEntries(lists.filter(([, others]) => others.length > 0))

  function knownOnes(value: unknown, path: Path, model: string): string[] {
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    return list.flatMap((other, index) => {
      if (typeof other === 'string' && isKnown(other, names)) return [other]
      const what = typeof other === 'string' ? `no deployment of "${other}" was carried` : 'it changes the request'
      remarks.lose([...path, index], `the fallback of "${model}" is left out: ${what}`)
      return []
    })
  }
}

function isKnown(model: string, names: ReadonlySet<string>): boolean {
  return names.has(model) || [...names].some((name) => name.endsWith('*') && model.startsWith(name.slice(0, -1)))
}
