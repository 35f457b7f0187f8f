import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { jsonOf } from '../../support/cli-commands.ts'
import { askChat, copyMadeDatabase, runProgram, stopPrograms } from '../../support/program.ts'
import { sluice } from '../../support/sluice.ts'
import type { Said } from '../../support/sluice.ts'
import { itLater } from '../../support/dose.ts'

const SOURCE = fileURLToPath(new URL('../../fixtures/litellm/config.yaml', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'sluice-import-'))
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

interface Imported {
  readonly upstreams: ReadonlyArray<Record<string, unknown> & { id: string; keys: Array<Record<string, unknown>> }>
  readonly keys: ReadonlyArray<{ readonly key: string; readonly monthly_budget: number }>
  readonly [section: string]: unknown
}

interface Result {
  readonly not_carried: ReadonlyArray<{ readonly path: string; readonly reason: string }>
  readonly changed: ReadonlyArray<{ readonly path: string; readonly reason: string }>
  readonly missing_variables: readonly string[]
  readonly problem: string | null
}

let simulator: Simulator
let env: Record<string, string>
beforeAll(async () => {
  simulator = await startSimulator()
  env = {
    SIM: simulator.origin,
    SIM_V1: `${simulator.origin}/v1`,
    VERTEX_JSON: 'ya29.token',
    ...Object.fromEntries(
      [
        'OPENAI_KEY_A',
        'ANTHROPIC_API_KEY',
        'AWS_ACCESS_KEY_ID',
        'AWS_SECRET_ACCESS_KEY',
        'GEMINI_API_KEY',
        'GROQ_API_KEY',
      ]
        .concat(['COHERE_API_KEY', 'MISTRAL_API_KEY', 'OPENROUTER_API_KEY', 'DEEPSEEK_API_KEY', 'TOGETHER_KEY'])
        .concat([
          'XAI_API_KEY',
          'FIREWORKS_AI_API_KEY',
          'PERPLEXITYAI_API_KEY',
          'CEREBRAS_API_KEY',
          'NVIDIA_NIM_API_KEY',
        ])
        .map((name) => [name, `credential-of-${name}`]),
    ),
  }
})
afterAll(async () => {
  await stopPrograms()
  await simulator.close()
  rmSync(root, { recursive: true, force: true })
})

function importLiteLlm(cwd: string, args: readonly string[] = []): Promise<Said> {
  return sluice(['import', 'litellm', SOURCE, ...args], { cwd, env })
}

function newDirectory(): string {
  return mkdtempSync(join(root, 'case-'))
}

