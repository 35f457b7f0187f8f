import type { LoadTarget } from '../support/load-client.ts'

const DEADLINE_MS = 60_000
const SHOWN = 120

interface Answer {
  readonly text: string
  /** Number of events of a stream. */
  readonly events: number
}

/** Rejects unless a program gives the text that the upstream gives: a fast but wrong answer is worthless. Resolves to its answer. */
export async function checked(upstream: LoadTarget, target: LoadTarget, body: string): Promise<Answer> {
  const [expected, actual] = [await answerOf(upstream, body), await answerOf(target, body)]
  if (expected.text !== '' && expected.text === actual.text) return actual
  throw new Error(`it says ${JSON.stringify(actual.text.slice(0, SHOWN))}, not what the upstream says`)
}

/** Rejects unless a program answers this request of the messages protocol with some text. */
export async function checkMessages(target: LoadTarget, body: string): Promise<void> {
  const { text } = await answerOf(target, body)
  if (text === '') throw new Error('its answer to the messages protocol has no text')
}

async function answerOf(target: LoadTarget, body: string): Promise<Answer> {
  const answer = await fetch(`${target.baseUrl}${target.path ?? '/chat/completions'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...target.headers },
    body,
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  const bytes = await answer.text()
  if (!answer.ok) throw new Error(`it answers ${answer.status} ${bytes.slice(0, SHOWN)}`)
  return { text: textOf(bytes), events: bytes.split('data: ').length - 1 }
}

/** The text of an answer or a stream of the chat or the messages protocol. */
function textOf(bytes: string): string {
  return [...bytes.matchAll(/"(?:content|text)": ?("(?:[^"\\]|\\.)*")/g)]
    .map(([, text = '""']) => JSON.parse(text) as string)
    .join('')
}
