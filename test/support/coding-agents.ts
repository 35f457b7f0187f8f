import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolAnswer } from '../../src/simulator/behaviour.ts'

// Coding agents as users install them: the command that starts each against a gateway, and the call of its shell tool.

export interface AgentSetup {
  /** Origin of the gateway, without a path. */
  readonly url: string
  readonly apiKey: string
  readonly model: string
  readonly home: string
  readonly prompt: string
}

export interface CodingAgent {
  readonly name: string
  readonly packages: readonly string[]
  /** The endpoint of the gateway that the agent uses. */
  readonly endpoint: 'chat.completions' | 'messages' | 'responses'
  /** On a busy machine its terminal can lose the output of a short command. */
  readonly losesOutput?: true
  /** A call of the agent's tool that runs a command. */
  readonly shell: (command: string) => ToolAnswer
  /** Writes the agent's configuration and returns its start command. @param directory of the installation */
  readonly start: (
    setup: AgentSetup,
    directory: string,
  ) => { readonly command: readonly [string, ...string[]]; readonly env: Readonly<Record<string, string>> }
}

const PLATFORM = `${process.platform}-${process.arch}`

const codex: CodingAgent = {
  name: 'Codex',
  packages: ['@openai/codex@0.169.0'],
  endpoint: 'responses',
  shell: (cmd) => ({ name: 'exec_command', arguments: { cmd } }),
  start: ({ url, apiKey, model, home, prompt }, directory) => {
    const settings = [
      `model = "${model}"`,
      'model_provider = "gateway"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.gateway]',
      'name = "gateway"',
      `base_url = "${url}/v1"`,
      'env_key = "GATEWAY_KEY"',
      'wire_api = "responses"',
      'request_max_retries = 0',
      'stream_max_retries = 0',
    ]
    write(join(home, '.codex'), 'config.toml', settings.join('\n'))
    const program = join(directory, 'node_modules/@openai/codex/bin/codex.js')
    const unasked = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    return {
      command: [process.execPath, program, 'exec', ...unasked, prompt],
      env: { GATEWAY_KEY: apiKey, CODEX_HOME: join(home, '.codex') },
    }
  },
}

const claudeCode: CodingAgent = {
  name: 'Claude Code',
  packages: ['@anthropic-ai/claude-code@2.1.331'],
  endpoint: 'messages',
  shell: (command) => ({ name: 'Bash', arguments: { command, description: 'Runs a command' } }),
  start: ({ url, apiKey, model, prompt }, directory) => ({
    command: [
      join(directory, `node_modules/@anthropic-ai/claude-code-${PLATFORM}/claude`),
      ...['--print', prompt, '--model', model, '--allowedTools', 'Bash', '--output-format', 'json'],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: apiKey,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  }),
}

const qwenCode: CodingAgent = {
  name: 'qwen-code',
  packages: ['@qwen-code/qwen-code@0.24.4'],
  losesOutput: true,
  endpoint: 'chat.completions',
  shell: (command) => ({ name: 'run_shell_command', arguments: { command, is_background: false } }),
  start: ({ url, apiKey, model, home, prompt }, directory) => {
    const settings = {
      usageStatisticsEnabled: false,
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
      security: { auth: { selectedType: 'openai' } },
    }
    write(join(home, '.qwen'), 'settings.json', JSON.stringify(settings))
    const program = join(directory, 'node_modules/@qwen-code/qwen-code/cli-entry.js')
    return {
      command: [process.execPath, program, '--yolo', '--prompt', prompt],
      env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model },
    }
  },
}

/** opencode with one of its provider libraries. */
function opencode(library: string, endpoint: CodingAgent['endpoint']): CodingAgent {
  return {
    name: `opencode with ${library}`,
    packages: ['opencode-ai@1.18.33'],
    endpoint,
    shell: (command) => ({ name: 'bash', arguments: { command, description: 'Runs a command' } }),
    start: ({ url, apiKey, model, home, prompt }, directory) => {
      const settings = {
        autoupdate: false,
        share: 'disabled',
        permission: 'allow',
        model: `gateway/${model}`,
        small_model: `gateway/${model}`,
        provider: {
          gateway: {
            npm: library,
            name: 'Gateway',
            options: { baseURL: `${url}/v1`, apiKey },
            models: { [model]: {} },
          },
        },
      }
      write(join(home, '.config/opencode'), 'opencode.json', JSON.stringify(settings))
      return {
        // opencode quotes an argument that contains spaces, so each word is an argument.
        command: [join(directory, `node_modules/opencode-${PLATFORM}/bin/opencode`), 'run', ...prompt.split(' ')],
        env: {
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        },
      }
    },
  }
}

export const CODING_AGENTS: readonly CodingAgent[] = [
  codex,
  claudeCode,
  qwenCode,
  opencode('@ai-sdk/openai-compatible', 'chat.completions'),
  opencode('@ai-sdk/anthropic', 'messages'),
  opencode('@ai-sdk/openai', 'responses'),
]

function write(directory: string, name: string, text: string): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), text)
}
