import { useEffect, useRef, useState } from 'react'
import { ask, NO_ANSWER } from './ask.ts'
import type { Answer } from './ask.ts'
import type { Prompt, Turn } from './prompt.ts'

/** A question with its answer. */
export interface Exchange {
  readonly question: string
  readonly model: string
  readonly answer: Answer
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly cause: unknown
}

/** The conversation with one model. */
export interface Lane {
  /** From a logged request: before the first exchange. */
  readonly before: readonly Turn[]
  readonly exchanges: readonly Exchange[]
}

const NO_LANE: Lane = { before: [], exchanges: [] }

export function turnsOf({ before, exchanges }: Lane): readonly Turn[] {
  return [
    ...before,
    ...exchanges.flatMap(({ question, answer, state }): Turn[] =>
      state === 'failed' || answer.text === ''
        ? []
        : [
            { role: 'user', text: question },
            { role: 'assistant', text: answer.text },
          ],
    ),
  ]
}

interface Lanes {
  readonly lanes: readonly [Lane, Lane]
  readonly isRunning: boolean
  /** Asks the models of these prompts, each in its lane. */
  readonly send: (key: string, question: string, prompts: ReadonlyArray<Omit<Prompt, 'turns'>>) => void
  readonly stop: () => void
  /** Begins anew. */
  readonly reset: () => void
}

export function useLanes(begun: readonly Turn[]): Lanes {
  const [lanes, setLanes] = useState<readonly [Lane, Lane]>(() => {
    const lane = { before: begun, exchanges: [] }
    return [lane, lane]
  })
  const running = useRef(new Set<AbortController>())
  const stop = (): void => {
    for (const one of running.current) one.abort()
  }
  useEffect(() => {
    const open = running.current
    return () => {
      for (const one of open) one.abort()
    }
  }, [])
  /** Changes the last exchange of a lane; a conversation that was cleared meanwhile has none. */
  const change = (at: number, patch: Partial<Exchange>): void => {
    setLanes((all) => replaced(all, at, (lane) => ({ ...lane, exchanges: withLast(lane.exchanges, patch) })))
  }
  const run = async (at: number, key: string, prompt: Prompt): Promise<void> => {
    const controller = new AbortController()
    running.current.add(controller)
    try {
      await ask(
        key,
        prompt,
        (answer) => {
          if (!controller.signal.aborted) change(at, { answer })
        },
        controller.signal,
      )
      change(at, { state: 'done' })
    } catch (cause) {
      change(at, controller.signal.aborted ? { state: 'stopped' } : { state: 'failed', cause })
    } finally {
      running.current.delete(controller)
    }
  }
  return {
    lanes,
    isRunning: lanes.some(({ exchanges }) => exchanges.at(-1)?.state === 'running'),
    send: (key, question, prompts) => {
      const started = prompts.map((prompt, at) => ({
        ...prompt,
        turns: [...turnsOf(lanes[at] ?? NO_LANE), { role: 'user' as const, text: question }],
      }))
      setLanes((all) =>
        started.reduce(
          (next, { model }, at) =>
            replaced(next, at, (lane) => ({
              ...lane,
              exchanges: [...lane.exchanges, { question, model, answer: NO_ANSWER, state: 'running', cause: null }],
            })),
          all,
        ),
      )
      for (const [at, prompt] of started.entries()) void run(at, key, prompt)
    },
    stop,
    reset: () => {
      stop()
      setLanes([NO_LANE, NO_LANE])
    },
  }
}

function replaced(lanes: readonly [Lane, Lane], at: number, change: (lane: Lane) => Lane): readonly [Lane, Lane] {
  return at === 0 ? [change(lanes[0]), lanes[1]] : [lanes[0], change(lanes[1])]
}

function withLast(exchanges: readonly Exchange[], patch: Partial<Exchange>): readonly Exchange[] {
  const last = exchanges.at(-1)
  return last === undefined || last.state !== 'running' ? exchanges : [...exchanges.slice(0, -1), { ...last, ...patch }]
}