describe('sluice import litellm', () => {
  let directory: string
  let result: Result
  let file: Imported
  beforeAll(async () => {
    directory = newDirectory()
    const said = await importLiteLlm(directory, ['--json'])
    expect(said).toMatchObject({ code: 0, stderr: '' })
    result = jsonOf(said) as unknown as Result
    file = parse(readFileSync(join(directory, 'sluice.yaml'), 'utf8')) as Imported
  })

  const upstream = (id: string): Imported['upstreams'][number] | undefined =>
    file.upstreams.find((one) => one.id === id)

  it('writes a file that only its owner reads, and that the gateway accepts', () => {
    expect(result).toMatchObject({ problem: null, missing_variables: [] })
    expect(statSync(join(directory, 'sluice.yaml')).mode & 0o777).toBe(0o600)
  })

  it('keeps references to the environment as references', () => {
    const text = readFileSync(join(directory, 'sluice.yaml'), 'utf8')
    expect(text).toContain('${OPENAI_KEY_A}')
    expect(text).not.toContain('credential-of-')
    expect(upstream('bedrock-eu-central-1')).toMatchObject({
      provider: 'bedrock',
      base_url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
      keys: [{ credential: '${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}' }],
    })
    expect(upstream('vertex-anthropic')).toMatchObject({
      base_url: 'https://us-east5-aiplatform.googleapis.com/v1/projects/my-project/locations/us-east5',
      keys: [{ credential: '${VERTEX_JSON}' }],
    })
    expect(upstream('openrouter')).toMatchObject({ keys: [{ credential: '${OPENROUTER_API_KEY}' }] })
    expect(upstream('azure')).toMatchObject({
      provider: 'azure-openai',
      base_url: '${SIM}',
      api_version: '2024-10-21',
      keys: [{ credential: 'azure-from-the-file' }],
    })
  })

  it('makes pools of deployments, with their shares', () => {
    const serving = (id: string): unknown[] =>
      file.upstreams.flatMap(({ models }) => (models as Array<{ id: string }>).filter((model) => model.id === id))
    expect(serving('gpt-4o')).toEqual([{ id: 'gpt-4o', upstream_model: 'gpt-4o-eu', weight: 9 }, { id: 'gpt-4o' }])
    expect(serving('smart')).toEqual([
      { id: 'smart', upstream_model: 'gpt-4o-eu', weight: 9 },
      { id: 'smart', upstream_model: 'gpt-4o' },
    ])
    expect(serving('pool')).toEqual([
      { id: 'pool', upstream_model: 'pooled', weight: 3 },
      { id: 'pool', upstream_model: 'pooled' },
    ])
  })

  it('carries fallbacks, budgets, limits, timeouts and facts', () => {
    expect(file).toMatchObject({
      fallbacks: { broken: ['gpt-4o-mini'], 'claude-sonnet': ['gpt-4o'] },
      upstream: { max_attempts: 3, timeouts: { first_byte_ms: 60_000, idle_ms: 60_000 } },
      limits: { key_defaults: { requests_per_minute: 600 }, max_body_bytes: 16 * 1_048_576 },
      redis: { url: 'redis://127.0.0.1:6379' },
      keys: [{ name: 'litellm-master-key', monthly_budget: 250_000_000 }],
      models: [{ id: 'broken-model', context_tokens: 128_000, prices: { input: 2_500_000, output: 10_000_000 } }],
    })
    expect(upstream('deepseek')).toMatchObject({ quirks: { refused_fields: ['logit_bias'] } })
    expect(upstream('anthropic')).toMatchObject({ base_url: '${SIM}/v1', headers: { 'x-team': 'platform' } })
  })

  it('says what it could not carry, by its place in the source', () => {
    const reasons = new Map(result.not_carried.map(({ path, reason }) => [path, reason]))
    expect([...reasons.keys()].sort()).toEqual([
      'general_settings.database_url',
      'general_settings.some_future_setting',
      'litellm_settings.cache',
      'litellm_settings.context_window_fallbacks',
      'litellm_settings.default_key_generate_params.max_budget',
      'litellm_settings.success_callback',
      'model_list[0].litellm_params.rpm',
      'model_list[1].litellm_params.rpm',
      'model_list[1].litellm_params.tpm',
      'model_list[20].litellm_params.model',
      'model_list[21].litellm_params.model',
      'model_list[9].litellm_params.temperature',
      'router_settings.allowed_fails',
      'router_settings.cooldown_time',
      'router_settings.fallbacks[0].broken[1]',
      'router_settings.model_group_alias.whisperer',
      'router_settings.provider_budget_config',
    ])
    expect(reasons.get('model_list[20].litellm_params.model')).toContain('audio_transcription')
    expect(reasons.get('model_list[21].litellm_params.model')).toContain('no provider for "sagemaker"')
    expect(reasons.get('router_settings.fallbacks[0].broken[1]')).toContain('no-such-model')
    expect(result.changed.map(({ path }) => path)).toEqual([
      'model_list[6].litellm_params.vertex_credentials',
      'general_settings.master_key',
      'litellm_settings.max_budget',
    ])
  })

  it('is accepted by the doctor, and served by a gateway: 20 models, and a fallback', async () => {
    copyMadeDatabase(join(directory, 'data'))
    const own = {
      ...env,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'silent',
      SLUICE__REDIS: '{}',
      SLUICE_DATA_DIR: 'data',
    }
    const doctor = jsonOf(
      await sluice(['doctor', '--json'], { cwd: directory, env: { ...own, ...offline(directory) } }),
    )
    const findings = doctor['findings'] as unknown as Array<{ check: string; status: string }>
    expect(findings.find(({ check }) => check === 'configuration')).toMatchObject({ status: 'ok' })
    simulator.configureKey('sk-broken', { status: 500 })
    const program = runProgram(directory, own)
    const url = await program.ready()
    const key = file.keys[0]?.key ?? ''
    const models = ['gpt-4o', 'smart', 'gpt-4o-mini', 'claude-sonnet', 'command', 'mistral-large', 'llama-fast']
      .concat(['router', 'deepseek', 'qwen-together', 'local', 'local-ollama', 'xai/grok-4', 'pool', 'gemini-pro'])
      .concat(['llama-fireworks', 'sonar', 'gpt-oss-120b', 'nemotron'])
    for (const model of models) expect([model, (await askChat(url, key, model)).status]).toEqual([model, 200])
    const embedding = await fetch(`${url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'embed', input: 'hi' }),
    })
    expect(embedding.status).toBe(200)
    expect(new Set([...models, 'embed']).size).toBe(20)
    const before = simulator.requests().at(-1)?.n ?? 0
    const fallback = await askChat(url, key, 'broken')
    expect(fallback.status).toBe(200)
    const attempts = simulator.requests().filter(({ n }) => n > before)
    expect(attempts[0]).toMatchObject({ credential: 'sk-broken', status: 500 })
    expect(attempts.at(-1)).toMatchObject({ credential: 'credential-of-OPENAI_KEY_A', status: 200 })
    const asked = simulator.requests().map(({ path }) => path)
    expect(asked.filter((path) => path.startsWith('/openai/deployments/gpt-4o-eu/chat/completions'))).not.toEqual([])
    expect(await program.stop()).toBe(0)
  })
})

itLater('holds the budget of the proxy', async () => {
  const directory = newDirectory()
  const small = readFileSync(SOURCE, 'utf8').replace('max_budget: 250', 'max_budget: 0.000001')
  writeFileSync(join(directory, 'config.yaml'), small)
  const said = await sluice(['import', 'litellm', 'config.yaml'], { cwd: directory, env })
  expect(said).toMatchObject({ code: 0, stderr: '' })
  const { keys } = parse(readFileSync(join(directory, 'sluice.yaml'), 'utf8')) as Imported
  expect(keys).toMatchObject([{ monthly_budget: 1 }])
  copyMadeDatabase(join(directory, 'data'))
  const program = runProgram(directory, {
    ...env,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'silent',
    SLUICE__REDIS: '{}',
    SLUICE_DATA_DIR: 'data',
  })
  const answer = await askChat(await program.ready(), keys[0]?.key ?? '', 'gpt-4o')
  expect(answer.status).toBe(429)
  expect(await answer.json()).toMatchObject({ error: { type: 'quota_exhausted', code: 'BUDGET_EXHAUSTED' } })
  expect(await program.stop()).toBe(0)
})

it('replaces no file unless it is told to, and names a file that is none of LiteLLM', async () => {
  const directory = newDirectory()
  writeFileSync(join(directory, 'sluice.yaml'), 'upstreams: []\n')
  const refused = await importLiteLlm(directory)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('--force')
  expect(readFileSync(join(directory, 'sluice.yaml'), 'utf8')).toBe('upstreams: []\n')
  const forced = await importLiteLlm(directory, ['--force'])
  expect(forced.code).toBe(0)
  expect(forced.stdout).toContain('not carried (17):\n')
  expect(forced.stdout).toMatch(/^ {2}model_list\[9\]\.litellm_params\.temperature: Sluice adds no fields/m)
  cpSync(join(directory, 'sluice.yaml'), join(directory, 'other.yaml'))
  const other = await sluice(['import', 'litellm', 'other.yaml', '--output', 'x.yaml'], { cwd: directory, env })
  expect(other).toMatchObject({ code: 2, stdout: '' })
  expect(other.stderr).toContain('model_list')
  const missing = await sluice(['import', 'litellm', 'nowhere.yaml', '--output', 'x.yaml'], { cwd: directory, env })
  expect(missing).toMatchObject({ code: 2, stdout: '' })
  expect(missing.stderr).toContain('no such file')
})

/** The doctor reaches out to all upstreams: only this machine is let through. */
function offline(directory: string): Record<string, string> {
  const network = join(directory, 'network.json')
  writeFileSync(network, JSON.stringify({ names: {}, here: [], log: join(directory, 'network.log') }))
  const module = fileURLToPath(new URL('../../support/closed-network.mjs', import.meta.url))
  return { SLUICE_TEST_NETWORK: network, NODE_OPTIONS: `--import ${module}` }
}
