/** A parsed answer: what it holds is what a test is there to find out. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any

/** Bodies and headers that the simulator's tests send. */
export function chatBody(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'gpt-4o', messages: [{ role: 'user', content: text }], ...more }
}

export function messagesBody(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: 'claude-sonnet-4-5', max_tokens: 1024, messages: [{ role: 'user', content: text }], ...more }
}

export const ANTHROPIC = { 'anthropic-version': '2023-06-01', 'x-api-key': 'key-a' }
export const OPENAI = { authorization: 'Bearer key-o' }

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    redirect: 'manual',
  })
}
