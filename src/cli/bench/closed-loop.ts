import { newAgents, send } from './open-loop.ts'
import type { OpenAnswer, PlannedRequest } from './open-loop.ts'

export interface ClosedLoopOptions {
  readonly connections: number
  /** Sent over all connections together. */
  readonly requests: number
  /** Then no further request is sent; answers under way are still waited for. */
  readonly maxMs: number
  readonly onAnswer: (answer: OpenAnswer) => void
  readonly signal: AbortSignal
}

/**
 * Each connection sends its next request when it has an answer. Certificates are checked. Resolves with the seconds from the first request
 * to the last answer; rejects when the signal aborts.
 */
export async function closedLoop(request: Omit<PlannedRequest, 'atMs'>, options: ClosedLoopOptions): Promise<number> {
  const { connections, requests, maxMs, onAnswer, signal } = options
  signal.throwIfAborted()
  const agents = newAgents(connections)
  const startMs = performance.now()
  let lastMs = startMs
  let sent = 0
  const sendInTurn = async (): Promise<void> => {
    while (sent < requests && !signal.aborted && performance.now() - startMs < maxMs) {
      const dueMs = performance.now()
      const due = { planned: { ...request, atMs: dueMs - startMs }, index: sent, dueMs }
      sent += 1
      const answer = await new Promise<OpenAnswer>((resolve) => {
        send(due, agents, {}, resolve)
      })
      lastMs = performance.now()
      // The requests that the abort ended are no results.
      if (!signal.aborted) onAnswer(answer)
    }
  }
  const stop = (): void => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.all(Array.from({ length: connections }, sendInTurn))
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
  signal.throwIfAborted()
  return (lastMs - startMs) / 1000
}
