export const EXAMPLES = ['curl', 'python', 'typescript', 'claude', 'codex'] as const
export type Example = (typeof EXAMPLES)[number]

interface Filled {
  /** Of the gateway, without a path. */
  readonly origin: string
  readonly key: string
  readonly model: string
}

/** Each works as it stands: pasted into a shell or a file. */
export function exampleOf(example: Example, { origin, key, model }: Filled): string {
  switch (example) {
    case 'curl':
      return `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Say hello"}]}'`
    case 'python':
      return `# pip install openai
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello"}],
)
print(answer.choices[0].message.content)`
    case 'typescript':
      return `// npm install openai
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello' }],
})
console.log(answer.choices[0].message.content)`
    case 'claude':
      return `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
claude`
    case 'codex':
      return `# ~/.codex/config.toml
model = "${model}"
model_provider = "sluice"

[model_providers.sluice]
name = "Sluice"
base_url = "${origin}/v1"
env_key = "SLUICE_API_KEY"
wire_api = "responses"

# in the shell
export SLUICE_API_KEY=${key}
codex`
  }
}
