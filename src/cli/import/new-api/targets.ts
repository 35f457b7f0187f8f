import type { DraftUpstream } from '../draft.ts'
import { json, objectOf, text } from './rows.ts'
import type { Row } from './rows.ts'

export type Host = Omit<DraftUpstream, 'id' | 'name' | 'keys' | 'models' | 'priority'>

/** A host that a channel calls. A channel of a cloud may call several. */
export interface Target {
  readonly host: Host
  /** The text from which the id of the upstream is made, when the name of the channel gives none. */
  readonly label: string
  /** By the position of the key in the channel. A key that is left out belongs to another host. */
  readonly credentials: ReadonlyMap<number, string>
  /** Models by the name that the channel sends; null: not at this host. */
  readonly modelOf: (name: string) => string | null
  /** A reason to check what was made of the channel, by the column that it is about. */
  readonly changed?: readonly [column: string, reason: string]
}

export interface NoTarget {
  readonly column: string
  readonly reason: string
}

interface TypeRow {
  /** The provider of Sluice; null: a server that speaks the chat protocol. */
  readonly provider: string | null
  /** Appended to the address of a channel. */
  readonly path: string
  /** The address for channels without one, where it is not that of the provider of Sluice. */
  readonly base?: string
  /** The address that new-api uses for channels without one, where Sluice has the same. */
  readonly same?: string
  readonly label: string
}

const chat = (label: string, base: string, path = '/v1'): TypeRow => ({ provider: null, path, base, label })
const known = (provider: string, path: string, same: string): TypeRow => ({ provider, path, same, label: provider })
const elsewhere = (provider: string, path: string, base: string): TypeRow => ({ provider, path, base, label: provider })

/** By the number of the type of a channel. Azure, AWS, Vertex AI and others with addresses of their own are below. */
const TYPES: Readonly<Record<number, TypeRow>> = {
  1: known('openai', '/v1', 'https://api.openai.com'),
  4: known('ollama', '/v1', 'http://localhost:11434'),
  6: chat('openaimax', 'https://api.openaimax.com'),
  7: chat('ohmygpt', 'https://api.ohmygpt.com'),
  9: chat('ails', 'https://api.caipacity.com'),
  10: chat('aiproxy', 'https://api.aiproxy.io'),
  12: chat('api2gpt', 'https://api.api2gpt.com'),
  13: chat('aigc2d', 'https://api.aigc2d.com'),
  14: known('anthropic', '/v1', 'https://api.anthropic.com'),
  17: elsewhere('qwen', '/compatible-mode/v1', 'https://dashscope.aliyuncs.com'),
  19: chat('360', 'https://api.360.cn'),
  20: known('openrouter', '/v1', 'https://openrouter.ai/api'),
  22: chat('fastgpt', 'https://fastgpt.run/api/openapi'),
  25: elsewhere('moonshot', '/v1', 'https://api.moonshot.cn'),
  26: elsewhere('zhipu', '/api/paas/v4', 'https://open.bigmodel.cn'),
  27: known('perplexity', '', 'https://api.perplexity.ai'),
  31: chat('lingyiwanwu', 'https://api.lingyiwanwu.com'),
  34: known('cohere', '', 'https://api.cohere.ai'),
  35: elsewhere('minimax', '/v1', 'https://api.minimax.chat'),
  38: known('jina', '/v1', 'https://api.jina.ai'),
  40: elsewhere('siliconflow', '/v1', 'https://api.siliconflow.cn'),
  42: known('mistral', '/v1', 'https://api.mistral.ai'),
  43: known('deepseek', '/v1', 'https://api.deepseek.com'),
  45: known('ark', '/api/v3', 'https://ark.cn-beijing.volces.com'),
  46: chat('baidu', 'https://qianfan.baidubce.com', '/v2'),
  47: chat('xinference', ''),
  48: known('xai', '/v1', 'https://api.x.ai'),
  53: chat('submodel', 'https://llm.submodel.ai'),
  55: known('openai', '/v1', 'https://api.openai.com'),
}

/** Words that new-api takes in place of an address. */
const PLANS: Readonly<Record<string, string>> = {
  'glm-coding-plan': 'https://open.bigmodel.cn/api/coding/paas/v4',
  'glm-coding-plan-international': 'https://api.z.ai/api/coding/paas/v4',
  'kimi-coding-plan': 'https://api.kimi.com/coding/v1',
  'doubao-coding-plan': 'https://ark.cn-beijing.volces.com/api/coding/v3',
}

