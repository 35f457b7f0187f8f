import type { Deployment } from './deployment.ts'

/** The result of one small call to an upstream. */
export interface UpstreamProbe {
  readonly ok: boolean
  /** HTTP status; null: there was no answer. */
  readonly status: number | null
  readonly latencyMs: number
  /** `message` is the gateway's own text. `said` has the upstream's text too, for the operator, without credential and host. */
  readonly error: { readonly code: string; readonly message: string; readonly said: string } | null
}

/** Calls a deployment once. Rejects with GATEWAY_OVERLOADED, and with INVALID_FIELD where no small call is known. */
export type ProbeUpstream = (deployment: Deployment, signal: AbortSignal) => Promise<UpstreamProbe>
