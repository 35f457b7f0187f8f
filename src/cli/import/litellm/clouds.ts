import { isObject } from '../../../shared/config/is-object.ts'
import { escaped } from '../draft.ts'
import type { References } from './reference.ts'
import type { NoTarget, Params, Target } from './host.ts'

const AZURE_PARAMS = ['api_version', 'azure_ad_token']
const AWS_PARAMS = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'aws_region_name', 'region_name']
const VERTEX_PARAMS = [
  'vertex_project',
  'vertex_location',
  'vertex_credentials',
  'vertex_ai_project',
  'vertex_ai_location',
]
const NO_LOGIN = 'Sluice logs in with a fixed credential, not with this method'

/** The target of a deployment in a cloud; null: the prefix is none of a cloud. */
export function cloudTarget(
  prefix: string,
  name: string,
  params: Params,
  references: References,
): Target | NoTarget | null {
  switch (prefix) {
    case 'azure':
    case 'azure_text':
      return azure(name, params, references)
    case 'azure_ai':
      return azureAi(name, params, references)
    case 'bedrock':
    case 'bedrock_converse':
      return bedrock(name, params, references)
    case 'vertex_ai':
    case 'vertex_ai_beta':
      return vertex(name, params, references)
    default:
      return null
  }
}

function azure(name: string, params: Params, references: References): Target | NoTarget {
  if (params['tenant_id'] !== undefined || params['client_secret'] !== undefined) {
    return { reason: `${NO_LOGIN} (tenant_id, client_id, client_secret): give api_key or azure_ad_token` }
  }
  const base = references.text(params['api_base']) ?? references.variable('AZURE_API_BASE')
  const resource = base
    .replace(/\?.*$/, '')
    .replace(/\/openai\/deployments\/.*$/, '')
    .replace(/\/+$/, '')
  const version = references.text(params['api_version']) ?? references.variable('AZURE_API_VERSION')
  const token = references.text(params['azure_ad_token'])
  return {
    host: {
      provider: 'azure-openai',
      base_url: resource,
      api_version: version,
      ...(token === undefined ? {} : { auth: 'bearer' }),
    },
    credential: token ?? references.text(params['api_key']) ?? references.variable('AZURE_API_KEY'),
    upstreamModel: name,
    label: labelOf('azure', resource),
    taken: AZURE_PARAMS,
  }
}

/** Models of other makers in Azure; Claude there speaks the messages protocol. */
function azureAi(name: string, params: Params, references: References): Target | NoTarget {
  const base = (references.text(params['api_base']) ?? references.variable('AZURE_AI_API_BASE')).replace(/\/+$/, '')
  const credential = references.text(params['api_key']) ?? references.variable('AZURE_AI_API_KEY')
  const common = { credential, upstreamModel: name, label: labelOf('azure-ai', base), taken: AZURE_PARAMS }
  if (name.startsWith('claude')) {
    const root = base.replace(/\/anthropic(\/.*)?$/, '')
    return { ...common, host: { dialect: 'anthropic-messages', base_url: `${root}/anthropic/v1`, auth: 'x-api-key' } }
  }
  const api_version = references.text(params['api_version']) ?? '2024-05-01-preview'
  const base_url = /\/(models|openai\/v1)$/.test(base) ? base : `${base}/models`
  return { ...common, host: { provider: 'azure-openai', base_url, api_version } }
}

function bedrock(name: string, params: Params, references: References): Target | NoTarget {
  const login = ['aws_role_name', 'aws_profile_name', 'aws_web_identity_token'].find((one) => params[one] !== undefined)
  if (login !== undefined) return { reason: `${NO_LOGIN} (${login}): give an access key, or an API key of Bedrock` }
  const steps = name.split('/')
  if (steps[0] === 'converse' || steps[0] === 'invoke') steps.shift()
  const inName = /^[a-z]{2}(-[a-z]+)+-\d$/.test(steps[0] ?? '') ? steps.shift() : undefined
  const model = steps.join('/')
  if (/(^|\.)(titan-embed|embed|titan-image|nova-canvas|stable-)/.test(model)) {
    return { reason: 'Sluice calls Bedrock for conversations alone' }
  }
  const region =
    inName ??
    references.text(params['aws_region_name']) ??
    references.text(params['region_name']) ??
    references.variable('AWS_REGION_NAME', 'AWS_REGION')
  const apiKey = references.text(params['api_key'])
  const id = references.text(params['aws_access_key_id']) ?? references.variable('AWS_ACCESS_KEY_ID')
  const secret = references.text(params['aws_secret_access_key']) ?? references.variable('AWS_SECRET_ACCESS_KEY')
  const session = references.text(params['aws_session_token'])
  return {
    host: { provider: 'bedrock', base_url: `https://bedrock-runtime.${region}.amazonaws.com` },
    credential: apiKey ?? [id, secret, ...(session === undefined ? [] : [session])].join(':'),
    upstreamModel: model,
    label: /^[a-z0-9-]+$/.test(region) ? `bedrock-${region}` : 'bedrock',
    taken: AWS_PARAMS,
  }
}

function vertex(name: string, params: Params, references: References): Target | NoTarget {
  if (!/^(gemini|claude|imagen|veo|text-embedding|text-multilingual|multimodalembedding|\*)/.test(name)) {
    return { reason: 'Sluice calls Vertex AI for Gemini and Claude alone' }
  }
  const project =
    references.text(params['vertex_project']) ??
    references.text(params['vertex_ai_project']) ??
    references.variable('VERTEXAI_PROJECT')
  const location =
    references.text(params['vertex_location']) ?? references.text(params['vertex_ai_location']) ?? 'us-central1'
  const login = vertexCredential(params['vertex_credentials'], references)
  if (login === null) {
    return { reason: `${NO_LOGIN} (application default credentials): give vertex_credentials` }
  }
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  return {
    host: {
      provider: name.startsWith('claude') ? 'vertex-anthropic' : 'vertex',
      base_url: `https://${host}/v1/projects/${project}/locations/${location}`,
    },
    credential: login.credential,
    upstreamModel: name,
    label: name.startsWith('claude') ? 'vertex-anthropic' : 'vertex',
    taken: VERTEX_PARAMS,
    ...(login.changed === undefined ? {} : { changed: { vertex_credentials: login.changed } }),
  }
}

/** LiteLLM takes the JSON of a service account, or the path of a file with it. */
function vertexCredential(
  value: unknown,
  references: References,
): { readonly credential: string; readonly changed?: string } | null {
  if (isObject(value)) return { credential: escaped(JSON.stringify(value)) }
  const text = references.text(value)
  if (text === undefined) {
    const file = process.env['GOOGLE_APPLICATION_CREDENTIALS'] ?? ''
    return file === '' ? null : { credential: `\${file:${file}}`, changed: `read from ${file}` }
  }
  if (text.startsWith('${')) {
    return { credential: text, changed: `${text} must hold the JSON of the service account, not the path of its file` }
  }
  return text.trimStart().startsWith('{') ? { credential: text } : { credential: `\${file:${text}}` }
}

function labelOf(cloud: string, base: string): string {
  const host = URL.canParse(base) ? new URL(base).hostname : ''
  const [resource = ''] = host.split('.')
  return resource === '' ? cloud : `${cloud}-${resource}`
}