const NO_PROTOCOL: Readonly<Record<number, string>> = {
  2: 'Midjourney',
  5: 'Midjourney Plus',
  11: 'PaLM',
  15: 'the first protocol of Baidu; Baidu V2 is carried',
  16: 'the first protocol of Zhipu; Zhipu V4 is carried',
  18: 'Xunfei',
  21: 'AIProxy Library',
  23: 'Tencent',
  36: 'Suno',
  37: 'Dify',
  44: 'MokaAI',
  49: 'Coze',
  50: 'Kling',
  51: 'Jimeng',
  52: 'Vidu',
  54: 'videos of Doubao',
  56: 'Replicate',
  57: 'Codex',
}

/** The API version for channels of Azure that have none. */
const AZURE_VERSION = '2025-04-01-preview'
/** Channels of Azure that are older send names of deployments without dots: 2025-05-10. */
const AZURE_KEEPS_DOTS_FROM = 1_746_835_200

export interface ChannelKey {
  readonly index: number
  readonly value: string
}

/** The hosts that a channel calls, or the reason why Sluice cannot call them. */
export function targetsOf(row: Row, keys: readonly ChannelKey[]): readonly Target[] | NoTarget {
  const type = Number(text(row, 'type'))
  const base = text(row, 'base_url').trim().replace(/\/+$/, '')
  switch (type) {
    case 3:
      return azure(row, base, keys)
    case 8:
      return custom(base, keys)
    case 24:
      return gemini(base, keys)
    case 33:
      return aws(row, keys)
    case 39:
      return cloudflare(row, base, keys)
    case 41:
      return vertex(row, keys)
    default: {
      const entry = TYPES[type]
      if (entry !== undefined) return plain(entry, base, keys)
      const name = NO_PROTOCOL[type]
      return {
        column: 'type',
        reason: name === undefined ? `Sluice knows no type ${type}` : `Sluice does not speak the protocol of ${name}`,
      }
    }
  }
}

function plain(
  { provider, path, base, same, label }: TypeRow,
  given: string,
  keys: readonly ChannelKey[],
): Target[] | NoTarget {
  const plan = PLANS[given]
  const own = given === '' || given === same ? undefined : given
  const address = plan ?? completed(own ?? base, path)
  if (address === undefined && provider === null) return { column: 'base_url', reason: 'the channel has no address' }
  const isForeign = provider === 'openai' && own !== undefined
  const isOpen = keys.length === 0
  const host: Host =
    provider === null || isForeign
      ? { dialect: 'openai-chat', ...(isOpen ? { auth: 'none' } : {}), ...optionalBase(address) }
      : { provider, ...optionalBase(address) }
  return [{ host, label: isForeign ? hostOf(given, label) : label, credentials: all(keys), modelOf: (name) => name }]
}

/** The address of a channel of this type is that of its chat endpoint. */
function custom(base: string, keys: readonly ChannelKey[]): Target[] | NoTarget {
  if (!base.endsWith('/chat/completions') || base.includes('{model}')) {
    return { column: 'base_url', reason: `Sluice calls addresses that end in /chat/completions, not ${base}` }
  }
  const address = base.slice(0, -'/chat/completions'.length)
  const host = { dialect: 'openai-chat', base_url: address, ...(keys.length === 0 ? { auth: 'none' } : {}) }
  return [{ host, label: hostOf(base, 'custom'), credentials: all(keys), modelOf: (name) => name }]
}

function gemini(base: string, keys: readonly ChannelKey[]): Target[] {
  const isOwn = base !== '' && base !== 'https://generativelanguage.googleapis.com'
  const host: Host = isOwn ? { dialect: 'gemini', base_url: base } : { provider: 'gemini' }
  return [{ host, label: 'gemini', credentials: all(keys), modelOf: (name) => name }]
}

function azure(row: Row, base: string, keys: readonly ChannelKey[]): Target[] | NoTarget {
  if (base === '') return { column: 'base_url', reason: 'the channel has no address' }
  const version = text(row, 'other').trim()
  const keepsDots = Number(text(row, 'created_time')) >= AZURE_KEEPS_DOTS_FROM
  return [
    {
      host: { provider: 'azure-openai', base_url: base, api_version: version === '' ? AZURE_VERSION : version },
      label: `azure-${hostOf(base, '').split('.')[0] ?? ''}`,
      credentials: all(keys),
      modelOf: (name) => (keepsDots ? name : name.replaceAll('.', '')),
    },
  ]
}

