import type { Config } from '../config/shape.ts'

/** What a child process is told before it does anything; secrets it reads from the data directory itself. */
export interface ChildSetup {
  readonly type: 'setup'
  readonly config: Config
  /** The port that all fronts listen on: chosen when the configuration says 0. */
  readonly port: number
  /** Unix socket between fronts and the control process. */
  readonly socketPath: string
  /** Null: the simulator is off. */
  readonly simulatorPort: number | null
  /** Where a user on this machine finds the gateway. */
  readonly displayUrl: string
  /** Of a front: its number, from 0. */
  readonly index: number
  /** The child ran before and ended: the rest of the gateway is up. */
  readonly isRestart: boolean
}

export type ToChild = ChildSetup | { readonly type: 'drain' }

export type FromChild =
  | { readonly type: 'ready'; readonly firstRun?: FirstRun; readonly port?: number }
  /** The child ends, and starting it again cannot help. */
  | { readonly type: 'fatal'; readonly message: string }

/** The accounts made on the very first start; shown once. */
export interface FirstRun {
  readonly base_url: string
  readonly api_key: string
  readonly admin: { readonly phone: string; readonly password: string }
}
