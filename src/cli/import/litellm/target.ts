import { knownProvider } from '../../../shared/config/providers/known.ts'
import { cloudTarget } from './clouds.ts'
import type { Host, NoTarget, Params, Target } from './host.ts'
import { PROVIDERS, SELF_HOSTED, providerOf } from './providers.ts'
import type { References } from './reference.ts'

const PARAMS = ['model', 'custom_llm_provider', 'api_key', 'api_base', 'base_url']

/** The address that a deployment calls, or the reason why Sluice cannot call it. */
export function targetOf(params: Params, references: References): Target | NoTarget {
  const model = references.text(params['model'])
  if (model === undefined) return { reason: 'the deployment names no model' }
  const found = providerOf(model, references.text(params['custom_llm_provider']))
  if (found === null) {
    return {
      reason: `"${model}" does not name a provider; Sluice needs one, like openai/${model.split('/').at(-1) ?? ''}`,
    }
  }
  const { prefix, name } = found
  const cloud = cloudTarget(prefix, name, params, references)
  if (cloud !== null) return 'reason' in cloud ? cloud : { ...cloud, taken: [...PARAMS, ...cloud.taken] }
  const row = PROVIDERS[prefix]
  if (row === undefined) return { reason: `Sluice has no provider for "${prefix}"` }
  const own = references.text(params['api_base']) ?? references.text(params['base_url'])
  const given = own ?? (row.bases && references.variableIfSet(...row.bases))
  const key = references.text(params['api_key'])
  const ownHost = given !== undefined && row.provider === 'openai' && !/^https:\/\/api\.openai\.com(\/|$)/.test(given)
  const provider = ownHost ? null : row.provider
  const base =
    given ?? (provider === null || !hasAddress(provider) ? row.bases && references.variable(...row.bases) : undefined)
  if (provider === null && base === undefined) return { reason: `"${prefix}" needs an api_base` }
  // With an address from a variable, LiteLLM also sends the key from a variable.
  const keyless = row.provider === null || SELF_HOSTED.has(row.provider) || (ownHost && own !== undefined)
  const isOpen = key === undefined && keyless
  const baseUrl = base === undefined ? undefined : complete(base, row.basePath)
  const host: Host =
    prefix === 'gemini' && baseUrl !== undefined
      ? { dialect: 'gemini', base_url: baseUrl.replace(/\/v1(beta)?$/, '') }
      : {
          ...(provider === null ? { dialect: 'openai-chat' } : { provider }),
          ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
          ...(isOpen && provider === null ? { auth: 'none' } : {}),
        }
  const prefixed = row.modelPrefix !== undefined && !name.startsWith('accounts/') && !name.endsWith('*')
  return {
    host,
    credential: isOpen ? null : (key ?? references.variable(...row.keys)),
    upstreamModel: prefixed ? `${row.modelPrefix ?? ''}${name}` : name,
    label: provider ?? labelOf(base, prefix),
    taken: PARAMS,
  }
}

/** Whether Sluice knows an address of the provider. */
function hasAddress(provider: string): boolean {
  const known = knownProvider(provider)
  return known !== undefined && known.baseUrl !== null
}

function complete(base: string, basePath = ''): string {
  const plain = base.replace(/\/+$/, '').replace(/\/chat\/completions$/, '')
  return plain.endsWith(basePath) ? plain : plain + basePath
}

function labelOf(base: string | undefined, prefix: string): string {
  const host = base === undefined || !URL.canParse(base) ? '' : new URL(base).hostname
  return host === '' ? prefix : host
}
