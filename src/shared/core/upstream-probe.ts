import type { Deployment } from './deployment.ts'

/** What came of one small call to an upstream. */
export interface UpstreamProbe {
  readonly ok: boolean
  /** Of HTTP; null: there was no answer. */
  readonly status: number | null
  readonly latencyMs: number
  /** `message` is of the gateway's own words; `said`, what the upstream said too, is for the operator, without credential and host. */
  readonly error: { readonly code: string; readonly message: string; readonly said: string } | null
}

/** Calls a deployment once. Rejects with GATEWAY_OVERLOADED, and with INVALID_FIELD where no small call is known. */
export type ProbeUpstream = (deployment: Deployment, signal: AbortSignal) => Promise<UpstreamProbe>
