import type { Config } from '../shared/config/shape.ts'

interface Setup {
  readonly type: 'setup'
  readonly config: Config
  /** Unix socket between fronts and the control process. */
  readonly socketPath: string
  /** The child ran before and ended: the rest of the gateway is up. */
  readonly isRestart: boolean
}

/** What a front is told before it does anything; secrets it reads from the data directory itself, as the control process does. */
export interface FrontSetup extends Setup {
  /** Of no other front on this data directory. */
  readonly index: number
  /** The port that all fronts listen on. */
  readonly port: number
}

export interface ControlSetup extends Setup {
  /** How many fronts of gateways there are that are about to end and hand over to this one. */
  readonly handedOverFronts: number
  /** Null: the simulator is off. */
  readonly simulatorPort: number | null
  /** Where a user on this machine finds the gateway. */
  readonly displayUrl: string
}

/** Why a child ends: its gateway does, another gateway goes on from here, or its supervisor is gone. */
export type EndReason = 'stop' | 'hand-over' | 'orphaned'

export type ToChild =
  | FrontSetup
  | ControlSetup
  /** The gateway is about to end: serve what comes, and say so. */
  | { readonly type: 'leave' }
  | { readonly type: 'drain'; readonly reason: EndReason }

export type ControlNews = 'waiting' | 'sole'

export type FromChild =
  | {
      readonly type: 'ready'
      readonly firstRun?: FirstRun
      readonly port?: number
      /** Name and version of the HTTP server that a front runs on. */
      readonly httpServer?: string
    }
  /** The control process is loaded and waits for that of another gateway to end. */
  | { readonly type: 'waiting' }
  /** There is no other control process. */
  | { readonly type: 'sole' }
  /** The child ends, and starting it again cannot help. */
  | { readonly type: 'fatal'; readonly message: string }

/** The accounts made on the very first start; shown once. */
export interface FirstRun {
  readonly base_url: string
  readonly api_key: string
  readonly admin: { readonly phone: string; readonly password: string }
}
