/** The counts of the simulator for one credential. */
export interface SimulatorTotals {
  readonly started: number
  readonly ok: number
  readonly faults: number
  readonly promptTokens: number
  readonly completionTokens: number
}

const DEADLINE_MS = 10_000
const NONE: SimulatorTotals = { started: 0, ok: 0, faults: 0, promptTokens: 0, completionTokens: 0 }

/** Sets how the simulator answers the requests of a credential. */
export async function behave(simulatorUrl: string, credential: string, behaviour: object): Promise<void> {
  const answer = await fetch(`${simulatorUrl}/__sim/keys/${encodeURIComponent(credential)}`, {
    method: 'PUT',
    signal: AbortSignal.timeout(DEADLINE_MS),
    body: JSON.stringify(behaviour),
  })
  if (!answer.ok) throw new Error(`the simulator refuses a behaviour: ${await answer.text()}`)
}

export async function totalsOf(simulatorUrl: string, credential: string): Promise<SimulatorTotals> {
  const answer = await fetch(`${simulatorUrl}/__sim/stats`, { signal: AbortSignal.timeout(DEADLINE_MS) })
  const { keys } = (await answer.json()) as { readonly keys: Readonly<Record<string, SimulatorTotals>> }
  return keys[credential] ?? NONE
}
