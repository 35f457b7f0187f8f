import { eventsOf, fieldsOf } from '../../wire/sse-oracle.ts'

// Recorded JSON, read freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any

/** What a recorded answer says, found with JSON.parse and loops alone. */
export interface Told {
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly name: string; readonly input: unknown; readonly signature: string | null }[]
  /** Of text, in order. */
  readonly textSignatures: readonly string[]
  readonly finish: unknown
  readonly blockReason: string | null
  readonly error: boolean
  readonly usage: { prompt: number; completion: number; cached: number; reasoning: number } | null
}

export function toldByStream(stream: Buffer): Told {
  const responses: Json[] = []
  for (const event of eventsOf(stream)) {
    const { data } = fieldsOf(event)
    const bare = Buffer.from(event, 'latin1').toString('utf8').trim()
    if (data !== null) responses.push(JSON.parse(data))
    else if (bare !== '') responses.push(JSON.parse(bare))
  }
  return told(responses)
}

export function toldByBody(body: Buffer): Told {
  return told([JSON.parse(body.toString())])
}

function told(responses: readonly Json[]): Told {
  let text = ''
  let thinking = ''
  let finish: unknown = null
  let blockReason: string | null = null
  let counts: Json = null
  const calls: { name: string; input: Json; signature: string | null }[] = []
  const textSignatures: string[] = []
  for (const response of responses) {
    counts = response.usageMetadata ? { ...counts, ...response.usageMetadata } : counts
    blockReason = response.promptFeedback?.blockReason ?? blockReason
    const candidate = response.candidates?.[0]
    finish = candidate?.finishReason ?? finish
    for (const part of candidate?.content?.parts ?? []) {
      if (part.thought) thinking += part.text
      else if (part.text !== undefined) text += part.text
      else if (part.inlineData) text += `![image](data:${part.inlineData.mimeType};base64,${part.inlineData.data})`
      if (part.text !== undefined && part.thoughtSignature) textSignatures.push(part.thoughtSignature)
      const call = part.functionCall
      if (call?.name) calls.push({ name: call.name, input: call.args ?? {}, signature: part.thoughtSignature ?? null })
      for (const piece of call?.partialArgs ?? []) setAt(calls.at(-1)?.input, piece)
    }
  }
  return {
    text,
    thinking,
    calls,
    textSignatures,
    finish,
    blockReason,
    error: responses.some((response) => response.error),
    usage:
      counts?.promptTokenCount === undefined
        ? null
        : {
            prompt: counts.promptTokenCount + (counts.toolUsePromptTokenCount ?? 0),
            completion: (counts.candidatesTokenCount ?? 0) + (counts.thoughtsTokenCount ?? 0),
            cached: counts.cachedContentTokenCount ?? 0,
            reasoning: counts.thoughtsTokenCount ?? 0,
          },
  }
}

/** Recorded paths have plain names and indexes only. */
function setAt(input: Json, piece: Json): void {
  const steps: string[] = piece.jsonPath
    .slice(2)
    .split(/[.[\]]+/)
    .filter((step: string) => step !== '')
  const last = steps.pop() ?? ''
  let here = input
  steps.forEach((step, at) => {
    here = here[step] ??= /^\d+$/.test(steps[at + 1] ?? last) ? [] : {}
  })
  here[last] = piece.stringValue === undefined ? piece.numberValue : (here[last] ?? '') + piece.stringValue
}
