import { isObject } from '../../../shared/config/is-object.ts'
import type { DraftConfig, Remarks } from '../draft.ts'
import { readDeployment } from './deployments.ts'
import type { Deployment } from './deployments.ts'
import { fallbacksOf } from './fallbacks.ts'
import type { DraftFacts } from './facts.ts'
import { References } from './reference.ts'
import { readSettings } from './settings.ts'
import type { Params } from './host.ts'
import { upstreamsOf } from './upstreams.ts'

const READ = new Set([
  'model_list',
  'router_settings',
  'litellm_settings',
  'general_settings',
  'environment_variables',
]).add('credential_list')

const LOST: Readonly<Record<string, string>> = {
  include: 'import each file by itself',
  mcp_servers: 'name them in mcp.servers (docs/mcp.md): who may use them has another form there',
  guardrails: 'Sluice has no guardrails',
  callback_settings: 'Sluice has a request log and metrics, and calls no other services',
}

/** The configuration of Sluice for a configuration of LiteLLM's proxy. */
export function fromLiteLlm(file: Readonly<Record<string, unknown>>, remarks: Remarks): DraftConfig {
  const references = new References(file['environment_variables'])
  const list: readonly unknown[] = Array.isArray(file['model_list']) ? file['model_list'] : []
  const context = { references, remarks, credentials: credentialsOf(file['credential_list']) }
  const deployments = list.flatMap((entry, index): Deployment[] => {
    const deployment = readDeployment(entry, ['model_list', index], context)
    return deployment === null ? [] : [deployment]
  })
  const groups = new Set(deployments.map(({ group }) => group))
  const aliases = aliasesOf(file, groups, remarks)
  const names = new Set([...groups, ...[...aliases.values()].flat()])
  const draft: DraftConfig = { upstreams: upstreamsOf(deployments, aliases, remarks) }
  const fallbacks = fallbacksOf(file, { names }, remarks)
  if (Object.keys(fallbacks).length > 0) draft.fallbacks = fallbacks
  const facts = factsOf(deployments, remarks)
  if (facts.length > 0) draft['models'] = facts
  readSettings(file, { draft, references, remarks })
  for (const section of Object.keys(file)) {
    if (!READ.has(section)) remarks.lose([section], LOST[section] ?? 'Sluice has no such section')
  }
  return draft
}

function credentialsOf(list: unknown): ReadonlyMap<string, Params> {
  const entries = (Array.isArray(list) ? list : []).flatMap((entry): Array<[string, Params]> => {
    if (!isObject(entry)) return []
    const { credential_name: name, credential_values: values } = entry
    return typeof name === 'string' && isObject(values) ? [[name, values]] : []
  })
  return new Map(entries)
}

/** Other names of models, by the name that has deployments. */
function aliasesOf(
  file: Readonly<Record<string, unknown>>,
  groups: ReadonlySet<string>,
  remarks: Remarks,
): ReadonlyMap<string, readonly string[]> {
  const aliases = new Map<string, string[]>()
  const places = [
    ['router_settings', 'model_group_alias'],
    ['litellm_settings', 'model_alias_map'],
  ] as const
  for (const [section, name] of places) {
    const settings = file[section]
    const map = isObject(settings) ? settings[name] : undefined
    for (const [alias, value] of Object.entries(isObject(map) ? map : {})) {
      const path = [section, name, alias]
      const target = isObject(value) ? value['model'] : value
      if (typeof target !== 'string' || !groups.has(target)) {
        remarks.lose(path, 'no deployment of its model was carried')
        continue
      }
      if (groups.has(alias)) {
        remarks.lose(path, 'model_list has deployments of this name, which are used')
        continue
      }
      if (isObject(value) && value['hidden'] === true) remarks.change(path, 'GET /v1/models lists the name')
      aliases.set(target, [...(aliases.get(target) ?? []), alias])
    }
  }
  return aliases
}

/** One entry for each model of each provider: the first one counts. */
function factsOf(deployments: readonly Deployment[], remarks: Remarks): DraftFacts[] {
  const known = new Map<string, DraftFacts>()
  for (const { facts, path } of deployments) {
    if (facts === null) continue
    const key = JSON.stringify([facts.id, facts['provider']])
    const first = known.get(key)
    if (first === undefined) known.set(key, facts)
    else if (JSON.stringify(first) !== JSON.stringify(facts)) {
      remarks.lose([...path, 'model_info'], `an earlier deployment of ${facts.id} has other facts, which count`)
    }
  }
  return [...known.values()]
}