function cloudflare(row: Row, base: string, keys: readonly ChannelKey[]): Target[] | NoTarget {
  const account = text(row, 'other').trim()
  if (account === '') return { column: 'other', reason: 'the channel names no account of Cloudflare' }
  const address = `${base === '' ? 'https://api.cloudflare.com' : base}/client/v4/accounts/${account}/ai/v1`
  const host = { provider: 'cloudflare', base_url: address }
  return [{ host, label: 'cloudflare', credentials: all(keys), modelOf: (name) => name }]
}

/** Keys are "access key|secret|region", or "API key|region". Each region has its host. */
function aws(row: Row, keys: readonly ChannelKey[]): Target[] | NoTarget {
  const isApiKey = json(row, 'settings')['aws_key_type'] === 'api_key'
  const regions = new Map<string, Map<number, string>>()
  for (const { index, value } of keys) {
    const parts = value.split('|').map((part) => part.trim())
    const region = parts.at(-1) ?? ''
    if (parts.length !== (isApiKey ? 2 : 3) || !/^[a-z0-9-]+$/.test(region)) {
      return {
        column: 'key',
        reason: `a key is not of the form ${isApiKey ? 'key|region' : 'access key|secret|region'}`,
      }
    }
    const credentials = regions.get(region) ?? new Map<number, string>()
    regions.set(region, credentials.set(index, parts.slice(0, -1).join(':')))
  }
  return [...regions].map(([region, credentials]) => ({
    host: { provider: 'bedrock', base_url: `https://bedrock-runtime.${region}.amazonaws.com` },
    label: `bedrock-${region}`,
    credentials,
    modelOf: (name) => (name.startsWith('claude-') ? `anthropic.${name}-v1:0` : name),
    changed: [
      'models',
      'the ids of models in Bedrock are guessed: check upstream_model, and put us., eu. or apac. before it for an inference profile',
    ],
  }))
}

/** Keys are the JSON of service accounts. The column "other" has the region, or regions by model. */
function vertex(row: Row, keys: readonly ChannelKey[]): Target[] | NoTarget {
  if (json(row, 'settings')['vertex_key_type'] === 'api_key') {
    return {
      column: 'settings.vertex_key_type',
      reason: 'Sluice calls Vertex AI with a service account, not with an API key',
    }
  }
  const other = text(row, 'other').trim()
  const given = Object.entries(other.startsWith('{') ? objectOf(other) : other === '' ? {} : { default: other })
  const regions = new Map(given.flatMap(([model, region]) => (typeof region === 'string' ? [[model, region]] : [])))
  const regionOf = (model: string): string => regions.get(model) ?? regions.get('default') ?? 'global'
  const projects = new Map<string, Map<number, string>>()
  for (const { index, value } of keys) {
    const project = objectOf(value)['project_id']
    if (typeof project !== 'string') return { column: 'key', reason: 'a key is not the JSON of a service account' }
    projects.set(project, (projects.get(project) ?? new Map<number, string>()).set(index, value))
  }
  const places = [...new Set(['default', ...regions.keys()].map(regionOf))]
  return [...projects].flatMap(([project, credentials]) =>
    places.flatMap((region) =>
      [/^claude/, /^(gemini|imagen|veo|text-embedding|text-multilingual|multimodalembedding)/].map((family): Target => {
        const provider = family.source === '^claude' ? 'vertex-anthropic' : 'vertex'
        const address = region === 'global' ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`
        return {
          host: { provider, base_url: `https://${address}/v1/projects/${project}/locations/${region}` },
          label: `${provider}-${region}`,
          credentials,
          modelOf: (name) => (family.test(name) && regionOf(name) === region ? name : null),
        }
      }),
    ),
  )
}

function all(keys: readonly ChannelKey[]): ReadonlyMap<number, string> {
  return new Map(keys.map(({ index, value }) => [index, value]))
}

function completed(base: string | undefined, path: string): string | undefined {
  if (base === undefined || base === '') return undefined
  // new-api calls this proxy of Cloudflare without the version.
  if (base.startsWith('https://gateway.ai.cloudflare.com') && path === '/v1') return base
  return base.endsWith(path) ? base : base + path
}

function optionalBase(address: string | undefined): Pick<Host, 'base_url'> {
  return address === undefined ? {} : { base_url: address }
}

function hostOf(address: string, otherwise: string): string {
  return URL.canParse(address) ? new URL(address).hostname : otherwise
}
