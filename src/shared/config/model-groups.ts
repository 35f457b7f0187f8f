import type { ModelFacts } from '../core/model-facts.ts'
import type { ModelGroup } from '../core/model-names.ts'
import { attempt } from './config-error.ts'
import type { Fail, Path } from './config-error.ts'
import type { ConfigFile } from './schema.ts'
import type { UpstreamConfig } from './shape.ts'

/** The groups of models of the file, after the checks that the schema cannot make. */
export function resolveModelGroups(
  entries: ConfigFile['model_groups'],
  { upstreams, models }: { readonly upstreams: readonly UpstreamConfig[]; readonly models: readonly ModelFacts[] },
  fail: Fail,
  isSound: (path: Path) => boolean,
): ModelGroup[] {
  const served = upstreams.flatMap((upstream) => upstream.models.map(({ id }) => id))
  const taken = new Set([...served, ...models.flatMap(({ id, aliases }) => [id, ...aliases])])
  return entries.flatMap(({ id, models: members }, index) => {
    const path = ['model_groups', index]
    if (!isSound(path)) return []
    const check = (at: Path, problem: string | null): void => {
      if (problem !== null) attempt(fail, () => fail(at, problem), undefined)
    }
    check([...path, 'id'], taken.has(id) ? 'a model has this id: give the group another one' : null)
    check([...path, 'id'], entries.findIndex((one) => one.id === id) < index ? 'a group is listed twice' : null)
    for (const [place, name] of members.entries()) check([...path, 'models', place], problemOf(name, members, place))
    return [{ id, models: members }]
  })
}

/** Null: the name may be in a list of models. */
export function problemOf(name: string, all: readonly string[], place: number): string | null {
  if (/\*./.test(name)) return 'a "*" may only be the last character of a model id'
  return all.indexOf(name) < place ? 'a model is listed twice' : null
}
