import { bodyOf, PATHS } from './prompt.ts'
import type { Prompt } from './prompt.ts'

export const CODES = ['curl', 'python', 'typescript'] as const
export type Code = (typeof CODES)[number]

/** The request as a program. Its key stays in an environment variable. */
export function codeOf(code: Code, prompt: Prompt, origin: string): string {
  const body = bodyOf(prompt)
  switch (code) {
    case 'curl': {
      const version = prompt.dialect === 'messages' ? ' \\\n  -H "anthropic-version: 2023-06-01"' : ''
      const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)
      return `curl ${origin}${PATHS[prompt.dialect]} \\
  -H "Authorization: Bearer $SLUICE_API_KEY"${version} \\
  -H "Content-Type: application/json" \\
  -d '${json}'`
    }
    case 'python': {
      const args = Object.entries(body)
        .map(([name, value]) => `    ${name}=${python(value, 1)},`)
        .join('\n')
      return prompt.dialect === 'messages'
        ? `import os
from anthropic import Anthropic

client = Anthropic(base_url="${origin}", api_key=os.environ["SLUICE_API_KEY"])
answer = client.messages.create(
${args}
)
print(answer.content[0].text)`
        : `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["SLUICE_API_KEY"])
answer = client.${prompt.dialect === 'responses' ? 'responses' : 'chat.completions'}.create(
${args}
)
print(${prompt.dialect === 'responses' ? 'answer.output_text' : 'answer.choices[0].message.content'})`
    }
    case 'typescript': {
      const json = JSON.stringify(body, null, 2)
      return prompt.dialect === 'messages'
        ? `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${origin}', apiKey: process.env.SLUICE_API_KEY })
const answer = await client.messages.create(${json})
console.log(answer.content)`
        : `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.SLUICE_API_KEY })
const answer = await client.${prompt.dialect === 'responses' ? 'responses' : 'chat.completions'}.create(${json})
console.log(${prompt.dialect === 'responses' ? 'answer.output_text' : 'answer.choices[0].message.content'})`
    }
  }
}

/** A value of JSON as Python writes it. */
function python(value: unknown, depth: number): string {
  const [inner, outer] = ['    '.repeat(depth + 1), '    '.repeat(depth)]
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => `${inner}${python(one, depth + 1)},`).join('\n')}\n${outer}]`
  }
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, one]) => `${JSON.stringify(name)}: ${python(one, depth + 1)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value)
}
