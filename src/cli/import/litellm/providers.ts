/** The protocol with which Sluice calls a provider of LiteLLM. */
export interface ProviderRow {
  /** The provider of Sluice; null: a server that speaks the chat protocol, at `api_base`. */
  readonly provider: string | null
  /** Environment variables from which LiteLLM takes the key when the file gives none. */
  readonly keys: readonly [string, ...string[]]
  /** Environment variables from which LiteLLM takes an address when the file gives none. */
  readonly bases?: readonly [string, ...string[]]
  /** Appended to an `api_base` that lacks it. */
  readonly basePath?: string
  /** Put before names of models that do not begin with it. */
  readonly modelPrefix?: string
}

const row = (provider: string | null, ...keys: readonly [string, ...string[]]): ProviderRow => ({ provider, keys })

/** By the text before the first "/" of `litellm_params.model`. Azure, Bedrock and Vertex AI are in `clouds.ts`. */
export const PROVIDERS: Readonly<Record<string, ProviderRow>> = {
  openai: { ...row('openai', 'OPENAI_API_KEY'), bases: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'] },
  custom_openai: row(null, 'OPENAI_API_KEY'),
  openai_like: row(null, 'OPENAI_LIKE_API_KEY'),
  litellm_proxy: { ...row(null, 'LITELLM_PROXY_API_KEY'), bases: ['LITELLM_PROXY_API_BASE'] },
  anthropic: {
    ...row('anthropic', 'ANTHROPIC_API_KEY'),
    bases: ['ANTHROPIC_API_BASE', 'ANTHROPIC_BASE_URL'],
    basePath: '/v1',
  },
  gemini: row('gemini', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'),
  cohere: row('cohere', 'COHERE_API_KEY', 'CO_API_KEY'),
  cohere_chat: row('cohere', 'COHERE_API_KEY', 'CO_API_KEY'),
  mistral: { ...row('mistral', 'MISTRAL_API_KEY'), bases: ['MISTRAL_AZURE_API_BASE', 'MISTRAL_API_BASE'] },
  codestral: { ...row('mistral', 'CODESTRAL_API_KEY'), bases: ['CODESTRAL_API_BASE'], basePath: '/v1' },
  groq: { ...row('groq', 'GROQ_API_KEY'), bases: ['GROQ_API_BASE'] },
  openrouter: { ...row('openrouter', 'OPENROUTER_API_KEY', 'OR_API_KEY'), bases: ['OPENROUTER_API_BASE'] },
  deepseek: { ...row('deepseek', 'DEEPSEEK_API_KEY'), bases: ['DEEPSEEK_API_BASE'] },
  together_ai: {
    ...row('together', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_API_KEY', 'TOGETHER_API_KEY'),
    bases: ['TOGETHER_AI_API_BASE'],
  },
  fireworks_ai: {
    ...row('fireworks', 'FIREWORKS_AI_API_KEY', 'FIREWORKS_API_KEY', 'FIREWORKSAI_API_KEY'),
    bases: ['FIREWORKS_API_BASE'],
    modelPrefix: 'accounts/fireworks/models/',
  },
  perplexity: { ...row('perplexity', 'PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY'), bases: ['PERPLEXITY_API_BASE'] },
  xai: { ...row('xai', 'XAI_API_KEY'), bases: ['XAI_API_BASE'] },
  cerebras: { ...row('cerebras', 'CEREBRAS_API_KEY'), bases: ['CEREBRAS_API_BASE'] },
  sambanova: { ...row('sambanova', 'SAMBANOVA_API_KEY'), bases: ['SAMBANOVA_API_BASE'] },
  nvidia_nim: { ...row('nvidia', 'NVIDIA_NIM_API_KEY'), bases: ['NVIDIA_NIM_API_BASE'] },
  deepinfra: { ...row('deepinfra', 'DEEPINFRA_API_KEY'), bases: ['DEEPINFRA_API_BASE'] },
  novita: row('novita', 'NOVITA_API_KEY'),
  hyperbolic: row('hyperbolic', 'HYPERBOLIC_API_KEY'),
  nebius: row('nebius', 'NEBIUS_API_KEY'),
  baseten: row('baseten', 'BASETEN_API_KEY'),
  featherless_ai: row('featherless', 'FEATHERLESS_AI_API_KEY', 'FEATHERLESS_API_KEY'),
  huggingface: row('huggingface', 'HF_TOKEN', 'HUGGINGFACE_API_KEY'),
  github: { ...row('github', 'GITHUB_API_KEY'), bases: ['GITHUB_API_BASE'] },
  vercel_ai_gateway: row('vercel', 'VERCEL_AI_GATEWAY_API_KEY', 'AI_GATEWAY_API_KEY'),
  siliconflow: row('siliconflow', 'SILICONFLOW_API_KEY'),
  voyage: row('voyage', 'VOYAGE_API_KEY'),
  jina_ai: row('jina', 'JINA_AI_API_KEY'),
  moonshot: row('moonshot', 'MOONSHOT_API_KEY'),
  dashscope: row('qwen', 'DASHSCOPE_API_KEY'),
  volcengine: { ...row('ark', 'VOLCENGINE_API_KEY', 'ARK_API_KEY'), bases: ['VOLCENGINE_API_BASE'] },
  minimax: row('minimax', 'MINIMAX_API_KEY'),
  zai: row('zhipu', 'ZAI_API_KEY'),
  ai21: { ...row('ai21', 'AI21_API_KEY'), bases: ['AI21_API_BASE'] },
  ai21_chat: { ...row('ai21', 'AI21_API_KEY'), bases: ['AI21_API_BASE'] },
  databricks: { ...row('databricks', 'DATABRICKS_API_KEY'), bases: ['DATABRICKS_API_BASE'] },
  ollama: { ...row('ollama', 'OLLAMA_API_KEY'), bases: ['OLLAMA_API_BASE'], basePath: '/v1' },
  ollama_chat: { ...row('ollama', 'OLLAMA_API_KEY'), bases: ['OLLAMA_API_BASE'], basePath: '/v1' },
  hosted_vllm: { ...row('vllm', 'HOSTED_VLLM_API_KEY'), bases: ['HOSTED_VLLM_API_BASE'] },
  lm_studio: { ...row('lmstudio', 'LM_STUDIO_API_KEY'), bases: ['LM_STUDIO_API_BASE'] },
  llamafile: { ...row('llamacpp', 'LLAMAFILE_API_KEY'), bases: ['LLAMAFILE_API_BASE'] },
}

/** Addresses that need no variable: the provider of Sluice has the same default. */
export const SELF_HOSTED = new Set(['ollama', 'vllm', 'lmstudio', 'llamacpp'])

/** Models that LiteLLM knows without a prefix. */
const BARE: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(gpt-|chatgpt-|o\d|ft:gpt-|text-embedding-|dall-e-|sora-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(gemini-|imagen|veo-)/, 'vertex_ai'],
  [/^(command|embed-|rerank-)/, 'cohere'],
  [
    /^(anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai|us\.|eu\.|apac\.|global\.)[.a-z-]*\.[a-z]/,
    'bedrock',
  ],
]

/** The provider of a model, and its name there. Null: the name does not tell. */
export function providerOf(model: string, custom: string | undefined): { prefix: string; name: string } | null {
  if (custom !== undefined) {
    return { prefix: custom, name: model.startsWith(`${custom}/`) ? model.slice(custom.length + 1) : model }
  }
  const slash = model.indexOf('/')
  if (slash > 0 && /^[a-z0-9_]+$/.test(model.slice(0, slash))) {
    return { prefix: model.slice(0, slash), name: model.slice(slash + 1) }
  }
  const bare = BARE.find(([pattern]) => pattern.test(model))
  return bare === undefined ? null : { prefix: bare[1], name: model }
}
